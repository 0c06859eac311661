"""Base of the strategies: pure knowledge of how changes are found.

A strategy opens no connection and reads no clock.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from qbcd.connectors.base import Connector, Index
from qbcd.errors import ConfigError
from qbcd.model import Consistency, KeyRange, Statement, StreamPlan

ReplicaContent = Literal["rows", "keys", "digests", "nothing"]  # the part of a row that a replica keeps


@dataclass(frozen=True)
class Estimate:
    """Cost of polling an unchanged table, from the catalog's statistics (-1: unknown).

    Attributes:
        pages: Pages read, by `formula` in the paper's symbols (N pages of the table, M of the copy, R the share that
            the restriction leaves).
        rows: Rows read.
        shipped: Data that leaves the source when nothing changed.
    """

    pages: int
    rows: int
    formula: str
    shipped: str


class Strategy(ABC):
    """Base of the strategies.

    Holds as data what a strategy needs, sees and misses, and the plan that its statements use.

    Args:
        connector: The source's dialect and primitives.
        plan: The stream as resolved against the catalog.
    """

    name: ClassVar[str]
    site: ClassVar[Literal["database", "spark"]]
    reads_by_index: ClassVar[bool] = False  # an index of the table decides what a poll costs
    consistency: Consistency  # of a batch; a class says it, or its instances where the connector decides
    needs: str  # these three too: options may decide
    sees: str
    misses: str

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        self.connector = connector
        self.plan = plan

    @property
    def label(self) -> str:
        """The name that users see: the strategy's, with its variant if it has one."""
        return self.name

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the connector can carry out this plan, before anything is created.

        Args:
            place: Returns where in the configuration an option of the strategy is.

        Raises:
            Refused: It cannot.
            ConfigError: An option does not fit the table.
        """
        return  # by default it can

    def _wrong(self, option: str, place: Callable[[str], str] | None, what: str, remedy: str) -> ConfigError:
        """The refusal of an option."""
        where = place(option) if place else ""
        return ConfigError(what, stream=self.plan.stream, where=where, remedy=remedy)

    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """Return the plan with the options that the strategy fixes at prepare.

        Args:
            remembered: What `frozen_options` returned at prepare, empty if it was not called; None before the baseline.
        """
        return self.plan

    def frozen_options(self) -> dict[str, Any]:
        """Options of the plan that the strategy has chosen, for the checkpoint, JSON-ready."""
        return {}

    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return why a poll cannot adopt other columns or another restriction; empty if it can."""
        return ""

    @abstractmethod
    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """The cost of a poll of the unchanged table.

        Args:
            indexes: Those of the table; looked up only where `reads_by_index`.
        """

    @abstractmethod
    def null_keys(self) -> Statement:
        """One row (keys_null) of the table."""

    @abstractmethod
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """One row (keys_more_than_once, keys_null), for keys that the catalog does not prove.

        Args:
            within: The range to check; a lake strategy always checks the whole table.
        """

    def warnings(self) -> list[str]:
        """Return what makes this strategy costlier than necessary on this table."""
        return []


@dataclass(frozen=True)
class Image:
    """A captured column in an outbox: its names there, and whether its own value decides "changed"."""

    name: str
    position: int
    before: str
    after: str
    compared: bool


def images(plan: StreamPlan, limit: int) -> list[Image]:
    """Return the outbox columns of a plan's captured columns.

    Names longer than `limit` bytes are cut and made unique. Key columns are equal by the join; they are compared
    only if their equality hides different bytes (a change of case).
    """
    keys = len(plan.key)
    return [
        Image(
            c.name,
            i,
            prefixed("b_", c.name, limit),
            prefixed("a_", c.name, limit),
            i >= keys or c.comparison != "typed",
        )
        for i, c in enumerate(plan.captured)
    ]


def prefixed(prefix: str, name: str, limit: int) -> str:
    """`prefix` + `name`, within `limit` bytes of UTF-8."""
    whole = prefix + name
    if len(whole.encode()) <= limit:
        return whole
    tail = "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return whole.encode()[: limit - len(tail)].decode(errors="ignore") + tail


def suffixed(name: str, suffix: str, limit: int) -> str:
    """`name` + `suffix`, within `limit` bytes of UTF-8."""
    whole = name + suffix
    if len(whole.encode()) <= limit:
        return whole
    tail = f"_{hashlib.sha256(name.encode()).hexdigest()[:8]}{suffix}"
    return name.encode()[: limit - len(tail)].decode(errors="ignore") + tail


def table_name(kind: str, stream: str) -> str:
    """Name of qbcd's own table of a stream, unique by a hash of the stream's name."""
    slug = re.sub(r"[^a-z0-9]+", "_", stream.lower()).strip("_")[:40]
    return f"{kind}_{slug}_{hashlib.sha256(stream.encode()).hexdigest()[:8]}"
