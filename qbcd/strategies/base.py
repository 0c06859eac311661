"""Base of the strategies: statements that find changes, and facts about them.

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
from qbcd.model import Consistency, KeyRange, Statement, StreamPlan, Table
from qbcd.strategies.amounts import NONE, Amount
from qbcd.strategies.reads import Reads, TableFacts

ReplicaContent = Literal["rows", "keys", "digests", "nothing"]  # the part of a row that a replica keeps


class Strategy(ABC):
    """Base of the strategies.

    It has the needs, results and limits of a strategy as texts, and the plan of a stream.

    Args:
        plan: The stream, resolved against what its source has.
    """

    name: ClassVar[str]
    site: ClassVar[Literal["database", "lake"]]
    consistency: Consistency  # of a batch; set by the class, or by its instances if the connector decides
    needs: str  # set in the same way, as are the next two: options may decide
    sees: str
    misses: str
    keeps: ReplicaContent = "rows"
    writes_source: ClassVar[bool] = False  # tables of qbcd's own are in the source; the replica may be elsewhere
    ships_unchanged: str = "nothing"  # data that leaves the source if nothing changed

    def __init__(self, plan: StreamPlan) -> None:
        self.plan = plan

    @property
    def label(self) -> str:
        """The name that users see: the strategy's, with its variant if it has one."""
        return self.name

    @property
    def gives_old_values(self) -> bool:
        """True if events have the old values of a row."""
        return getattr(self, "keeps", "rows") == "rows"

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the connector can carry out this plan, before anything is created.

        Args:
            place: Returns the place in the configuration of an option of the strategy.

        Raises:
            Refused: The connector cannot.
            ConfigError: An option does not fit the table.
        """
        return  # by default every connector can

    def _wrong(self, option: str, place: Callable[[str], str] | None, what: str, remedy: str) -> ConfigError:
        """Return the refusal of an option."""
        where = place(option) if place else ""
        return ConfigError(what, stream=self.plan.stream, where=where, remedy=remedy)

    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """Return the plan with the options that the strategy fixes at prepare.

        Args:
            remembered: The result of `frozen_options` at prepare, empty if it was not called; None before the baseline.
        """
        return self.plan

    def frozen_options(self) -> dict[str, Any]:
        """Return the options that the strategy has chosen, for the checkpoint, JSON-ready."""
        return {}

    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return why a poll cannot adopt other columns or another restriction; empty if it can."""
        return ""

    def warnings(self) -> list[str]:
        """Return warnings about avoidable costs of this strategy on this table."""
        return []


@dataclass(frozen=True)
class WriteRight:
    """A right to write the captured table, which an option needs.

    Attributes:
        why: Its purpose, for a DBA.
        delete: DELETE of rows.
    """

    option: str
    why: str
    delete: bool = False
    update: tuple[str, ...] = ()


class TableStrategy(Strategy):
    """Base of the strategies that query a database.

    Args:
        plan: The stream, resolved against the catalog.

    Attributes:
        covering: The strategy is for an index that has all columns that a poll reads.
        statements: Round trips of a poll of a small table without changes, on a database with a FULL JOIN, and on one
            without. `tests/integration/sites/test_round_trips.py` counts them.
    """

    covering = False
    statements: ClassVar[tuple[int, int]]

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(plan)
        self.connector = connector

    @abstractmethod
    def reads(self, facts: TableFacts) -> Reads:
        """Return the pages that a poll reads of a table, and those that the strategy keeps."""

    def replica_pages(self, facts: TableFacts) -> Amount:
        """Return M or W: the pages of the replica."""
        if self.keeps == "nothing":
            return NONE
        columns = self.plan.captured if self.keeps == "rows" else self.plan.key
        return facts.copied(columns, self.plan.table, 8 if self.keeps == "digests" else 0)

    def write_rights(self) -> list[WriteRight]:
        """Return the rights to write the captured table that the plan's options need."""
        return []

    def missing_indexes(self, look_up: Callable[[Table], Sequence[Index]]) -> list[str]:
        """Return CREATE INDEX statements on captured tables, for windows that no index serves yet.

        Args:
            look_up: Lists a table's indexes.
        """
        return []

    @abstractmethod
    def null_keys(self) -> Statement:
        """Return the query for one row (keys_null) of the table."""

    @abstractmethod
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """Return the query for (keys_more_than_once, keys_null), for keys that are not proven.

        Args:
            within: The range to check; a lake strategy always checks the whole table.
        """


@dataclass(frozen=True)
class Image:
    """A captured column in an outbox; `compared` if its own value decides "changed"."""

    name: str
    position: int
    before: str
    after: str
    compared: bool


def images(plan: StreamPlan, limit: int) -> list[Image]:
    """Return the outbox columns of a plan's captured columns.

    Names longer than `limit` bytes are truncated and made unique. Key columns are equal by the join; they are compared
    only if equal keys may have different bytes (a change of case).
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
    """Return `prefix` + `name`, within `limit` bytes of UTF-8."""
    whole = prefix + name
    if len(whole.encode()) <= limit:
        return whole
    tail = "_" + hashlib.sha256(name.encode()).hexdigest()[:8]
    return whole.encode()[: limit - len(tail)].decode(errors="ignore") + tail


def suffixed(name: str, suffix: str, limit: int) -> str:
    """Return `name` + `suffix`, within `limit` bytes of UTF-8."""
    whole = name + suffix
    if len(whole.encode()) <= limit:
        return whole
    tail = f"_{hashlib.sha256(name.encode()).hexdigest()[:8]}{suffix}"
    return name.encode()[: limit - len(tail)].decode(errors="ignore") + tail


def table_name(kind: str, stream: str) -> str:
    """Return the name of a stream's own table, made unique by a hash of the stream's name."""
    slug = re.sub(r"[^a-z0-9]+", "_", stream.lower()).strip("_")[:40]
    return f"{kind}_{slug}_{hashlib.sha256(stream.encode()).hexdigest()[:8]}"
