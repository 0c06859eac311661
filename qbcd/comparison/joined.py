"""`qbcd join`: two files whose rows came in about the same order (Diag-Join).

A window of parents slides along the children (Helmer, chapter 5; `qbcd.meshjoin.diagonal` is the same row by row). Its
size comes from a sample of the children: how far their parents are from the expected places. Children without a parent
in the window are spilled, and joined by hashing afterwards, so the result is exact whatever the order.
"""

from __future__ import annotations

import itertools
import math
import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from qbcd.common.durable import replaceable
from qbcd.common.temporary import TemporaryFolder
from qbcd.config.files import FileFormat
from qbcd.errors import ConfigError, LocalFailed, Refused
from qbcd.files.content import DumpPlace
from qbcd.files.formats import DumpReader, open_dump
from qbcd.files.series import ONCE, DumpFile
from qbcd.meshjoin import BasicDiagJoin, Partners, deviations, window_for

if TYPE_CHECKING:
    from qbcd.local.database import LocalDatabase

JoinMethod = Literal["auto", "advanced", "basic", "hash"]
SAMPLE = 10_000  # children whose parents are searched to size the window
CHUNKS = 5
LEAST_STEP = 1000  # parents of a chunk
GROWTH = 1.1  # of the window, since a sample misses the largest deviations
MISHITS = 0.5  # with a larger share a hash join of all rows is expected to be cheaper
LEAST_DATABASE = 128 << 20  # bytes for the join of mishits, which spills
_ROW_GROUP = 65_536
_ENCODED = 8_192  # rows at a time, so that a row group waits encoded
_KEY = "qbcd key"  # of parents in the window


@dataclass(frozen=True)
class JoinOptions:
    """Options of a join.

    Attributes:
        on: The column of the children and the key column of the parents.
        take: The columns of the parents that children get; empty for all but the key.
        memory: Most bytes of parents in the window.
    """

    on: tuple[str, str]
    take: tuple[str, ...] = ()
    memory: int = 64 << 20
    method: JoinMethod = "auto"
    form: FileFormat = field(default_factory=FileFormat)


@dataclass
class JoinResult:
    """The result of a join.

    Attributes:
        rows: Children, all of which are in the result.
        orphans: Those without a parent.
        parents: Rows of the other file.
        window: Parents of the window; 0 for a hash join.
        window_bytes: The largest size that the window had.
        expected: Share of mishits by the sample.
        mishits: Children whose parent was not in the window.
    """

    method: str
    rows: int = 0
    orphans: int = 0
    parents: int = 0
    window: int = 0
    window_bytes: int = 0
    expected: float = 0.0
    mishits: int = 0


class FileJoin:
    """The join of two files.

    Args:
        children: The file whose rows are joined.
        parents: The file with at most one row for each key, in about the order in which the children refer to them.
    """

    def __init__(self, children: str, parents: str, options: JoinOptions) -> None:
        self._names, self.options = (children, parents), options
        self._files = [DumpFile.at(DumpPlace(Path(name), name, once=True)) for name in self._names]
        self._forms = self._forms_of_files()
        self._children, self._parents = self._open(0), self._open(1)
        self.child_key, self.parent_key = options.on
        for reader, name in ((self._children, self.child_key), (self._parents, self.parent_key)):
            _known(reader, name)
        self.kind = _common(self._children.schema.field(self.child_key), self._parents.schema.field(self.parent_key))
        others = (name for name in self._parents.schema.names if name != self.parent_key)
        self.take = tuple(dict.fromkeys(options.take or others))
        for name in self.take:
            _known(self._parents, name)
        twice = sorted({*self.take} & {*self._children.schema.names})
        if twice:
            raise ConfigError(f"both files have a column {twice[0]!r}", remedy="choose others with --take a,b")
        self.schema = pa.schema([*self._children.schema, *(self._parents.schema.field(name) for name in self.take)])
        self._read = [self.parent_key, *(name for name in self.take if name != self.parent_key)]  # of parents
        self.result, self._planned = JoinResult(options.method), False

    def _forms_of_files(self) -> list[FileFormat]:
        """Return the format of each file, with the types of its own columns.

        Raises:
            ConfigError: A type is given to a column that neither has.
        """
        form = self.options.form
        if not form.types:
            return [form, form]
        plain = form.model_copy(update={"types": {}})
        there = [open_dump(DumpPlace(Path(name), name, once=True), plain).schema.names for name in self._names]
        for column in form.types:
            if not any(column in names for names in there):
                known = ", ".join(dict.fromkeys([*there[0], *there[1]]))
                raise ConfigError(f"types: neither file has a column {column!r}", remedy=f"they have {known}")
        own = [{name: kind for name, kind in form.types.items() if name in names} for names in there]
        return [form.model_copy(update={"types": types}) for types in own]

    def _open(self, which: int) -> DumpReader:
        name = self._names[which]
        return open_dump(DumpPlace(Path(name), name, once=True), self._forms[which])

    # -- the window --------------------------------------------------------------------------------------------------
    def plan(self) -> JoinResult:
        """Choose method and window by one scan of the two key columns."""
        found, chunks = self.result, CHUNKS if self.options.method != "basic" else 1 << 30
        self._planned = True
        sample = self._sample()
        places = self._places(sample)
        far = deviations(places, found.parents, found.rows)
        most = max(LEAST_STEP, self.options.memory // max(1, self._parent_bytes))
        wanted = min(found.parents, max(CHUNKS * LEAST_STEP, int(GROWTH * window_for(far, chunks)) + 1))
        found.window = min(wanted, most)
        reached = found.window * (1 - 1 / chunks) / 2
        found.expected = sum(one > reached for one in far) / len(far) if far else 0.0
        found.method = self.options.method
        if found.method == "auto":
            found.method = "hash" if found.expected > MISHITS else "advanced"
        if found.method == "hash":
            found.window = 0
        return found

    def _sample(self) -> tuple[pa.Array, list[int]]:
        """Return the keys of a uniform sample of the children with their places; count the children."""
        drawn, picked = Reservoir(SAMPLE, random.Random(5)), list[pa.Array]()
        places, slots = list[int](), dict[int, int]()
        for batch in self._open(0).batches([self.child_key]):
            keys, start = _as(batch.column(0), self.kind), self.result.rows
            self.result.rows += len(keys)
            before = len(places)
            for place, slot in drawn.within(start, self.result.rows):
                slots[slot] = len(places)
                places.append(place)
            picked.append(keys.take(_int64([place - start for place in places[before:]])))
        chosen = list(slots.values())
        return pa.concat_arrays([pa.nulls(0, self.kind), *picked]).take(_int64(chosen)), [places[i] for i in chosen]

    def _places(self, sample: tuple[pa.Array, list[int]]) -> list[tuple[int, int]]:
        """Return the places of sampled children with those of their parents; count the parents."""
        wanted, children = sample[0].drop_null(), dict[Any, list[int]]()
        for key, place in zip(sample[0].to_pylist(), sample[1], strict=True):
            children.setdefault(key, []).append(place)
        found, size = list[tuple[int, int]](), 0
        for batch in self._open(1).batches([self.parent_key]):
            keys = _as(batch.column(0), self.kind)
            at = pc.indices_nonzero(pc.is_in(keys, value_set=wanted))
            for i, key in zip(at.to_pylist(), keys.take(at).to_pylist(), strict=True):
                found += [(child, self.result.parents + i) for child in children[key]]
            self.result.parents += len(keys)
        for batch in self._open(1).batches(self._read):
            size = max(1, batch.nbytes // max(1, len(batch)))
            break
        self._parent_bytes = size
        return found

    # -- the join ----------------------------------------------------------------------------------------------------
    def write(self, path: Path) -> JoinResult:
        """Join into a new Parquet file: children in their order, then mishits.

        Raises:
            Refused: Two parents in one window have the same key.
            DumpRefused: A file was written meanwhile.
            LocalFailed: The file cannot be written, or the join of mishits failed.
        """
        found = self.result if self._planned else self.plan()
        attempt = path.resolve().with_name(f".{path.name}.attempt")
        try:
            place = replaceable(path)
            self._write(attempt)
            for one in self._files:
                one.check_unchanged(ONCE)
            attempt.replace(place)
        except OSError as error:
            raise LocalFailed(
                f"{path} cannot be written: {error.strerror or error}",
                remedy="check the folder of --output and its disk",
            ) from error
        finally:
            attempt.unlink(missing_ok=True)
            pa.default_memory_pool().release_unused()
        return found

    def _write(self, path: Path) -> None:
        found = self.result
        with ExitStack() as opened:
            folder = opened.enter_context(TemporaryFolder(".qbcd-join-", path.parent))
            spilled = _Spilled(folder / "mishits.parquet", self._children.schema)
            with parquet.ParquetWriter(path, self.schema, compression="snappy") as file:
                put = _Rows(file, self.schema)
                if found.method == "hash":
                    self._hash(None, folder, put)
                else:
                    (self._basic if found.method == "basic" else self._advanced)(put, spilled)
                    spilled.close()
                    found.mishits = spilled.rows
                    if spilled.rows:
                        self._hash(spilled.path, folder, put)
                put.flush()
            found.orphans = put.orphans

    def _advanced(self, put: _Rows, spilled: _Spilled) -> None:
        """A window of several chunks, the oldest of which is replaced at a time."""
        found, step = self.result, max(1, self.result.window // CHUNKS)
        window = pa.Table.from_arrays([pa.nulls(0, one.type) for one in self._wide], schema=self._wide)
        chunks, loaded, more = self._chunks(step), 0, True
        for middle, piece in enumerate(self._pieces(step)):
            while more and loaded <= middle + CHUNKS // 2:
                chunk = next(chunks, None)
                more = chunk is not None
                if chunk is not None:
                    window = window.slice(max(0, len(window) - (CHUNKS - 1) * step)) if loaded >= CHUNKS else window
                    self._refuse_twice(chunk.column(0), window.column(0))
                    window = pa.concat_tables([window, chunk]).combine_chunks()
                    loaded += 1
            found.window_bytes = max(found.window_bytes, window.nbytes)
            self._probe(piece, window, put, spilled)
            pa.default_memory_pool().release_unused()

    @property
    def _wide(self) -> pa.Schema:
        """The columns of parents in the window: the key in its common type, and what children get."""
        return pa.schema([(_KEY, self.kind), *(self.schema.field(name) for name in self.take)])

    def _probe(self, piece: pa.Table, window: pa.Table, put: _Rows, spilled: _Spilled) -> None:
        """Join children with the window; spill those that have a key, and no parent in it."""
        at = pc.index_in(_as(piece[self.child_key], self.kind), value_set=window.column(0), skip_nulls=True)
        missed = pc.and_(at.is_null(), piece[self.child_key].is_valid())
        if pc.any(missed).as_py():
            spilled.add(piece.filter(missed))
            there = pc.invert(missed)
            piece, at = piece.filter(there), at.filter(there)
        put.orphans += at.null_count
        parents = window.select(range(1, window.num_columns)).take(at)
        put.add(pa.Table.from_arrays([*piece.columns, *parents.columns], schema=self.schema))

    def _basic(self, put: _Rows, spilled: _Spilled) -> None:
        """A window of single parents, row by row: slower, but nothing is lost to stepping."""

        def parents() -> Iterator[tuple[Any, dict[str, Any]]]:
            for batch in self._open(1).batches(self._read):
                keys = _as(batch.column(0), self.kind).to_pylist()
                yield from zip((object() if key is None else key for key in keys), batch.to_pylist(), strict=True)

        def children() -> Iterator[tuple[Any, dict[str, Any]]]:
            for batch in self._open(0).batches(self._children.schema.names):
                keys = _as(batch.column(self._children.schema.names.index(self.child_key)), self.kind)
                yield from zip(keys.to_pylist(), batch.to_pylist(), strict=True)

        found = self.result
        both = Partners[Any, dict[str, Any], dict[str, Any]](parents, children(), (found.parents, found.rows))
        for key, child, parent, hit in BasicDiagJoin(both, found.window).searched():
            if key is not None and not hit:
                spilled.add_row(child)
            else:
                put.add_row({**child, **{n: parent and parent[n] for n in self.take}}, orphan=not hit)

    def _chunks(self, step: int) -> Iterator[pa.Table]:
        reader = self._open(1)
        schema = pa.schema([reader.schema.field(name) for name in self._read])
        for rows in _cut(reader.batches(self._read), itertools.repeat(step), schema):
            columns = [_as(rows[self.parent_key], self.kind), *rows.select(self.take).columns]
            yield pa.Table.from_arrays(columns, schema=self._wide)

    def _pieces(self, step: int) -> Iterator[pa.Table]:
        """Return children in order, by the chunk in which their parent is expected."""
        found = self.result
        first = (-(-chunk * step * found.rows // max(1, found.parents)) for chunk in itertools.count())
        sizes = (after - before for before, after in itertools.pairwise(first))
        schema = self._children.schema
        return _cut(self._open(0).batches(schema.names), sizes, schema)

    def _refuse_twice(self, keys: pa.ChunkedArray, others: pa.ChunkedArray) -> None:
        known = keys.drop_null()
        if len(pc.unique(known)) == len(known) and not pc.any(pc.is_in(known, value_set=others)).as_py():
            return
        raise Refused(
            f"{self._names[1]} has two rows with the same {self.parent_key}",
            remedy="name the file with one row for each key as the second one",
        )

    def _hash(self, spilled: Path | None, folder: Path, put: _Rows) -> None:
        """Join children by hashing, the spilled ones or all; DuckDB spills too."""
        from qbcd.local.database import LocalDatabase
        from qbcd.local.errors import explained_errors

        database = LocalDatabase(max(self.options.memory, LEAST_DATABASE), folder / "spill")
        try:
            with explained_errors(""):
                self._hash_in(database, spilled, put)
        finally:
            database.close()

    def _hash_in(self, database: LocalDatabase, spilled: Path | None, put: _Rows) -> None:
        from qbcd.local.parquet_rows import text

        connection, children = database.connection, self._children.schema.names
        key = f"c{children.index(self.child_key)}"
        if spilled is None:
            connection.register("children", _reader(self._open(0), children, "c"))
        else:
            connection.execute(f"CREATE VIEW children AS FROM read_parquet({text(str(spilled))})")
            connection.execute(f"CREATE TABLE wanted AS SELECT DISTINCT {key} AS key FROM children")
        connection.register("all_parents", _reader(self._open(1), self._read, "p"))
        semi = " SEMI JOIN wanted AS w ON p.p0 = w.key" if spilled is not None else ""
        connection.execute(f"CREATE TABLE parents AS SELECT p.* FROM all_parents AS p{semi} WHERE p.p0 IS NOT NULL")
        twice = connection.execute("SELECT p0 FROM parents GROUP BY p0 HAVING count(*) > 1 LIMIT 1").fetchall()
        if twice:
            raise Refused(
                f"{self._names[1]} has several rows with {self.parent_key} = {twice[0][0]}",
                remedy="name the file with one row for each key as the second one",
            )
        listed = [f"c{i}" for i in range(len(children))] + [f"p{self._read.index(name)}" for name in self.take]
        sql = f"SELECT {', '.join(listed)}, p0 IS NULL AS orphan FROM children LEFT JOIN parents ON {key} = p0"
        relation: Any = connection.sql(sql)
        read: Callable[[int], pa.RecordBatchReader] = getattr(relation, "to_arrow_reader", None) or (
            relation.fetch_record_batch
        )
        for batch in read(_ROW_GROUP):
            rows = pa.Table.from_batches([batch])
            put.orphans += pc.sum(rows["orphan"]).as_py() or 0
            put.add(rows.drop_columns(["orphan"]).rename_columns(self.schema.names).cast(self.schema))


class Reservoir:
    """A uniform sample of rows that come in order, by jumps (Li's algorithm L)."""

    def __init__(self, size: int, drawn: random.Random) -> None:
        self._size, self._drawn = size, drawn
        self._next, self._largest = 0, 1.0

    def within(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the rows from `start` to before `end` that enter, with their places in the sample."""
        while self._next < end:
            row = self._next
            assert row >= start
            yield row, row if row < self._size else self._drawn.randrange(self._size)
            self._next += 1
            if self._next >= self._size:
                self._largest *= math.exp(math.log(1 - self._drawn.random()) / self._size)
                self._next += math.floor(math.log(1 - self._drawn.random()) / math.log1p(-self._largest))


class _Rows:
    """Rows on their way into a file."""

    def __init__(self, file: parquet.ParquetWriter, schema: pa.Schema) -> None:
        self._file, self._schema = file, schema
        self._single: list[dict[str, Any]] = []
        self.orphans = 0

    def add(self, rows: pa.Table) -> None:
        """Write rows."""
        for batch in rows.to_batches(_ENCODED):
            self._file.write_batch(batch, _ROW_GROUP)

    def add_row(self, row: dict[str, Any], *, orphan: bool = False) -> None:
        """Write one row."""
        self.orphans += orphan
        self._single.append(row)
        if len(self._single) >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self._single:
            self.add(pa.Table.from_pylist(self._single, self._schema))
        self._single = []


class _Spilled:
    """Children without a parent in the window, in a file; its columns have the names c0, c1 .."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path, self._names, self.rows = path, schema.names, 0
        self._schema = _renamed(schema, "c")
        self._file: parquet.ParquetWriter | None = None
        self._put: _Rows | None = None

    def add(self, rows: pa.Table) -> None:
        """Spill rows."""
        if len(rows):
            self._open().add(rows.rename_columns(self._schema.names))
            self.rows += len(rows)

    def add_row(self, row: dict[str, Any]) -> None:
        """Spill one row."""
        self._open().add_row({f"c{i}": row[name] for i, name in enumerate(self._names)})
        self.rows += 1

    def close(self) -> None:
        """Complete the file, if there is one."""
        if self._put is not None and self._file is not None:
            self._put.flush()
            self._file.close()

    def _open(self) -> _Rows:
        if self._put is None:
            self._file = parquet.ParquetWriter(self.path, self._schema, compression="snappy")
            self._put = _Rows(self._file, self._schema)
        return self._put


def _reader(reader: DumpReader, names: Sequence[str], letter: str) -> pa.RecordBatchReader:
    """Return columns by numbered names: to DuckDB, names that differ in case only are equal."""
    schema = pa.schema([reader.schema.field(name) for name in names])
    numbered = _renamed(schema, letter)
    return pa.RecordBatchReader.from_batches(
        numbered, (pa.RecordBatch.from_arrays(b.cast(schema).columns, schema=numbered) for b in reader.batches(names))
    )


def _renamed(schema: pa.Schema, letter: str) -> pa.Schema:
    return pa.schema([field.with_name(f"{letter}{i}") for i, field in enumerate(schema)])


def _cut(batches: Iterator[pa.RecordBatch], sizes: Iterator[int], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield tables of these numbers of rows, which can be 0; the last one may be smaller."""
    waiting: list[pa.RecordBatch] = []
    rows, size = 0, next(sizes)
    for batch in batches:
        if not len(batch):
            continue
        waiting.append(batch)
        rows += len(batch)
        while rows >= size:
            table = pa.Table.from_batches(waiting, schema)
            yield table.slice(0, size).combine_chunks()
            waiting, rows, size = table.slice(size).to_batches(), rows - size, next(sizes)
    if rows:
        yield pa.Table.from_batches(waiting, schema).combine_chunks()


def _int64(values: Sequence[int]) -> pa.Array:
    """Return an array; unlike `pyarrow.array`, it does not import pandas, which takes 40 MB."""
    return pa.Array.from_buffers(pa.int64(), len(values), [None, pa.py_buffer(array("q", values))])


def _common(child: pa.Field, parent: pa.Field) -> pa.DataType:
    """Return the type in which keys are compared.

    Raises:
        ConfigError: There is none.
    """
    kinds = (child.type, parent.type)
    if all(map(pa.types.is_integer, kinds)):
        return pa.int64() if pa.uint64() not in kinds else pa.decimal128(20, 0)
    if all(pa.types.is_string(one) or pa.types.is_large_string(one) for one in kinds):
        return pa.string()
    if child.type == parent.type and not pa.types.is_floating(child.type) and not pa.types.is_nested(child.type):
        return child.type
    raise ConfigError(
        f"{child.name} is {child.type} and {parent.name} is {parent.type}, which are not compared",
        remedy="give both columns one type:  --format '{types: {" + child.name + ": integer}}'",
    )


def _as(values: Any, kind: pa.DataType) -> Any:
    return values if values.type == kind else values.cast(kind)


def _known(reader: DumpReader, name: str) -> None:
    if name not in reader.schema.names:
        raise ConfigError(
            f"{reader.place.label} has no column {name!r}", remedy=f"it has {', '.join(reader.schema.names)}"
        )
