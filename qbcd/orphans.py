"""Orphaned streams: prepared, but no longer configured, since they were renamed or removed.

Replica, batches and tables in the source remain until the name is added again or the stream is reset.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from qbcd.errors import QbcdError, Refused
from qbcd.project import Assembly
from qbcd.run import reset_stream
from qbcd.sites import Site, own_row


@dataclass(frozen=True)
class LeftStream:
    """A stream without a configuration.

    Attributes:
        place: The place of its replica and batches, for messages.
        batches: Number of its batches.
        site: The site that keeps it.
        refuse_closed: Raises an error if the project is closed.
    """

    name: str
    place: str
    batches: int
    site: Site
    refuse_closed: Callable[[], None]

    def reset(self, *, discard: bool = False) -> None:
        """Delete its replica and batches; refuse if batches wait for a sink, unless `discard`."""
        self.refuse_closed()
        try:
            reset_stream(self.site, discard=discard)
        except Refused as error:
            error.remedy = f"add the name again and run it, or qbcd reset {self.name} --discard drops them"
            raise

    def describe(self) -> str:
        """Return a warning with the remedies for the stream."""
        return (
            f"stream {self.name} is prepared, but no longer configured; its replica remains in {self.place} "
            f"(add the name again, or qbcd reset {self.name})"
        )

    def data(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return {"stream": self.name, "place": self.place, "batches": self.batches}


def left_streams(project: Assembly, names: Collection[str] = ()) -> list[LeftStream]:
    """Find the streams of the state database that are not configured, in sources and the lake.

    Args:
        project: The project.
        names: Names to search; empty for all. Configured names are ignored.

    Raises:
        QbcdError: A source cannot be reached, unless a stream requested by name is found elsewhere.
    """
    configured = {config.name for config in project.config.streams}
    known = project.state.names() - configured
    found: list[LeftStream] = []
    failed: QbcdError | None = None
    for name in sorted(known & set(names) if names else known):
        for site in project.all_sites(name):
            try:
                found += _kept(project, name, site)
            except QbcdError as error:
                failed = failed or error
    if failed is not None and not (names and found):
        raise failed
    return found


def _kept(project: Assembly, name: str, site: Site) -> list[LeftStream]:
    row = own_row(site.context)
    if row is None or not row.prepared or row.project_id != project.state.project_id:
        return []
    place = (
        "the workdir"
        if site.context.kind == "spark"
        else f"{site.context.store.place} of source {site.context.source.name}"
    )
    return [LeftStream(name, place, len(site.context.batches()), site, project.refuse_closed)]
