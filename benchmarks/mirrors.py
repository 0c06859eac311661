"""Loading speed of mirrors and histories next to a bare load: inserts, updates, a mixed batch, versions.

Each write is a process of its own that prints the seconds of the sink's call alone; seconds of the processor are those
of this call and of the server. With ``--against FOLDER``, the
version in another checkout writes the same batches in turns. The bare load has the same rows, columns and primary key:
COPY on PostgreSQL, INSERTs of 20,000 rows on MariaDB and SQLite, INSERT of an Arrow table in DuckDB.
"""

from __future__ import annotations

import json
import os
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from sqlalchemy import make_url

from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place
from benchmarks.processor import Processor, Spent

OPTIONS = ("targets",)
ROWS_AT_ONCE = 20_000
COLUMNS = [
    ("id", ["int64"]),
    ("customer", ["text"]),
    ("quantity", ["int32"]),
    ("amount", ["decimal", 12, 2]),
    ("placed_at", ["timestamptz"]),
    ("weight", ["float64"]),
    ("note", ["text"]),
]
ROW = """{{id: {i}::BIGINT, customer: 'customer-' || ({i} * 7919) % 100003, quantity: ({i} % 97 + {more})::INTEGER,
  amount: (({i} % 100000) / 100)::DECIMAL(12, 2),
  placed_at: TIMESTAMPTZ '2024-01-01 00:00:00+00' + INTERVAL 1 SECOND * {i},
  weight: {i} / 3.0::DOUBLE, note: repeat(md5({i}::VARCHAR), 4)}}"""
EVENTS = """
SELECT {op} AS op, {{id: i::BIGINT}} AS key, {before} AS before, {after} AS after, NULL::VARCHAR[] AS changed,
       NULL::VARCHAR AS reason, NULL::VARCHAR AS pair_id,
       {{name: 'shop', "table": 't', strategy: 'mds', consistency: 'snapshot', epoch: 1::BIGINT, batch_seq: 1::BIGINT}}
       AS source, 'e' || i AS event_id, 1::BIGINT AS ts_ms FROM (SELECT unnest(generate_series(1, {rows})) AS i)
"""
OLD, NEW = ROW.format(i="i", more=0), ROW.format(i="i", more=1)
NONE = "NULL"
# Of the mixed batch of N events: a half are updates, a quarter deletes, a quarter inserts.
BATCHES: dict[str, tuple[str, str, str, dict[str, float]]] = {
    "insert": ("'r'", NONE, OLD, {"r": 1}),
    "update": ("'u'", OLD, NEW, {"u": 1}),
    "mixed": (
        "CASE i % 4 WHEN 0 THEN 'd' WHEN 1 THEN 'c' ELSE 'u' END",
        f"CASE WHEN i % 4 <> 1 THEN {NEW} END",
        f"CASE WHEN i % 4 = 1 THEN {ROW.format(i='(i + 1000000000)', more=0)} "
        f"WHEN i % 4 > 1 THEN {ROW.format(i='i', more=2)} END",
        {"u": 1 / 2, "d": 1 / 4, "c": 1 / 4},
    ),
}
KEYS = {"mixed": "{id: (CASE WHEN i % 4 = 1 THEN i + 1000000000 ELSE i END)::BIGINT} AS key"}
# Each step: mode, batch, number. A batch of a mode follows the one before.
STEPS = (
    ("insert", "mirror", "insert", 1),
    ("update", "mirror", "update", 2),
    ("mixed", "mirror", "mixed", 3),
    ("insert, scd2", "scd2", "insert", 1),
    ("update, scd2", "scd2", "update", 2),
)
CREATE = (
    "CREATE TABLE bare (id bigint PRIMARY KEY, customer {text}, quantity int, amount decimal(12, 2), "
    "placed_at {instant}, weight {double}, note {text})"
)
WORDS = {"text": "text", "instant": "timestamp with time zone", "double": "double precision"}
FAMILY_WORDS = {"text": "longtext", "instant": "datetime(6)", "double": "double"}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each target with each version."""
    files = {name: _events(folder / f"{name}.arrow", name, options.rows) for name in BATCHES}
    versions = {"qbcd": Path.cwd(), **({"before": Path(options.against)} if options.against else {})}
    headings = ("target", "step", "bare load", *versions, "x bare load", "x before", "processor", "x bare", "x before")
    table = Table(headings, place.version())
    for name in options.targets.split(","):
        target = {"server": _server, "duckdb": _duck, "sqlite": _sqlite}[name](place, folder)
        found: dict[tuple[str, str], list[Spent]] = {}
        bare: list[Spent] = []
        for _ in range(options.repeats):
            bare.append(target.bare(folder / "insert.arrow", place))
            for step, mode, batch, number in STEPS:
                for version, checkout in versions.items():
                    target.settle()
                    spent = _write(target, checkout, f"{mode}_{version}", number, files[batch], place)
                    found.setdefault((step, version), []).append(spent)
            target.drop([f"{mode}_{version}" for mode in ("mirror", "scd2") for version in versions])
        for step, *_ in STEPS:
            table.rows.append((target.name, step, *_cells(bare, found[step, "qbcd"], found.get((step, "before"), []))))
    return table


def _cells(bare: list[Spent], own: list[Spent], before: list[Spent]) -> Iterator[str]:
    """Yield the cells of a row: seconds on the clock with their ratios, then those of the processor."""
    yield f"{statistics.median(one.clock for one in bare):.2f} s"
    for part in (own, before):
        if part:
            yield f"{statistics.median(one.clock for one in part):.2f} s"
    for i, name in enumerate(Spent._fields):
        if i:
            yield f"{statistics.median(one.processor for one in own):.2f} s"
        load = statistics.median(getattr(one, name) for one in bare)
        yield f"{statistics.median(getattr(one, name) for one in own) / load:.2f}"
        pairs = zip(own, before, strict=bool(before))
        ratios = [getattr(one, name) / getattr(other, name) for one, other in pairs]
        yield f"{statistics.median(ratios):.2f}" if ratios else ""


def _events(path: Path, name: str, rows: int) -> dict[str, Any]:
    """Write the events of a batch to an Arrow file; return the file with the counts."""
    op, before, after, counts = BATCHES[name]
    with duckdb.connect() as connection:
        ((typed,),) = connection.execute(f"SELECT typeof({OLD}) FROM (SELECT 1 AS i)").fetchall()
    images = [f"({one})::{typed}" for one in (before, after)]
    query = EVENTS.format(op=op, before=images[0], after=images[1], rows=rows)
    if name in KEYS:
        query = query.replace("{id: i::BIGINT} AS key", KEYS[name])
    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        reader = connection.sql(query).to_arrow_reader(ROWS_AT_ONCE)
        with pa.ipc.new_file(path, reader.schema) as file:
            for batch in reader:
                file.write_batch(batch)
    return {"events": str(path), "counts": {op: int(rows * share) for op, share in counts.items()}}


def _write(target: Target, checkout: Path, table: str, number: int, batch: dict[str, Any], place: Place) -> Spent:
    header = {
        "stream": "orders",
        "epoch": 1,
        "seq": number,
        "ts_ms": 1_795_000_000_000 + number,
        "counts": batch["counts"],
        "fingerprint": f"f{number}",
        "source": "shop",
        "table": "public.orders",
        "strategy": "mds",
        "consistency": "snapshot",
        "key": ["id"],
        "columns": COLUMNS,
    }
    given = {"url": target.url, "sink": table, "mode": table.partition("_")[0], "header": header, **batch}
    command = [sys.executable, str(Path(__file__).with_name("mirror_writer.py")), json.dumps(given)]
    environment = {**os.environ, "PYTHONPATH": str(checkout)}
    printed: list[str] = []

    def write() -> None:
        done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
        printed.extend(done.stdout.split())

    server = Processor(place, own=False).spent(write).processor
    return Spent(float(printed[0]), float(printed[1]) + server)


class Target:
    """A target of the sink.

    Attributes:
        name: Its name in the table of results.
        url: Its URL for the sink.
    """

    def __init__(self, name: str, url: str, run: Callable[[str], Any], load: Callable[[Path], Spent]) -> None:
        self.name, self.url, self._run, self._load = name, url, run, load

    def bare(self, path: Path, place: Place) -> Spent:
        """Measure a bare load, without the making of its rows where COPY takes a file."""
        spent: list[Spent] = []

        def load() -> None:
            spent.append(self._load(path))

        server = Processor(place, own=False).spent(load).processor
        self._run("DROP TABLE bare")
        return Spent(spent[0].clock, spent[0].processor + server)

    def settle(self) -> None:
        """Let the server write what it has to, so that no step pays for the one before."""
        if self.name == "postgresql":
            self._run("CHECKPOINT")

    def drop(self, tables: list[str]) -> None:
        """Drop the tables of all steps."""
        for name in (*tables, "qbcd_sink"):
            self._run(f"DROP TABLE {name}")


def _measured(action: Callable[[], object]) -> Spent:
    """Measure a call in this process."""
    used = time.process_time()
    clock = seconds(action)
    return Spent(clock, time.process_time() - used)


def _rows(path: Path) -> Iterator[pa.RecordBatch]:
    reader = pa.ipc.open_file(pa.memory_map(str(path)))
    for i in range(reader.num_record_batches):
        yield pa.RecordBatch.from_struct_array(reader.get_batch(i).column("after"))


def _tuples(path: Path) -> Iterator[list[tuple[Any, ...]]]:
    for batch in _rows(path):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def _server(place: Place, folder: Path) -> Target:
    url, family = place.url, place.url.startswith("m")
    words = FAMILY_WORDS if family else WORDS

    def copied(path: Path) -> Spent:
        csv = folder / "rows.csv"
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'UTC'")
            made = pa.Table.from_batches(list(_rows(path)))
            connection.register("made", made)
            connection.execute(f"COPY made TO '{csv}' (HEADER false)")
        place.run(CREATE.format(**words))
        with closing(place.connect()) as conn, conn.cursor() as cursor, csv.open() as file:
            return _measured(lambda: cursor.copy_expert("COPY bare FROM STDIN (FORMAT csv)", file))

    def inserted(path: Path) -> Spent:
        place.run(CREATE.format(**words))
        sql = f"INSERT INTO bare VALUES ({', '.join(['%s'] * len(COLUMNS))})"
        with closing(place.connect()) as conn, conn.cursor() as cursor:
            conn.autocommit(False)
            return _measured(lambda: ([cursor.executemany(sql, rows) for rows in _tuples(path)], conn.commit()))

    return Target(make_url(url).get_backend_name(), url, place.run, inserted if family else copied)


def _duck(_place: Place, folder: Path) -> Target:
    file = str(folder / "target.duckdb")

    def run(sql: str) -> None:
        with duckdb.connect(file) as connection:
            connection.execute(sql)

    def loaded(path: Path) -> Spent:
        run(CREATE.format(**WORDS))
        made = pa.Table.from_batches(list(_rows(path)))
        with duckdb.connect(file) as connection:
            connection.register("made", made)
            return _measured(lambda: connection.execute("INSERT INTO bare SELECT * FROM made"))

    return Target("duckdb", f"duckdb:///{file}", run, loaded)


def _sqlite(_place: Place, folder: Path) -> Target:
    file = str(folder / "target.sqlite")

    def run(sql: str) -> None:
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute(sql)

    def loaded(path: Path) -> Spent:
        run(CREATE.format(**WORDS))
        sql = f"INSERT INTO bare VALUES ({', '.join('?' * len(COLUMNS))})"
        with closing(sqlite3.connect(file, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = EXTRA")

            def insert() -> None:
                connection.execute("BEGIN")
                for rows in _tuples(path):
                    connection.executemany(sql, [(*r[:3], str(r[3]), str(r[4]), *r[5:]) for r in rows])
                connection.execute("COMMIT")

            return _measured(insert)

    return Target("sqlite", f"sqlite:///{file}", run, loaded)
