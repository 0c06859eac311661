"""A stream with its source, site, state and sinks; the report of a run."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from qbcd.catalog.source import Source
from qbcd.config import StreamConfig
from qbcd.enrichment import Enrichment
from qbcd.errors import DeliveryError, LocalOutOfMemory, QbcdError, Refused, RowsTooWide
from qbcd.model import BatchHeader, Cost, StreamPlan
from qbcd.sinks import Sink
from qbcd.sinks.places import SinkPlaces
from qbcd.sites import Detection, Settings, Site
from qbcd.state import ProjectState

if TYPE_CHECKING:
    from qbcd.subscriptions.interest import Interest

T = TypeVar("T")
log = logging.getLogger("qbcd")
TOO_WIDE = (RowsTooWide, LocalOutOfMemory)  # errors after which the same work can succeed in another way


@dataclass(frozen=True)
class Stream:
    """A stream with its source, site, state and sinks.

    Attributes:
        sinks: The configured sinks, in delivery order.
        guessed: The source could not be reached to choose the variant (:func:`~qbcd.sites.with_variant`) or strategy.
        refused: Why `strategy: auto` has no strategy for it; polls and `prepare` raise it.
        places: The places of all streams of the project in their sinks, as far as `prepare` has found them.
        enrichment: Adds fields to the events; None for a stream without enrichers.
        interest: The rows that its subscriptions need; None without subscriptions that narrow it.
    """

    config: StreamConfig
    source: Source
    site: Site
    project: ProjectState
    sinks: Mapping[str, Sink]
    settings: Settings
    guessed: bool = False
    refused: Refused | None = None
    places: SinkPlaces = field(default_factory=SinkPlaces)
    enrichment: Enrichment | None = None
    interest: Interest | None = None

    def check_strategy(self) -> None:
        """Refuse a stream for which `strategy: auto` has no strategy.

        Raises:
            Refused: It has none.
        """
        if self.refused is not None:
            raise self.refused

    @property
    def name(self) -> str:
        """The stream's name."""
        return self.config.name

    def restricted(self) -> Stream:
        """Return the stream with the restriction of its subscriptions, as stored now."""
        if self.interest is None:
            return self
        self.interest.load()
        if self.interest.hull is None and self.config.where == self.interest.base:
            return self
        where = self.interest.where(self.interest.hull, self.source.connector)
        config = replace(self.config, where=where)
        return replace(self, config=config, settings=replace(self.settings, config=config))

    def narrowing(self, action: Callable[[], T]) -> T:
        """Run `action`; if rows need more memory than there is, run it again in another way.

        Raises:
            RowsTooWide: See :meth:`narrow`.
            LocalOutOfMemory: See :meth:`narrow`.
        """
        while True:
            try:
                return action()
            except TOO_WIDE as error:
                self.narrow(error)

    def narrow(self, error: QbcdError) -> None:
        """Let the next JDBC reads hold fewer rows, or the next work be Spark's.

        Args:
            error: One of `TOO_WIDE`.

        Raises:
            RowsTooWide: `error`, if one row at a time is too wide, or the user has set the number of rows.
            LocalOutOfMemory: `error`, if the user has set ``engine: local``.
        """
        context = self.site.context
        if isinstance(error, LocalOutOfMemory):
            if self.settings.engine.engine != "auto" or context.needs_spark:
                raise error
            context.require_spark("DuckDB ran out of memory (local_memory)")
            context.progress("DuckDB ran out of memory; again with Spark")
        elif self.source.narrow(self.name):
            context.progress("the rows are wide; reading again with fewer rows at a time")
        else:
            raise error
        log.debug("stream %s: %s; again", self.name, error.what)


@dataclass
class Report:
    """The report of one run of a stream.

    Attributes:
        headers: The batches found, in order.
        warnings: Warnings and remarks, without the stream's name.
        delivered: Number of deliveries; a batch counts once per sink.
        resent: By sink, the rows of the replica that it got.
        failures: By sink, the error that ended its deliveries.
        lifted: Refusals that the user lifted, and why all rows were compared; the history stores them.
        pending: By sink, the batches that wait for it; empty before the first deliveries.
        attempts: By sink, the failed deliveries in a row of its next batch.
        epoch: UTC second of the stream's `prepare`; 0 until it is read.
        change: The change of captured columns or restriction that the poll applies, in words; usually empty.
        plan: The plan of the poll; None until it is made.
        uncaptured: Changes of the table since `prepare` that the poll only reports, in words; `warnings` has them too.
    """

    stream: str
    headers: list[BatchHeader] = field(default_factory=list)
    cost: Cost = field(default_factory=Cost)
    warnings: list[str] = field(default_factory=list)
    delivered: int = 0
    resent: dict[str, int] = field(default_factory=dict)
    failures: dict[str, DeliveryError] = field(default_factory=dict)
    lifted: list[str] = field(default_factory=list)
    pending: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    epoch: int = 0
    change: str = ""
    uncaptured: Sequence[str] = ()
    plan: StreamPlan | None = None

    @property
    def exit_code(self) -> int:
        """0 delivered; otherwise that of a failed sink."""
        return max((failure.exit_code for failure in self.failures.values()), default=0)

    @property
    def header(self) -> BatchHeader | None:
        """The last batch found, or None."""
        return self.headers[-1] if self.headers else None

    @property
    def counts(self) -> dict[str, int]:
        """The number of events of all batches found, by op."""
        return dict(sum((Counter(h.counts) for h in self.headers), Counter()))

    def add(self, found: Detection) -> None:
        """Add the result of one detection."""
        self.headers += [found.header] if found.header else []
        self.cost += found.cost
        new = [warning for warning in found.warnings if warning not in self.lifted]
        self.warnings += [*new, *found.remarks]
        self.lifted += new
