"""Orphaned streams: prepared, but no longer configured; or prepared by another project.

Replica, batches and tables in the source remain until the name is added again or the stream is reset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import partial
from typing import Any

from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.project import ProjectParts
from qbcd.run import reset_stream, take_over_stream
from qbcd.sites import Site, digest_queue, own_row
from qbcd.state import nothing_to_take_over


@dataclass(frozen=True)
class LeftStream:
    """A stream without a configuration.

    Attributes:
        place: The place of its replica and batches, for messages.
        batches: Number of its batches.
        refuse_closed: Raises an error if the project is closed.
        forget_table: Forgets its table in the record of tables of patterns.
        dropped: Its table, if a pattern captured it and it does not exist any more.
    """

    name: str
    place: str
    batches: int
    site: Site
    refuse_closed: Callable[[], None]
    forget_table: Callable[[], None] = lambda: None
    dropped: str = ""

    def reset(self, *, discard: bool = False) -> None:
        """Delete its replica and batches; refuse if batches wait for a sink, unless `discard`."""
        self.refuse_closed()
        try:
            reset_stream(self.site, discard=discard)
        except Refused as error:
            error.remedy = f"add the name again and run it, or qbcd reset {self.name} --discard drops them"
            raise
        self.forget_table()

    def describe(self) -> str:
        """Return a warning with the remedies for the stream."""
        if self.dropped:
            return (
                f"table {self.dropped} of stream {self.name} does not exist any more, or the role may not see it; its "
                f"replica remains in {self.place} (qbcd reset {self.name})"
            )
        return (
            f"stream {self.name} is prepared, but no longer configured; its replica remains in {self.place} "
            f"(add the name again, or qbcd reset {self.name})"
        )

    def data(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {"stream": self.name, "place": self.place, "batches": self.batches, "dropped": self.dropped}


@dataclass(frozen=True)
class ForeignStream:
    """A stream that a source keeps for another project, or for a state of this one that is lost.

    Attributes:
        place: The place of its replica and batches, for messages.
        project_id: The project that prepared it.
    """

    name: str
    place: str
    project_id: str
    project: ProjectParts

    @property
    def question(self) -> str:
        """The second question before it is dropped."""
        return (
            f"{self.place} holds {self.name} for another project (id {self.project_id[:8]}). Has that project ended, "
            "or is its state lost? Then drop what it kept?"
        )

    def reset(self, *, discard: bool = False) -> None:
        """Drop its replica and batches, once its project has not polled for a minute.

        Raises:
            ConfigError: `discard` is not set: it is not known which batches were delivered.
            StateConflict: The other project polls.
        """
        self.project.refuse_closed()
        refuse_to_keep(self.name, discard=discard)
        site, _, take_over = _foreign_site(self.project, self.name)  # again: the state database may not have existed
        take_over(site)


def refuse_to_keep(name: str, *, discard: bool) -> None:
    """Refuse to take a stream over without dropping its batches.

    Raises:
        ConfigError: `discard` is not set.
    """
    if not discard:
        raise ConfigError(
            "--take-over drops the batches that the source holds, delivered or not",
            stream=name,
            remedy=f"qbcd reset {name} --discard --take-over",
        )


def foreign_stream(project: ProjectParts, name: str) -> ForeignStream:
    """Find a stream that a source keeps for another project.

    Raises:
        StateConflict: No source does.
        QbcdError: A source cannot be reached, and no other one keeps the stream for another project.
    """
    site, owner, _ = _foreign_site(project, name)
    return ForeignStream(name, _schema_of(site), owner, project)


def _foreign_site(project: ProjectParts, name: str) -> tuple[Site, str, Callable[[Site], None]]:
    """Return a site, its project and the way to take it over.

    The source of a configured stream comes first.
    """
    configured = project.streams.roster().find(name)
    own = configured.source if configured is not None else ""
    sites = [site for site in project.all_sites(name) if site.context.kind == "database"]
    ours, failed = False, None
    for site in sorted(sites, key=lambda one: one.context.source.name != own):
        try:
            row, queue = own_row(site.context), digest_queue.position_of(site.context.source, name)
        except QbcdError as error:
            failed = failed or error
            continue
        if row is not None and row.project_id != project.state.project_id:
            return site, row.project_id, take_over_stream
        if queue is not None and queue[0] != project.state.project_id:  # its row is in the state of its project
            return site, queue[0], lambda found: digest_queue.take_over(found.context)
        ours = ours or row is not None or queue is not None
    raise failed or nothing_to_take_over(name, ours=ours)


def left_streams(project: ProjectParts, names: Collection[str] = ()) -> list[LeftStream]:
    """Find the streams of the state database that are not configured, in sources and the lake.

    Args:
        names: Names to search; empty for all. Configured names are ignored.

    Raises:
        QbcdError: A source cannot be reached, unless a stream requested by name is found elsewhere, or the state
            database does not know the name, which may then be a typing error.
    """
    roster = project.streams.roster()
    configured = {*roster.streams, *roster.new}
    polled = project.state.names()
    known = {*names} or polled  # a stream that was never polled is in its site alone
    found: list[LeftStream] = []
    failed: QbcdError | None = None
    for name in sorted(known - configured):
        for site in project.all_sites(name):
            try:
                found += _kept(project, name, site)
            except QbcdError as error:
                failed = failed or (error if name in polled else None)
    if failed is not None and not (names and found):
        raise failed
    return found


def _kept(project: ProjectParts, name: str, site: Site) -> list[LeftStream]:
    row = own_row(site.context)
    if row is None or not row.prepared or row.project_id != project.state.project_id:
        return []
    place = "the workdir" if site.context.kind == "lake" else _schema_of(site)
    table = project.streams.roster().dropped.get(name)
    dropped = "" if table is None else f"{table.schema}.{table.name}"
    forget = partial(project.streams.known_tables.forget, [name])
    return [LeftStream(name, place, len(site.context.batches()), site, project.refuse_closed, forget, dropped)]


def _schema_of(site: Site) -> str:
    return f"{site.context.store.place} of source {site.context.source.name}"
