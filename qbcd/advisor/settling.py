"""The strategy behind `strategy: auto`: the prepared one, otherwise one chosen now.

The strategy decides the store of the stream's row, so it must be known before that row is read. Once a stream is
prepared, its strategy is read from the row, and is never chosen again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qbcd.catalog.source import Source
from qbcd.config import ProjectConfig, StreamConfig, frozen_options
from qbcd.config.auto_strategy import AutoOptions
from qbcd.errors import QbcdError, Refused
from qbcd.model.checkpoint import Checkpoint
from qbcd.state import ProjectState, StreamRow, StreamStore

if TYPE_CHECKING:
    from qbcd.advisor.candidates import Candidate
    from qbcd.advisor.possibility import OpenCandidate

READ_ONLY, IN_SOURCE = "id_rcs", "mds"  # guesses while the source does not answer
READ_ONLY_QUERY = "vbd"


@dataclass(frozen=True)
class Settled:
    """A stream with its strategy.

    Attributes:
        guessed: The strategy is a guess, because the source does not answer or was not asked. The next operation
            reports the same error; a job asks before its next poll.
        refused: Why polls and `prepare` are refused: no strategy is possible, or the needs exclude the prepared one.
    """

    config: StreamConfig
    guessed: bool = False
    refused: Refused | None = None


def settle(
    config: ProjectConfig,
    written: StreamConfig,
    project: ProjectState,
    opened: OpenCandidate,
    *,
    ask: bool = True,
    choose: bool = True,
) -> Settled:
    """Return a stream with its strategy; for `auto`, the prepared or chosen one.

    Args:
        opened: Returns the stream of a configuration with a strategy; nothing is created.
        ask: Ask the source; otherwise guess.
        choose: Choose a strategy for a stream that is not prepared; otherwise guess.
    """
    name, needs = written.name, config.strategy_of(written)
    if not isinstance(needs, AutoOptions):
        return Settled(written)
    from qbcd.advisor.candidates import candidates

    variants = candidates(needs, query=bool(written.query))
    able = {one.name: one for one in reversed(variants)}  # the first of each name
    with project.read() as conn:
        row = project.store.read(conn, name) if project.store.exists(conn) else None
    if row is not None and row.prepared:
        return _kept(config, written, variants, row.checkpoint, READ_ONLY)
    guess = (IN_SOURCE if project.acknowledged(name) else READ_ONLY) if not written.query else READ_ONLY_QUERY
    if not ask:
        return Settled(config.with_strategy(written, able[guess].options), guessed=True)
    stream = opened(config.with_strategy(written, able[guess].options))
    try:
        held = _row_in_source(stream.source, name, project)
        if held is not None:
            return _kept(config, written, variants, held.checkpoint, IN_SOURCE)
        if not choose:
            return Settled(config.with_strategy(written, able[guess].options))
        from qbcd.advisor.advice import advise

        advice = advise(config, stream, opened)
    except QbcdError:
        return Settled(config.with_strategy(written, able[guess].options), guessed=True)
    if advice.choice.chosen is None:
        refused = _impossible(written, [(one.option.label, one.option.why_not) for one in advice.scored])
        return Settled(config.with_strategy(written, able[guess].options), refused=refused)
    return Settled(config.with_strategy(written, advice.choice.chosen.option.candidate.options))


def _row_in_source(source: Source, name: str, project: ProjectState) -> StreamRow | None:
    """Return the row of a prepared stream of this project in the source, or None."""
    store = StreamStore(source.schema)
    with source.read(name) as session:
        row = store.read(session.connection, name) if store.exists(session.connection) else None
    return row if row is not None and row.prepared and row.project_id == project.project_id else None


def _kept(
    config: ProjectConfig,
    written: StreamConfig,
    variants: Sequence[Candidate],
    checkpoint: Mapping[str, Any],
    other: str,
) -> Settled:
    """Return the stream with its prepared strategy; refuse it if the needs no longer allow it.

    Args:
        variants: The strategies with the options that the needs give them.
        other: A strategy of the same wing, if the prepared one cannot be made from the needs.
    """
    from qbcd.advisor.candidates import unmet

    requested, needs = Checkpoint(checkpoint).requested, config.strategy_of(written)
    kept = str(requested.get("strategy") or checkpoint["shape"]["strategy"])
    then = requested.get("options", {})
    mine = min((one for one in variants if one.name == kept), key=lambda one: len(_changed(one, then)), default=None)
    options = mine.options if mine else None
    if options is None:
        why = mine.missing if mine else "auto never chooses it"
        options = next(one.options for name in (other, "vbd") for one in variants if one.name == name and one.options)
    else:
        assert mine is not None
        assert isinstance(needs, AutoOptions)
        changed = _changed(mine, then)
        why = unmet(needs, options) or (f"`{changed[0]}` has changed since `prepare`" if changed else "")
    made = config.with_strategy(written, options)
    if not why:
        return Settled(made)
    refused = Refused(
        f"the stream was prepared with strategy {kept}, which does not fit `strategy: auto` now: {why}",
        stream=written.name,
        where=made.place("strategy"),
        remedy=f"undo the change; or qbcd reset {written.name} and prepare it, which chooses again",
    )
    return Settled(made, refused=refused)


def _changed(one: Candidate, then: Mapping[str, Any]) -> list[str]:
    """Return the options that differ from those fixed at `prepare`; all if it has none."""
    if one.options is None:
        return list(then)
    now = frozen_options(one.name, one.options.options)
    return [name for name in now if now[name] != then.get(name) and name != "variant"]


def _impossible(written: StreamConfig, reasons: list[tuple[str, str]]) -> Refused:
    listed = "; ".join(f"{label}: {why}" for label, why in reasons if why)
    return Refused(
        f"strategy auto finds no strategy for the needs of this stream ({listed})",
        stream=written.name,
        where=written.place("strategy"),
        remedy=f"qbcd advise {written.name} lists what is missing; grant it, or need less",
    )
