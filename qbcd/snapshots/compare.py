"""Find the differences of two snapshots by a method."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pyarrow as pa

from qbcd.errors import ConfigError
from qbcd.snapshots.base import LEAST_MEMORY, MIB, ComparisonReport, Dump, Options
from qbcd.snapshots.forms import growing, shrinking, stagnant
from qbcd.snapshots.hashed import keep_partitioned, ph, phc1, phc2
from qbcd.snapshots.hybrid import hh
from qbcd.snapshots.nested import nl
from qbcd.snapshots.planner import choose
from qbcd.snapshots.replica import DumpReplica, same_columns
from qbcd.snapshots.sorting import sm, smc1, smc2
from qbcd.snapshots.window import ordered, similar, window, window_plain
from qbcd.snapshots.work import AssumptionFailed, Old, Work

METHODS: dict[str, Callable[[Work], None]] = {
    "nl": nl,
    "sm": sm,
    "smc1": smc1,
    "smc2": smc2,
    "ph": ph,
    "phc1": phc1,
    "phc2": phc2,
    "hh": hh,
    "window": window,
    "window_plain": window_plain,
    "growing": growing,
    "stagnant": stagnant,
    "shrinking": shrinking,
    "similar": similar,
    "ordered": ordered,
}
AUTO = "auto"


class Comparison:
    """The differences of two snapshots.

    They are found when they are iterated; then `report` has the figures.

    A batch has the columns of `base.event_schema`. All deletes come before all other events. Nothing is returned, and
    no replica is kept, unless both sides were read to the end.
    """

    def __init__(self, old: Old, new: Dump, options: Options) -> None:
        self.old, self.new, self.options = old, new, options
        self.report = ComparisonReport()
        _check(old, new, options)

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Compare; ends the temporary files of the comparison when it is exhausted or closed."""
        method = self.options.method
        if method == AUTO:
            method = choose(self.old, self.new, self.options).method
        while True:
            self.report = replace(ComparisonReport(), method=method, restarts=self.report.restarts)
            work = Work(self.old, self.new, self.options, self.report)
            try:
                METHODS[method](work)
                yield from work.finish()
                return
            except AssumptionFailed as error:
                self.report.restarts.append((method, str(error)))
                method = self._general(method)
            finally:
                work.close()

    def _general(self, failed: str) -> str:
        """Return the method that restarts after another one's assumption did not hold.

        Raises:
            ConfigError: A side can be read only once.
        """
        for side in (self.old, self.new):
            if isinstance(side, Dump) and not side.repeatable:
                raise ConfigError(
                    f"method {failed} must restart ({self.report.restarts[-1][1]}), but {side.name} "
                    "can be read only once",
                    remedy="use method ph or phc1",
                )
        if failed == "ordered":
            return "window"
        return "ph" if failed in ("hh", "window") else "phc1"


def differences(old: Old, new: Dump, options: Options | None = None) -> Comparison:
    """Return the differences of two snapshots, to be iterated.

    Args:
        old: The old snapshot, or the replica that the last comparison kept.
        options: Method, memory, and what to keep.

    Raises:
        ConfigError: An unknown method, too little memory, or a key that is no column.
        Refused: The two sides have different columns.
    """
    return Comparison(old, new, options or Options())


def _check(old: Old, new: Dump, options: Options) -> None:
    if options.method not in (AUTO, *METHODS):
        raise ConfigError(f"unknown method {options.method!r}", remedy=f"one of: {', '.join((AUTO, *METHODS))}")
    if options.memory < LEAST_MEMORY:
        raise ConfigError(
            f"{options.memory:,} bytes of memory are too few", remedy=f"give at least {LEAST_MEMORY // MIB}MB"
        )
    if isinstance(old, DumpReplica):
        old.check(new)
    else:
        same_columns(old.schema, new.schema, old.name, new.name)
    if options.old_file is not None:
        same_columns(options.old_file.schema, new.schema, options.old_file.name, new.name)


def baseline(new: Dump, options: Options) -> ComparisonReport:
    """Keep the replica of a first snapshot, without comparing it.

    Raises:
        ConfigError: `options.keep` is not set.
    """
    if options.keep is None:
        raise ConfigError("a baseline has no folder to keep its replica in", remedy="set `keep`")
    report = ComparisonReport(method="baseline")
    work = Work(new, new, options, report)
    try:
        keep_partitioned(work, options.keep_rows)
        for _ in work.finish():
            raise AssertionError("a baseline has no differences")
    finally:
        work.close()
    return report
