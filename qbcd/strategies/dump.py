"""Dumps: each new file of a series is compared with the replica of the file before.

Labio & Garcia-Molina, Efficient Snapshot Differential Algorithms (1996): a dump is a poll, and the replica of the dump
before is the paper's f1, as rows or as keys and digests. Nothing is asked of a database.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Size
from qbcd.config.strategy_base import ReplicaOptions, StrategyClass, StrategyUse
from qbcd.model import Column, Consistency, StreamPlan
from qbcd.snapshots.base import LEAST_MEMORY
from qbcd.snapshots.feeds import JOIN, LastComparison, Sides, choose_for_rows
from qbcd.snapshots.planner import MethodChoice
from qbcd.strategies.base import Strategy

DEFAULT_MEMORY = 256 << 20  # bytes
AUTO = "auto"
BY_JOIN = (AUTO, JOIN)
Method = Literal[  # those that compare rows and find each key once
    "auto", "join", "nl", "sm", "ph", "hh", "window", "ordered"
]


class DumpOptions(ReplicaOptions):
    """Options of the strategy that compares dumps.

    Attributes:
        method: The way to compare a dump with the one before; ``auto`` chooses.
        memory: Bytes that a comparison may hold in memory; more is spilled into the workdir.
    """

    meaning = ("replica", "digest")
    reads_files = True

    type: Literal["dump"] = "dump"
    method: Method = "auto"
    memory: Size = DEFAULT_MEMORY

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem for a table without a key, and for settings of databases."""
        yield from super().problems(use)
        if use.key is None:
            what = "files prove no key"
            yield use.table_problem("key", what, "name the columns that identify a row: key: [id]")
        if self.method not in BY_JOIN and self.memory < 2 * LEAST_MEMORY:
            what = f"method {self.method} needs {2 * LEAST_MEMORY >> 20}MB: half of them are for the local database"
            yield use.option_problem("memory", what, "write more, or remove `method`")
        if self.method not in BY_JOIN and self.replica == "digest":
            what = f"method {self.method} compares rows, and `replica: digest` keeps none"
            yield use.option_problem("method", what, "write `replica: rows`, or remove `method`")
        if use.where:
            what = "`where` is a condition for a database, and this source has files"
            yield use.table_problem("where", what, "remove it; consumers can filter events")
        if use.types:
            what = "`types` is for columns of a database, and this source has files"
            yield use.table_problem("types", what, "write the types under `format` of the source")

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """DiffResult of dumps."""
        return DumpStrategy


class DumpStrategy(Strategy):
    """Facts about a stream of dumps."""

    name = "dump"
    site = "lake"
    consistency: Consistency = "snapshot"
    ships_unchanged = "nothing; a poll without a new file reads names and times"
    needs = "files with all rows of a table, one after another, and a key; no database"
    sees = "every insert, update and delete, with old and new values, as the net change between two dumps"
    misses = "states between two dumps (a row inserted and deleted again leaves no event)"

    def __init__(self, plan: StreamPlan) -> None:
        super().__init__(plan)
        if plan.option("replica") == "digest":
            self.keeps = "digests"
            self.sees = (
                "every insert, update and delete, as the net change between two dumps; of old rows the key alone"
            )
            self.misses = f"{type(self).misses}; old values and the names of changed columns"

    @property
    def method(self) -> str:
        """The method of a comparison; a replica of digests can only be joined."""
        chosen = str(self.plan.option("method") or AUTO)
        return JOIN if chosen == AUTO and self.keeps == "digests" else chosen

    @property
    def memory(self) -> int:
        """Bytes of a comparison: for a method, and for the local database, which stages and writes."""
        return int(self.plan.option("memory") or DEFAULT_MEMORY)

    def chosen(self, sides: Sides, last: LastComparison) -> MethodChoice:
        """Return the method of the configuration, or the planner's if that is `auto`."""
        if self.method == AUTO:
            return choose_for_rows(sides, last, self.memory)
        reason = "digests are joined" if self.plan.option("method") == AUTO else "the configuration says so"
        return MethodChoice(self.method, reason, {})

    @property
    def stored_columns(self) -> Sequence[Column]:
        """The captured columns whose values the replica keeps."""
        return self.plan.captured if self.keeps == "rows" else self.plan.key

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return why a poll cannot adopt other columns."""
        return "the replica has only the columns that were captured before" if columns or where else ""
