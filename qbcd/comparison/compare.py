"""Compare two operands: load, join by key, number the changes as the events of one batch."""

from __future__ import annotations

import os
import time
import uuid
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from qbcd.common.durable import replaceable, sync
from qbcd.common.temporary import TemporaryFolder
from qbcd.comparison.by_driver_ranges import differing_rows_by_driver, why_all_travel
from qbcd.comparison.by_ranges import RangeCounts, differing_rows
from qbcd.comparison.jdbc_operand import JdbcOperand
from qbcd.comparison.kept import KeptOperand, folder_of, keep
from qbcd.comparison.methods import chosen, last_of, remember, sides_of
from qbcd.comparison.opened import named, operand
from qbcd.comparison.operands import ComparedColumns, Operand, TableOperand, identified, in_table
from qbcd.comparison.tables import is_address
from qbcd.comparison.unify import common_column, exact_forms, in_common, unified
from qbcd.comparison.wording import worded
from qbcd.config.files import FileFormat
from qbcd.errors import ConfigError, LocalOutOfMemory, Refused, UnsafeKey
from qbcd.local.arrow import LocalRows, lines_of
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explained_errors
from qbcd.local.parquet_rows import file_options
from qbcd.local.query import Query
from qbcd.local.source import ReadAmount
from qbcd.model import BatchHeader, Column, StreamPlan, Table
from qbcd.sites.eligibility import why_complete
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.local.by_method import ParquetSide, changes_by
from qbcd.sites.lake.engines.local.engine import LocalEngine
from qbcd.snapshots.base import LEAST_MEMORY, ComparisonReport, Options
from qbcd.snapshots.compare import METHODS as SNAPSHOT_METHODS
from qbcd.snapshots.feeds import JOIN, memory_of_join
from qbcd.status import parsed
from qbcd.strategies import BY_JOIN

METHODS = ("auto", "join", *SNAPSHOT_METHODS)
CHECKSUMS = "checksums"  # what `auto` does with two tables if it can
DEFAULT_MEMORY = 256 << 20
DEFAULT_WORKDIR = Path(".qbcd")
DEFAULT_PROJECT = Path("qbcd.yaml")
NAME = "diff"  # of the stream and of the strategy in events
_OPS = ("c", "u", "d")


@dataclass(frozen=True)
class DiffOptions:
    """Options of a comparison.

    Attributes:
        key: The columns that identify a row; empty for the key that a database proves.
        method: The way to compare; ``auto`` chooses.
        memory: Bytes that the comparison may hold in memory; more is spilled to a temporary folder.
        form: The format of files, where their names do not say it.
        columns: The columns to compare, with the key; empty for all.
        exclude: Columns that are not compared.
        workdir: The folder that holds what a call with one operand keeps.
        renew: With one operand, keep its rows for the next call, in place of the earlier ones, when the result is
            closed.
        project: The configuration whose sources operands may name.
    """

    key: tuple[str, ...] = ()
    method: str = "auto"
    memory: int = DEFAULT_MEMORY
    form: FileFormat = field(default_factory=FileFormat)
    columns: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()
    workdir: Path = DEFAULT_WORKDIR
    renew: bool = False
    project: Path = DEFAULT_PROJECT

    @property
    def wanted(self) -> ComparedColumns:
        """The columns to compare."""
        return ComparedColumns(self.key, self.columns, self.exclude)

    def check(self) -> None:
        """Check options that no type checks.

        Raises:
            ConfigError: One is wrong.
        """
        if self.method not in METHODS:
            raise ConfigError(f"there is no method {self.method!r}", remedy=f"write one of {', '.join(METHODS)}")
        if self.method not in BY_JOIN and self.memory < 2 * LEAST_MEMORY:
            what = f"method {self.method} needs {2 * LEAST_MEMORY >> 20}MB of memory: half are for the local database"
            raise ConfigError(what, remedy="give more, or use method auto")
        if self.columns and self.exclude:
            raise ConfigError("`columns` and `exclude` cannot both be given", remedy="remove one")


class DiffResult:
    """The result of a comparison: its events, until it is closed.

    With `renew`, closing it keeps the rows for the next call; the end of a ``with`` block by an error does not, so that
    the next call finds the same events.

    Attributes:
        counts: Number of events by op, without zeros.
        rows: Rows of the old and of the new operand; of the new one alone if its rows were only kept.
        labels: Names of both operands.
        key: Names of the key columns.
        method: The method that was used.
        restarts: Methods whose assumption did not hold, each with the reason.
        kept: The rows were only kept, for the next call to compare with.
        ranges: The ranges whose checksums were compared; None if all rows were read.
        complete_because: Why two tables were read completely; empty for others.
        amounts: Rows and bytes that were read of each of two tables.
        respelled: Number of deletes whose key an insert has in other case, or with other blanks at its end.
        seconds: Time that it took.
    """

    def __init__(self, options: DiffOptions) -> None:
        memory = memory_of_join(options.method, options.memory)
        temporary = TemporaryFolder("qbcd-diff-")
        self._folder = temporary.path
        self._database = LocalDatabase(memory, self._folder / "spill")
        self._release = weakref.finalize(self, _release, self._database, temporary)
        self._header: BatchHeader | None = None
        self._batch: Query | None = None
        self._renewal: Callable[[], None] | None = None
        self.counts: dict[str, int] = {}
        self.rows: tuple[int, ...] = ()
        self.labels: tuple[str, ...] = ()
        self.key: tuple[str, ...] = ()
        self._before = True
        self._report: ComparisonReport | None = None
        self.method = "join"
        self.restarts: list[tuple[str, str]] = []
        self.kept = False
        self.ranges: RangeCounts | None = None
        self.complete_because = ""
        self.amounts: tuple[ReadAmount, ...] = ()
        self.respelled = 0
        self.seconds = 0.0

    def __enter__(self) -> DiffResult:
        return self

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            self.close()
        else:
            self._discard()

    def __len__(self) -> int:
        """Return the number of events."""
        return sum(self.counts.values())

    def __bool__(self) -> bool:
        """Return True if the operands differ."""
        return len(self) > 0

    @property
    def header(self) -> BatchHeader | None:
        """The header of the events, as of a batch; None if there are none."""
        return self._header if self.counts else None

    def lines(self, most: int | None = None) -> Iterator[list[str]]:
        """Yield the events as lines of JSON, in pieces: deletes, updates, inserts.

        Args:
            most: The number of events; default: all.

        Raises:
            Refused: The result is closed.
        """
        if not self._release.alive:
            raise Refused(
                "the result of this comparison is closed", remedy="read it before: with qbcd.diff(..) as found:"
            )
        if self._header is None or self._batch is None or not len(self):
            return
        part = range(len(self) if most is None else min(most, len(self)))
        with worded(), explained_errors():
            yield from lines_of(LocalRows(self._database, self._batch), self._header, part)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the events as dicts."""
        for piece in self.lines():
            yield from parsed(piece)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the events as lines of JSON into a file, which is complete or not there.

        Raises:
            ConfigError: The file cannot be written.
        """
        target = Path(path)
        attempt = target.resolve().with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            place = replaceable(target)
            with attempt.open("w", encoding="utf-8") as file:
                for piece in self.lines():
                    file.write("".join(f"{line}\n" for line in piece))
            sync(attempt)
            os.replace(attempt, place)
        except OSError as error:
            attempt.unlink(missing_ok=True)
            what = f"{target} cannot be written: {error.strerror or error}"
            raise ConfigError(what, remedy="check the folder and its permissions") from None

    def close(self) -> None:
        """Keep the rows for the next call if that is wanted, and remove what was loaded."""
        renewal, self._renewal = self._renewal, None
        try:
            if renewal is not None:
                with worded(), explained_errors():
                    renewal()
        finally:
            self._release()

    def _discard(self) -> None:
        self._renewal = None
        self._release()

    def _compare(self, old: Operand, new: Operand, options: DiffOptions, folder: Path | None) -> None:
        names = compared_names(old, new, options)
        old, new = unified(old, new)
        keys = len(names.key)
        olds, news = old.named(names.all), new.named(names.all)
        labels = (old.label, new.label)
        common = [common_column(one, other, labels) for one, other in zip(olds, news, strict=True)]
        read = self._differing(old, new, (olds, news), keys, options) or [
            one.load(self._database, own, keys) for one, own in ((old, olds), (new, news))
        ]
        common = exact_forms(self._database, [(read[0][0], olds), (read[1][0], news)], common)
        sides = []
        for (rows, count), one, own in zip(read, (old, new), (olds, news), strict=True):
            rows = identified(self._database, in_common(rows, own, common), common, keys)
            if options.method in BY_JOIN:
                self._check_keys(rows, common[:keys], one.label)
            sides.append((rows, count))
        self.rows, self.labels, self.key = (sides[0][1], sides[1][1]), labels, names.key
        plan = _plan(common, keys, new.label)
        measured = sides_of(self._database, sides[0], sides[1])
        if self.ranges is None:
            self.method = chosen(options.method, measured, folder, options.memory)
        else:
            self.method = CHECKSUMS
        if self.method in (JOIN, CHECKSUMS):
            changes = algebra.differences(sides[0][0], sides[1][0], plan, by="values")
        else:
            changes = self._by_method([rows for rows, _ in sides], plan, options.memory // 2)
        with LocalEngine(self._database).numbered(changes, 1, measured.old_rows + measured.new_rows) as batch:
            self._batch = in_table(self._database, batch)
        found = self._database.connection.execute(
            f"SELECT op, COUNT(*) FROM ({self._batch.sql}) GROUP BY op"
        ).fetchall()
        counted: Mapping[str, int] = dict(found)
        self.counts = {op: counted[op] for op in _OPS if op in counted}
        self.respelled = self._count_respelled(plan.key)
        self._header = replace(_header(plan, self.counts), before=self._before)
        if folder is not None:
            remember(folder, last_of(folder).after(measured, self.counts, self._report))
        if folder is not None and options.renew:
            about = (new.label, sides[1][1], keys)
            self._renewal = partial(keep, folder, self._database, sides[1][0], common, about)

    def _differing(
        self, old: Operand, new: Operand, columns: Sequence[Sequence[Column]], keys: int, options: DiffOptions
    ) -> list[tuple[Query, int]] | None:
        """Return rows that may differ, by range checksums; None if all rows must be read."""
        tables = [one for one in (old, new) if isinstance(one, (TableOperand, JdbcOperand))]
        if len(tables) < 2 or options.method not in BY_JOIN:
            return None
        native = [one for one in tables if isinstance(one, TableOperand)]
        self.amounts = tuple(one.amount for one in tables)
        self.complete_because = f"method is {options.method}"
        if options.method == "auto" and len(native) == len(tables):
            self.complete_because = why_complete(native, columns, keys)
        elif options.method == "auto":
            self.complete_because = why_all_travel(tables, columns, keys)
        if self.complete_because:
            return None
        try:
            if len(native) == len(tables):
                found, self.ranges = differing_rows(self._database, native, columns, keys)
            else:
                found, self.ranges = differing_rows_by_driver(self._database, tables, columns)
        except UnsafeKey as error:  # the complete comparison names such a key
            self.complete_because = error.what
            return None
        return found

    def _by_method(self, sides: Sequence[Query], plan: StreamPlan, memory: int) -> Query:
        """Return the changes by a method of `qbcd.snapshots`, which reads both sides from files."""
        width, keys, dumps = len(plan.captured), len(plan.key), []
        for rows, name in zip(sides, ("old", "new"), strict=True):
            path = self._folder / f"{name}.parquet"
            listed = ", ".join(f"c{i}" for i in range(width))
            copied = f"COPY (SELECT {listed} FROM ({rows.sql})) TO '{path}' ({file_options()})"
            self._database.connection.execute(copied)
            dumps.append(ParquetSide([path], width, keys, name))
        settings = Options(method=self.method, memory=memory, folder=self._folder)
        found = changes_by(self._database, dumps[0], dumps[1], plan, settings)
        self.method, self.restarts, self._before = found.report.method, list(found.report.restarts), found.before
        self._report = found.report
        return found.rows

    def _count_respelled(self, key: Sequence[Column]) -> int:
        """Return the number of deletes and inserts that could be updates where keys ignore case."""
        if self._batch is None or not {"c", "d"} <= self.counts.keys() or "text" not in {c.travel.kind for c in key}:
            return 0
        sides = []
        for op, side in (("d", "b"), ("c", "a")):
            values = ", ".join(f"LOWER(RTRIM(CAST({side}_{i} AS VARCHAR), ' ')) AS k{i}" for i in range(len(key)))
            sides.append(f"SELECT DISTINCT {values} FROM ({self._batch.sql}) WHERE op = '{op}'")
        both = f"SELECT COUNT(*) FROM ({sides[0]} INTERSECT {sides[1]})"
        [(count,)] = self._database.connection.execute(both).fetchall()
        return int(count)

    def _keep(self, new: Operand, options: DiffOptions, folder: Path) -> None:
        names = compared_names(new, new, options)
        captured = new.named(names.all)
        keys = len(names.key)
        rows, count = new.load(self._database, captured, keys)
        rows = identified(self._database, rows, captured, keys)
        self._check_keys(rows, captured[:keys], new.label)
        keep(folder, self._database, rows, captured, (new.label, count, keys))
        self.rows, self.labels, self.key, self.kept = (count,), (new.label,), names.key, True

    def _check_keys(self, rows: Query, key: Sequence[Column], label: str) -> None:
        found = algebra.repeated_key(LocalEngine(self._database), rows, len(key))
        if found is not None:
            named = ", ".join(f"{c.name} {text}" for c, text in zip(key, found[0], strict=True))
            remedy = "name more columns: --key a,b; or remove the repeated rows"
            raise UnsafeKey(f"{label}: the key is not unique: {named} occurs {found[1]:,} times", remedy=remedy)


@dataclass(frozen=True)
class ComparedNames:
    """Names of the key columns and of the other columns that are compared."""

    key: tuple[str, ...]
    others: tuple[str, ...]

    @property
    def all(self) -> list[str]:
        """All of them, the key first."""
        return [*self.key, *self.others]


def compare(old: str, new: str | None, options: DiffOptions) -> DiffResult:
    """Compare two operands, or one with what the first call for it kept.

    Raises:
        ConfigError: An operand or option is wrong.
        Refused: An operand cannot be compared: a truncated file, a key that is not unique ..
    """
    with worded():
        return _compared(old, new, options)


def _compared(old: str, new: str | None, options: DiffOptions) -> DiffResult:
    options.check()
    started = time.monotonic()
    places = named([old] if new is None else [old, new], options.project)
    first = operand(old, places[0], options.wanted, options.form, places)
    folder = None if new is not None else folder_of(options.workdir, _address(old), options.key or first.proven)
    second: Operand | None = None
    result = DiffResult(options)
    try:
        with explained_errors():
            if new is not None:
                second = operand(new, places[1], options.wanted, options.form, places)
                result._compare(first, second, options, None)
            elif folder is not None and (folder / "about.json").exists():
                result._compare(KeptOperand(folder), first, options, folder)
            elif folder is not None:
                result._keep(first, options, folder)
    except BaseException as error:
        result._discard()
        if isinstance(error, LocalOutOfMemory):  # by default it names the options of a project
            error.remedy = f"give more than {options.memory >> 20}MB: --memory"
        raise
    finally:
        first.close()
        if second is not None:
            second.close()
    result.seconds = time.monotonic() - started
    return result


def _address(text: str) -> str:
    return text if is_address(text) else str(Path(text).resolve())


def compared_names(old: Operand, new: Operand, options: DiffOptions) -> ComparedNames:
    """Return the key, and the other columns to compare.

    Raises:
        ConfigError: There is no key, or one operand has other columns than the other.
    """
    key = options.key or new.proven or old.proven
    if not key:
        raise ConfigError("the rows have no key", remedy="name the columns that identify a row: --key id, or --key a,b")
    for one in (old, new):
        one.named(key)
    chosen = options.columns or tuple(new.names)
    for one in (old, new):
        one.named(options.columns)
    others = tuple(name for name in chosen if name not in key and name not in options.exclude)
    known, mine = set(old.names), set(new.names)
    lacking = next((name for name in others if name not in known), None)
    more = None if options.columns else next((n for n in old.names if n not in {*mine, *options.exclude}), None)
    if lacking is not None or more is not None:
        name, has, lacks = (lacking, new, old) if lacking is not None else (more, old, new)
        remedy = f"compare the others: --exclude {name}; or name the columns to compare: --columns a,b"
        raise ConfigError(f"{has.label} has a column {name!r}, which {lacks.label} does not have", remedy=remedy)
    for one in (old, new):
        one.named(others)
    return ComparedNames(tuple(key), others)


def _plan(columns: Sequence[Column], keys: int, label: str) -> StreamPlan:
    table = Table("", label, "table", tuple(columns), primary_key=tuple(c.name for c in columns[:keys]))
    return StreamPlan(NAME, NAME, table, tuple(columns[:keys]), tuple(columns[keys:]), "", NAME)


def _header(plan: StreamPlan, counts: Mapping[str, int]) -> BatchHeader:
    now = time.time()
    return BatchHeader(
        stream=NAME,
        epoch=int(now),
        seq=1,
        ts_ms=int(now * 1000),
        counts=counts,
        sinks=(),
        fingerprint=uuid.uuid4().hex,
        source=NAME,
        table=plan.table.name,
        strategy=NAME,
        consistency="statement",
        key=tuple(c.name for c in plan.key),
        columns=tuple((c.name, c.travel) for c in plan.captured),
    )


def _release(database: LocalDatabase, folder: TemporaryFolder) -> None:
    database.close()
    folder.remove()
