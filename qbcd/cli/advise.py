"""Command ``advise``: each strategy with its predicted cost, and the choice of ``auto``."""

from __future__ import annotations

import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import StreamNames, switch
from qbcd.cli.output import Output
from qbcd.common.wording import counted
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qbcd.advisor import Advice
    from qbcd.advisor.choice import Scored
    from qbcd.advisor.facts import Facts
    from qbcd.advisor.possibility import Option
    from qbcd.api import Project
    from qbcd.strategies.amounts import Amount

SourceName = Annotated[
    str, typer.Option("--source", metavar="SOURCE", help="A source, for a table without a stream.", show_default=False)
]
TableToAdvise = Annotated[
    str, typer.Option("--table", metavar="TABLE", help="A table of that source.", show_default=False)
]
Watch = Annotated[
    str, typer.Option("--watch", metavar="TIME", help="Count the writes of so long, such as 10m.", show_default=False)
]
Plot = Annotated[
    Path | None,
    typer.Option("--plot", metavar="FILE", help="Draw costs of the table into an SVG file.", show_default=False),
]
All = Annotated[bool, switch("--all", help="Show what each strategy finds and misses.")]

WIDTH = 80
LEGEND = (
    "indented: the strategy above with this replica (keys: `events: [insert, delete]`); fits: it is possible, and fits "
    "the needs; del, old: it finds deletes, has old values; pages: read by a poll; "
    "shipped: bytes of the changes; longest: transaction, at 2,000 pages/s unless measured; stmts: round trips; room: "
    "of the replica, in the source (s) or the workdir (w)"
)
_SHORT = {"inserts and deletes": "keys"}
_TITLES = ("strategy", "fits", "del", "old", "pages", "shipped", "longest", "stmts", "room")
_WIDTHS = (10, 4, 3, 3, 11, 9, 8, 5, 9)
_LISTED = 5  # streams of files that are named
_RIGHT = 4  # from this column on, text is aligned to the right
_ORIGINS = {
    "history": "by the last polls",
    "writes": "by the server's counters",
    "watch": "measured",
    "assumed": "assumed; --watch measures it",
}


def advise(
    output: Output,
    streams: StreamNames = None,
    source: SourceName = "",
    table: TableToAdvise = "",
    watch: Watch = "",
    plot: Plot = None,
) -> int:
    """Compare the strategies for a stream by their costs."""
    seconds = _seconds(watch)
    if bool(source) != bool(table):
        missing, given = ("--table", "--source") if source else ("--source", "--table")
        raise ConfigError(f"{given} needs {missing}", remedy="write  --source SOURCE --table SCHEMA.TABLE")
    if source and streams:
        raise ConfigError("name streams, or --source and --table, and not both")
    with output.project() as project:
        files, driven = ([], []) if streams or source else _streams_without_choice(project)
        if source:
            from qbcd.api import Project as ProjectOf

            with ProjectOf(project.config.with_table(source, table)) as other:
                found = _advice(output, other, [other.config.tables[-1].stream_name], seconds)
        else:
            found = _advice(output, project, list(streams or ()), seconds)
    if plot is not None:
        from qbcd.cli.plot import draw

        draw(found, plot)
    if output.as_json:
        output.data({"advice": [advice_data(one) for one in found]})
        return 0
    for one in found:
        for line in [*advice_lines(one), ""]:
            output.text(line)
    for line in [*_of_files(files), *_of_drivers(driven), *(_wrapped(LEGEND) if found else ())]:
        output.text(line)
    if plot is not None:
        output.say(f"drawn into {escape(str(plot))}")
    return 0


def _streams_without_choice(project: Project) -> tuple[list[str], list[str]]:
    """Return the streams of files, and those of databases that a JDBC driver alone reaches."""
    from qbcd.api import parts_of

    parts = parts_of(project)
    with parts.read_only():
        named = [name for name in parts.streams.select(()) if parts.streams.has_one_strategy(name)]
        files = [name for name in named if parts.streams.reads_files(name)]
        return files, [name for name in named if name not in files]


def _advice(output: Output, project: Project, streams: list[str], seconds: float) -> list[Advice]:
    for name in streams:
        project.stream(name)  # a name that is mistyped is refused before writes are counted
    with output.working("counting writes" if seconds else "reading statistics"):
        return project.advise(streams, watch=seconds, wait=time.sleep)


def _seconds(watch: str) -> float:
    """Return the seconds of ``--watch``, 0 without it."""
    from pydantic import TypeAdapter, ValidationError

    from qbcd.config.fields import Interval

    if not watch:
        return 0.0
    try:
        length = TypeAdapter(Interval).validate_python(watch)
    except ValidationError as error:
        raise ConfigError(
            f"--watch {watch} is no time", remedy="write a number and a unit, such as 30s or 10m"
        ) from error
    return float(length.total_seconds())


# -- lines of at most 80 columns ---------------------------------------------------------------------------------------
def advice_lines(one: Advice) -> Iterator[str]:
    """Yield the advice for one stream as plain lines."""
    yield from _wrapped(f"{one.stream}: {_described(one)}")
    yield ""
    yield _row(_TITLES)
    for scored in one.scored:
        yield _row(_cells(scored, scored is one.choice.chosen))
    yield ""
    yield from _wrapped(f"* {_conclusion(one)}")
    if one.prepared and one.warning:
        yield from _wrapped(f"warning: {one.warning} (qbcd reset and prepare to change it)")
    if one.facts is not None and one.facts.log is not None:
        yield from _wrapped(_log(one.facts))
    yield from _reasons(one)


def _of_files(names: list[str]) -> Iterator[str]:
    """Yield that streams of files have no choice of strategy."""
    if names:
        some = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")
        what = "a stream of files has" if len(names) == 1 else "streams of files have"
        yield from _wrapped(
            f"{some}: {what} no choice of strategy. dump compares each new file with the rows of the one before, in "
            f"this process, and no database is read. qbcd explain {names[0]} shows how."
        )
        yield ""


def _of_drivers(names: list[str]) -> Iterator[str]:
    """Yield that these streams have one strategy."""
    if names:
        some = ", ".join(names[:_LISTED]) + (f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else "")
        yield from _wrapped(
            f"{some}: no choice of strategy, since the source has a JDBC driver alone. Rows of ranges that differ "
            f"travel, or the whole table at each poll: qbcd check {names[0]} says which, how many bytes, and what "
            "makes it less."
        )
        yield ""


def _described(one: Advice) -> str:
    facts = one.facts
    if facts is None:
        return f"{one.table}, no strategy is possible"
    parts = [one.table, facts.pages.text("page"), facts.rows.text("row")]
    if not (facts.share.certain and facts.share.high >= 1):
        parts.append(f"{percent(facts.share)} of them in the restriction")
    change = f"{percent(facts.change.delta)} changed per poll ({_ORIGINS[facts.change.origin]})"
    if facts.change.per_hour.known:
        change += f", {facts.change.per_hour.text('write')} an hour"
    return ", ".join([*parts, change]) + (f"; {facts.doubt}: run ANALYZE" if facts.doubt else "")


def _cells(scored: Scored, chosen: bool) -> tuple[str, ...]:
    option, cost = scored.option, scored.cost
    name = f"{'*' if chosen else ' '} {_short(option)}"
    if cost is None or option.strategy is None:
        return (name, "no", *["-"] * 7)
    deletes, old = finds(scored)
    room = cost.source_room if cost.source_room.high else cost.workdir_room
    place = "s" if cost.source_room.high else "w"
    return (
        name,
        "yes" if option.possible else "no",
        "yes" if deletes else "no",
        "yes" if old else "no",
        cost.pages.short,
        size(cost.bytes_shipped),
        _time(cost.longest_seconds),
        str(cost.statements),
        f"{size(room)} {place}" if room.high else "-",
    )


def finds(scored: Scored) -> tuple[bool, bool]:
    """Return whether a strategy finds deletes, and whether it has old values."""
    strategy, options = scored.option.strategy, scored.option.candidate.options
    from qbcd.advisor.candidates import finds_deletes

    return options is not None and finds_deletes(options), strategy is not None and strategy.gives_old_values


def _short(option: Option) -> str:
    """Return the name of a strategy; of a variant, indented, the last word that differs."""
    if not option.candidate.variant:
        return option.label.removeprefix("vbd, ")
    return f" {_SHORT.get(option.candidate.variant) or option.candidate.variant.rpartition(' ')[2]}"


def _row(cells: tuple[str, ...]) -> str:
    shown = [
        f"{text:>{width}}" if number >= _RIGHT else f"{text:<{width}}"
        for number, (text, width) in enumerate(zip(cells, _WIDTHS, strict=True))
    ]
    return "  ".join(shown).rstrip()


def _conclusion(one: Advice) -> str:
    if one.choice.chosen is None:
        return one.choice.why
    chosen = f"auto takes {one.choice.chosen.option.label}: {one.choice.why}"
    if one.prepared and one.current is not None:
        return f"{one.current.option.label} is prepared, and stays. Chosen now, {chosen}"
    return chosen


def _log(facts: Facts) -> str:
    assert facts.log is not None
    if facts.log.ready:
        return f"The database could give its log ({facts.log.how}): log capture sees every step between two polls."
    return f"Log capture would see every step between two polls, but {facts.log.how}."


def _reasons(one: Advice) -> Iterator[str]:
    """Yield why strategies do not fit, with what would change that; equal reasons once."""
    alike: dict[tuple[str, str], list[str]] = {}
    for scored in one.scored:
        option = scored.option
        if not option.possible:
            alike.setdefault((option.why_not, option.remedy), []).append(option.label)
    yield from ["", "Not chosen:"] if alike else []
    for (why, remedy), names in alike.items():
        between = "; " if any("," in name for name in names) else ", "  # a variant has a comma
        yield from _wrapped(f"{between.join(names)}: {why}", indent=2)
        if remedy:
            yield from _wrapped(f"fix: {remedy}", indent=4)
    able = [scored.option for scored in one.scored if scored.option.possible]
    yield from ["", "What the others miss:"] if able else []
    for option in able:
        yield from _wrapped(f"{option.label}: {option.strategy.misses if option.strategy else ''}", indent=2)
        for remark in option.remarks:
            yield from _wrapped(remark, indent=4)


def _wrapped(text: str, indent: int = 0) -> Iterator[str]:
    blank = " " * indent
    yield from textwrap.wrap(text, WIDTH, initial_indent=blank, subsequent_indent=f"{blank}  ", break_on_hyphens=False)


def percent(share: Amount) -> str:
    """Return a share as ``1 %``, ``0.1 to 2 %`` or ``an unknown share``."""
    if not share.known:
        return "an unknown share"
    low, high = (f"{100 * value:.2g}" for value in (share.low, share.high))
    if low == high or share.high - share.low < 1e-6:
        return f"{high.replace('1e+02', '100')} %"
    return f"{low.replace('1e+02', '100')} to {high.replace('1e+02', '100')} %"


def size(amount: Amount) -> str:
    """Return a number of bytes, by its upper bound."""
    return formatting.size(round(amount.high)).replace(" ", "") if amount.known else "?"


def _time(amount: Amount) -> str:
    if not amount.known:
        return "?"
    return formatting.age(amount.high) if amount.high >= 1 else "<1 s"


# -- JSON --------------------------------------------------------------------------------------------------------------
def advice_data(one: Advice) -> dict[str, Any]:
    """Return the advice for one stream as JSON-ready data."""
    facts, chosen = one.facts, one.choice.chosen
    return {
        "stream": one.stream,
        "table": one.table,
        "prepared": one.prepared,
        "current": one.current.option.label if one.current else None,
        "choice": chosen.option.label if chosen else None,
        "why": one.choice.why,
        "warning": one.warning if one.prepared else "",
        "facts": facts
        and {
            "pages": facts.pages.data,
            "rows": facts.rows.data,
            "restricted_share": facts.share.data,
            "changed_share": facts.change.delta.data,
            "changed_share_origin": facts.change.origin,
            "writes_per_hour": facts.change.per_hour.data,
            "doubt": facts.doubt,
            "log": facts.log and {"ready": facts.log.ready, "how": facts.log.how},
        },
        "strategies": [_scored_data(scored) for scored in one.scored],
    }


def _scored_data(scored: Scored) -> dict[str, Any]:
    option = scored.option
    deletes, old = finds(scored) if option.strategy is not None else (None, None)
    return {
        "strategy": option.label,
        "possible": option.possible,
        "why_not": option.why_not,
        "remedy": option.remedy,
        "finds_deletes": deletes,
        "old_values": old,
        "sees": option.strategy.sees if option.strategy is not None else "",
        "misses": option.strategy.misses if option.strategy is not None else "",
        "remarks": list(option.remarks),
        "cost": scored.cost.data() if scored.cost else None,
    }


# -- for `explain` -----------------------------------------------------------------------------------------------------
def cost_lines(strategy: str, cost: Any, facts: Facts) -> Iterator[str]:
    """Yield the prediction for a stream's own strategy, and what its last polls really cost."""
    quiet = "" if cost.quiet == cost.pages else f", {cost.quiet.text('page')} if nothing changed"
    yield f"estimate of {strategy}: reads {cost.pages.text('page')}{quiet}"
    known = ", ".join(f"{name} {_symbol(name, value)}" for name, value in cost.symbols)
    yield from textwrap.wrap(f"{cost.formula}{': ' if known else ''}{known}", WIDTH - 6)
    origin = _ORIGINS[facts.change.origin].partition(";")[0]
    yield f"changed per poll: {percent(facts.change.delta)} of the rows ({origin})"
    if facts.served_by:
        yield from textwrap.wrap(f"the restriction is read by index {', '.join(facts.served_by)}", WIDTH - 6)
    if facts.doubt:
        yield f"{facts.doubt}: run ANALYZE for a better estimate"
    yield f"ships {cost.rows_shipped.text('row')} ({size(cost.bytes_shipped)})"
    yield from _actuals(facts)


def _symbol(name: str, value: Amount) -> str:
    return f"{percent(value * 0.01)}" if name == "R" else value.text("page").rpartition(" ")[0]


def _actuals(facts: Facts) -> Iterator[str]:
    history = facts.history
    if not history.polls:
        yield "no poll yet to compare with"
        return
    parts = [f"the last {counted(len(history.polls), 'poll')}:"]
    for name, noun in (("rows_scanned", "row"), ("rows_shipped", "row shipped")):
        actual = history.actual(name)
        if actual is not None:
            plural = "rows shipped" if noun == "row shipped" else ""
            parts.append(f"{'read ' if name != 'rows_shipped' else ''}{actual.text(noun, plural)},")
    if (trips := history.actual("round_trips")) is not None and trips.high:
        parts.append(f"{trips.text('round trip')},")
    seconds = history.seconds or 0.0
    parts.append(f"{history.events:,.1f} events, {formatting.duration(seconds)} on average")
    yield from textwrap.wrap(" ".join(parts), WIDTH - 6)
