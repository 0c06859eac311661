"""`qbcd join` of orders and their lines next to DuckDB's hash join, each in a process of its own.

`--rows` lines, four for each order, come 1 to 121 of 2,406 days later, as in Helmer's thesis. *Copy* is the same
program: it reads the result and writes it. The memory of a join alone is its window of parents, or the hash table.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from benchmarks.measure import Options, Table
from benchmarks.places import Place

DATABASES = ("postgresql",)
_MAKE = """
import duckdb
from pyarrow import parquet
c = duckdb.connect()
c.execute("SET threads = 1; SET enable_progress_bar = false; SELECT setseed(0.5)")
c.execute(f"CREATE TABLE o AS SELECT i AS no, 'customer ' || (i * 7919 % 100003) AS customer, "
          f"(i % 1000)::DECIMAL(12, 2) AS total, 'comment of the order ' || md5(i::VARCHAR) AS comment, "
          f"i * 2406.0 / {ROWS // 4} AS day FROM range({ROWS // 4}) AS t(i)")
for name, sql in (
    ("orders", "SELECT no, customer, total, comment FROM o ORDER BY no"),
    ("lines", "SELECT order_no, line, amount FROM (SELECT no AS order_no, l AS line, "
              "(no % 97)::DECIMAL(12, 2) AS amount, day + 1 + random() * 120 AS d "
              "FROM o, range(1, 5) AS t(l)) ORDER BY d"),
):
    reader = c.sql(sql).to_arrow_reader(122_880)
    with parquet.ParquetWriter(f"{name}.parquet", reader.schema) as file:
        for batch in reader:
            file.write_batch(batch, 122_880)
"""
_JOIN = """
from pathlib import Path
from qbcd.comparison.joined import FileJoin, JoinOptions
join = FileJoin("lines.parquet", "orders.parquet", JoinOptions(("order_no", "no"), method="advanced"))
found = join.write(Path("out.parquet"))
print(json.dumps(found.window_bytes))
"""
_COPY = """
from pathlib import Path
from pyarrow import parquet
from qbcd.comparison.joined import FileJoin, JoinOptions, open_dump
from qbcd.files.content import DumpPlace
reader = open_dump(DumpPlace(Path("out.parquet"), "out.parquet", once=True), JoinOptions(("a", "b")).form)
with parquet.ParquetWriter("copy.parquet", reader.schema) as file:
    for batch in reader.batches(reader.schema.names):
        file.write_batch(batch, 65_536)
print(0)
"""
_DUCKDB = """
import duckdb, threading, time
c, most, ended = duckdb.connect(), [0], []
c.execute("SET threads = 1; SET enable_progress_bar = false")
def watch():
    own = c.cursor()
    while not ended:
        for size, in own.execute("SELECT memory_usage_bytes FROM duckdb_memory() WHERE tag = 'HASH_TABLE'").fetchall():
            most[0] = max(most[0], size)
        time.sleep(0.02)
watching = threading.Thread(target=watch)
watching.start()
c.execute(f"COPY ({SQL}) TO 'duckdb.parquet' (FORMAT PARQUET)")
ended.append(True)
watching.join()
print(most[0])
"""
_HASH = "SELECT l.*, o.* EXCLUDE (no) FROM 'lines.parquet' AS l LEFT JOIN 'orders.parquet' AS o ON l.order_no = o.no"
PROGRAMS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("qbcd, advanced", _JOIN, {}),
    ("qbcd, copy", _COPY, {}),
    ("DuckDB", _DUCKDB, {"SQL": _HASH}),
    ("DuckDB, copy", _DUCKDB, {"SQL": "FROM 'out.parquet'"}),
)


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each program once a repeat; return the smallest figures."""
    _run(folder, _MAKE, {"ROWS": options.rows})
    least: dict[str, list[float]] = {}
    for _ in range(options.repeats):
        for name, code, values in PROGRAMS:
            found = _run(folder, code, values)
            least[name] = [min(pair) for pair in zip(found, least.get(name, found), strict=True)]
    table = Table(("program", "memory", "above its copy", "join alone", "processor"), "one thread each")
    for name, (memory, own, processor) in least.items():
        copy = least.get(f"{name.partition(',')[0]}, copy", least[name])[0]
        above = "" if "copy" in name else f"{memory - copy:.0f} MB"
        alone = f"{own / (1 << 20):.1f} MB" if own else ""
        table.rows.append((name, f"{memory:.0f} MB", above, alone, f"{processor:.2f} s"))
    return table


def _run(folder: Path, code: str, values: dict[str, object]) -> list[float]:
    """Run a program; return its largest memory in MB, the bytes that it prints, its processor seconds."""
    given = "".join(f"{name} = {value!r}\n" for name, value in values.items())
    path = os.pathsep.join([str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    with subprocess.Popen(
        [sys.executable, "-c", f"import json\n{given}{code}"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as process:
        assert process.stdout is not None
        shown = process.stdout.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"a program failed:\n{code}")
    return [used.ru_maxrss / 1024, json.loads(shown or "0"), used.ru_utime + used.ru_stime]
