"""Command ``status``: one line per stream, or all facts of named streams."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from qbcd.cli import formatting
from qbcd.cli.app import StreamNames, switch
from qbcd.cli.output import Output, worst
from qbcd.common.wording import clock_time
from qbcd.errors import ConfigError, QbcdError, streams_named

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qbcd.api import Project
    from qbcd.orphans import LeftStream
    from qbcd.state import DeliveryFailure, Visits
    from qbcd.status import StreamStatus

_CHECK = "Exit with 5 if a stream is refused, failed, late or not prepared, or if batches wait."


@dataclass(frozen=True)
class StatusOptions:
    """The options of ``status``."""

    check: Annotated[bool, switch("--check", help=_CHECK)] = False
    max_lag: Annotated[
        str, typer.Option("--max-lag", metavar="5m", help="As --check; late is a longer lag.", show_default=False)
    ] = ""
    watch: Annotated[bool, switch("--watch", help="Show the state again every 2 seconds.")] = False


UNHEALTHY = 5
WATCH_SECONDS = 2.0
_LISTED = 3  # new tables that a warning names
_COLORS = {"ok": "green", "late": "yellow", "not prepared": "yellow", "preparing": "yellow", "polling": "green"}
_OUTCOMES = {"ok": "changes", "empty": "no change", "failed": "failed", "refused": "refused"}
_TITLES = ("stream", "state", "last poll", "last batch", "lag", "waiting")
_GAP = 2  # blanks between two columns
_NAME_WIDTH = len("last batch")  # of a fact
_SHORTEST = 8  # characters of a stream's name that are shown at least


def status(output: Output, streams: StreamNames = None, options: StatusOptions = StatusOptions()) -> int:
    """Show the state of the streams: one line each, or all facts of named streams."""
    limit = duration_of("--max-lag", options.max_lag) if options.max_lag else None
    if options.watch:
        return _watch(output, streams or (), options, limit)
    with output.project() as project, output.working("reading the state"):
        found = _read(project, streams or (), limit)
        left = [] if streams else _left(output, project)
        new = [] if streams else _new_tables(project)
    if output.as_json:
        shown = [shown_data(output, one) for one in found]
        output.data({"streams": shown, "left": [one.data() for one in left], "new_tables": new})
    elif streams:
        for number, one in enumerate(found):
            output.show(*([""] if number else []))
            _show_facts(output, one)
    else:
        _show_lines(output, found)
    for one_left in left if not output.as_json else []:
        output.warn(one_left.describe())
    if new and not output.as_json:
        output.warn(f"{_tables(new)} not captured (qbcd prepare captures new tables; or add them to `exclude`)")
    if options.check or limit is not None:
        unhealthy = any(_is_unhealthy(one) for one in found) or any(one.dropped for one in left)
        return UNHEALTHY if unhealthy else 0
    return worst([one.failed.exit_code for one in found if one.failed])


def _read(project: Project, streams: Sequence[str], limit: timedelta | None) -> list[StreamStatus]:
    found = project.status(streams)
    for one in found:
        one.max_lag = limit
    return found


def _new_tables(project: Project) -> list[str]:
    """Return the tables that patterns match and no `prepare` has captured."""
    from qbcd.api import parts_of

    parts = parts_of(project)
    with parts.read_only():
        return [f"{one.table_schema}.{one.table_name}" for one in parts.streams.roster().new.values()]


def _tables(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return f"{'table' if len(names) == 1 else 'tables'} {', '.join(names[:_LISTED])}{more}: new and"


def _is_unhealthy(one: StreamStatus) -> bool:
    """Return True if a person should look: see the option ``--check``."""
    if one.state == "not prepared":
        return not one.polling  # otherwise a process prepares it now
    if one.state == "ok" and one.waiting:
        return not one.polling  # otherwise a process delivers them now
    return one.state != "ok"


def shown_data(output: Output, one: StreamStatus) -> dict[str, Any]:
    """Return a status as JSON-ready data, with secrets masked in stored messages."""
    from qbcd.status import status_data

    data = status_data(one)
    for holder, name in _messages(data):
        holder[name] = output.foreign(holder[name])
    return data


def duration_of(option: str, text: str) -> timedelta:
    """Return the duration in an option's text.

    Raises:
        ConfigError: It is none.
    """
    from pydantic import TypeAdapter, ValidationError

    from qbcd.config.fields import Interval

    try:
        return TypeAdapter[timedelta](Interval).validate_python(int(text) if text.isdecimal() else text)
    except ValidationError as error:
        context = error.errors()[0]["ctx"]
        raise ConfigError(f"{option}: {context['what']}: {text!r}", remedy=context["remedy"]) from None


def _watch(output: Output, streams: Sequence[str], options: StatusOptions, limit: timedelta | None) -> int:
    """Show the state until Ctrl-C.

    Raises:
        ConfigError: There is no terminal, or another option asks for one answer.
    """
    other = next((name for name, given in (("--json", output.as_json), ("--check", options.check)) if given), "")
    if other or not output.out.is_terminal:
        what = f"{other} gives one answer" if other else "--watch needs a terminal"
        raise ConfigError(what, remedy=f"remove {'--watch or ' + other if other else '--watch'}")
    with output.project() as project, Live(console=output.out, auto_refresh=False) as live, suppress(KeyboardInterrupt):
        while True:
            found = _read(project, streams, limit)
            now = datetime.now(timezone.utc).strftime("%H:%M:%SZ")
            texts = [*_lines(output, found), *_error_lines(output, found), f"[dim]{now}, Ctrl-C ends it[/]"]
            live.update(Group(*map(Text.from_markup, texts)), refresh=True)
            time.sleep(WATCH_SECONDS)
    return 0


def _messages(data: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the places of stored messages, which may contain foreign text, in a status."""
    yield data, "error"
    for holder in (data["last_poll"], *data["failures"].values()):
        if holder:
            yield holder, "message"


def _left(output: Output, project: Project) -> list[LeftStream]:
    """Return prepared streams that are no longer configured; warn if a source cannot be reached."""
    try:
        return project.left()
    except QbcdError as error:
        output.warn(f"streams that are no longer configured cannot be listed: {error}")
        return []


# -- one line a stream -------------------------------------------------------------------------------------------------
def _show_lines(output: Output, found: list[StreamStatus]) -> None:
    for line in _lines(output, found):
        output.show(line)
    for line in _error_lines(output, found):
        output.say(line)


def _lines(output: Output, found: Sequence[StreamStatus]) -> Iterator[str]:
    """Yield the lines of the table, as Rich markup."""
    rows = [_TITLES, *(_line(one) for one in found)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(_TITLES))]
    if output.out.is_terminal:
        widths[0] = min(widths[0], max(_SHORTEST, output.out.width - sum(widths[1:]) - _GAP * (len(widths) - 1)))
    for row in rows:
        cells = [f"{_shortened(text, width):<{width}}" for text, width in zip(row, widths, strict=True)]
        line = escape((" " * _GAP).join(cells).rstrip())
        yield f"[bold]{line}[/]" if row is _TITLES else _colored(line, row[1])


def _error_lines(output: Output, found: Sequence[StreamStatus]) -> Iterator[str]:
    """Yield the errors, as Rich markup; streams with the same one share a line."""
    alike: dict[str, list[str]] = {}  # an error of a source is that of all its streams
    for one in found:
        for text in _errors(one):
            alike.setdefault(text.removeprefix(f"stream {one.stream}: "), []).append(one.stream)
    for text, streams in alike.items():
        yield f"[bold red]error:[/] {escape(output.foreign(f'{streams_named(streams)}: {text}'))}"


def _line(one: StreamStatus) -> tuple[str, ...]:
    poll, batch = one.last_poll, one.last_batch
    state, polled = one.state, "-" if poll is None else _ago(poll.finished_at)
    shown: str = state
    if one.polling and state in ("ok", "not prepared"):
        shown = "polling" if one.prepared else "preparing"
        polled = f"since {clock_time(one.polling_since)}" if one.polling_since else "now"
    elif one.polling:
        polled = "polling now"
    return (
        one.stream,
        shown,
        polled,
        batch.number if batch else "-",
        "-" if one.lag is None else formatting.age(one.lag),
        f"{max(one.pending.values(), default=0):,}" if one.prepared else "-",
    )


def _colored(line: str, state: str) -> str:
    """Color the first occurrence of the state after the stream's name."""
    name, found, rest = line.partition(f"  {state}")
    return f"{name}  [{_COLORS.get(state, 'red')}]{state}[/]{rest}" if found else line


def _shortened(text: str, width: int) -> str:
    """Shorten a text in its middle, because names of streams often differ at their ends."""
    if len(text) <= width:
        return text
    end = (width - 1) // 2
    return f"{text[: width - 1 - end]}…{text[len(text) - end :]}"


# -- all facts of a stream ---------------------------------------------------------------------------------------------
def _show_facts(output: Output, one: StreamStatus) -> None:
    output.show(f"[bold]{escape(one.stream)}[/]")
    for name, fact in _facts(one):
        text = escape(output.foreign(fact) if name == "error" else fact)
        color = "red" if name == "error" else _COLORS.get(one.state, "red") if name == "state" else ""
        output.item(f"{name:<{_NAME_WIDTH}}", f"[{color}]{text}[/]" if color else text)


def _of_spark(cost: Mapping[str, Any]) -> str:
    return f"Spark, {cost['why_spark']}" if cost.get("why_spark") else "Spark"


def _facts(one: StreamStatus) -> Iterator[tuple[str, str]]:
    poll, batch, watermark, visits = one.last_poll, one.last_batch, one.watermark, one.visits
    chosen = f" (auto {'chose it at prepare' if one.prepared else 'would choose it'})" if one.chosen else ""
    yield "strategy", f"{one.strategy}{chosen}, polled every {formatting.age(one.every.total_seconds())}"
    if one.engine:
        last = "" if poll is None or not poll.cost.get("spark") else f"; the last poll: {_of_spark(poll.cost)}"
        yield "engine", f"{one.engine}{last}"
    yield "state", one.state
    if one.polling:
        since = f" since {_moment(one.polling_since)}" if one.polling_since else ""
        yield "now", f"{'polling' if one.prepared else 'preparing'}{since}"
    if one.epoch:
        yield "epoch", f"{one.epoch} ({_moment(one.epoch)})"
    if poll is not None:
        took = formatting.duration(max(0.0, poll.finished_at - poll.started_at))
        yield "last poll", f"{_ago(poll.finished_at)}: {_OUTCOMES[poll.outcome]}, took {took}"
    if batch is not None:
        yield "last batch", f"{batch.number}: {formatting.events(batch.counts)}, found {_moment(batch.ts_ms / 1000)}"
    if one.lag is not None:
        yield "lag", f"{formatting.age(one.lag)} since a poll succeeded"
    if watermark is not None:
        age = "" if watermark.lag is None else f", {formatting.age(watermark.lag)} ago"
        yield "watermark", f"{watermark.at}{age}"
    if visits is not None:
        oldest = "one was never visited" if one.visited_ago is None else f"oldest {formatting.age(one.visited_ago)} ago"
        yield "pass", f"{visits.visited:,} of {formatting.counted(visits.ranges, 'range')} visited, {oldest}"
        if visits.pages is not None:
            yield "pages", _pages(visits)
    if one.audited_ago is not None:
        yield "audit", f"{formatting.age(one.audited_ago)} ago"
    if one.prepared:
        yield "events", f"{formatting.events(one.events)} in the latest 1,000 polls"
        waiting = (f"{sink} {formatting.counted(n, 'batch', 'batches')}" for sink, n in one.pending.items() if n)
        yield "pending", ", ".join(waiting) or "nothing"
    if one.held:
        yield "waiting", f"{formatting.counted(one.held, 'event')} for a row of a lookup"
    for text in one.estimates:
        yield "estimate", text
    for sink, at in one.resends.items():
        yield "resend", f"{sink} is to get the rows of the replica, requested {_ago(at)}"
    for lost in one.skipped:
        events = formatting.counted(lost.events, "event")
        yield "skipped", f"{lost.number} for {lost.sink}: {events}, {_moment(lost.at)}"
    for text in _errors(one):
        yield "error", text


def _pages(visits: Visits) -> str:
    """Return the page counts of the ranges, in words."""
    assert visits.pages is not None
    counted, most = visits.pages.counted, formatting.counted(visits.pages.most, "page")
    of = "" if counted == visits.ranges else f" of {formatting.counted(visits.ranges, 'range')}"
    held = f"{counted:,}{of}" if of else formatting.counted(counted, "range")
    return f"{visits.pages.total:,} in {held}; the largest has {most}"


# -- errors ------------------------------------------------------------------------------------------------------------
def _errors(one: StreamStatus) -> Iterator[str]:
    """Yield the errors of a stream, each once; the last poll's error may be that of a sink."""
    named = {sink: _attempts(failure) for sink, failure in one.failures.items() if failure.message in one.error}
    if one.error:
        several = len(named) > 1
        yield "; ".join([_placed(one), *(f"{sink}: {times}" if several else times for sink, times in named.items())])
    for sink, failure in one.failures.items():
        if sink not in named:
            message = failure.message.removeprefix(f"sink {sink}: ")
            yield f"stream {one.stream}: sink {sink}: {message} ({_attempts(failure)})"


def _attempts(failure: DeliveryFailure) -> str:
    return f"{formatting.counted(failure.attempts, 'attempt')}, last {_ago(failure.at)}"


def _placed(one: StreamStatus) -> str:
    """Return the error with the name of its stream, which stored messages already contain."""
    return one.error if one.stream in one.error else f"stream {one.stream}: {one.error}"


def _ago(at: float) -> str:
    return f"{formatting.age(time.time() - at)} ago"


def _moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
