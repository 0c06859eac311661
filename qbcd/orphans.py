"""Streams that were prepared and are in the configuration no more: renamed there, or taken out.

Sits beside `check` and `status`, above `run`. What such a stream keeps (replica, batches, tables in the source) stays
until somebody puts its name back or resets it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from qbcd.config import ProjectConfig
from qbcd.errors import QbcdError, Refused
from qbcd.run import reset_stream
from qbcd.sites import Site, own_row
from qbcd.state import ProjectState


class Parts(Protocol):
    """What is asked of a project."""

    @property
    def config(self) -> ProjectConfig:
        """The validated configuration."""

    @property
    def state(self) -> ProjectState:
        """The state database."""

    def refuse_closed(self) -> None:
        """Refuses work on a project that is closed."""

    def all_sites(self, name: str) -> Iterator[Site]:
        """Everywhere that a stream called `name` could be kept."""


@dataclass(frozen=True)
class LeftStream:
    """A stream without a configuration.

    Attributes:
        place: Where its replica and its batches are.
        batches: Batches that are kept there.
        refuse_closed: Refuses work on a project that is closed.
    """

    name: str
    place: str
    batches: int
    site: Site
    refuse_closed: Callable[[], None]

    def reset(self, *, discard: bool = False) -> None:
        """Forgets what it keeps. Refuses while batches wait for a sink, unless `discard`."""
        self.refuse_closed()
        try:
            reset_stream(self.site, discard=discard)
        except Refused as error:
            error.remedy = f"put the name back and run it, or qbcd reset {self.name} --discard drops them"
            raise

    def told(self) -> str:
        """What it is and what to do about it."""
        return (
            f"stream {self.name} is prepared, and not in the configuration any more; its replica stays in {self.place} "
            f"(put the name back, or qbcd reset {self.name})"
        )

    def data(self) -> dict[str, Any]:
        """As JSON-ready data."""
        return {"stream": self.name, "place": self.place, "batches": self.batches}


def left_streams(project: Parts, names: Collection[str] = ()) -> list[LeftStream]:
    """All of them that the state database has heard of, in the configured sources and under Spark.

    Args:
        names: Only these; none means all. Names that are configured are left out.

    Raises:
        QbcdError: A source could not be asked, unless what was asked for by name is found elsewhere.
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


def _kept(project: Parts, name: str, site: Site) -> list[LeftStream]:
    row = own_row(site.context)
    if row is None or not row.prepared or row.project_id != project.state.project_id:
        return []
    place = (
        "the workdir"
        if site.context.kind == "spark"
        else f"{site.context.store.place} of source {site.context.source.name}"
    )
    return [LeftStream(name, place, len(site.context.batches()), site, project.refuse_closed)]
