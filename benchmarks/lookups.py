"""Lookups of keys in a large relation: mesh, lists of keys and `auto`, next to single look-ups over JDBC.

The relation has `--rows` rows of about 100 bytes, its surrogate key as primary key, and a unique index over the natural
key, which is in random order. `memory` is 1 % of its table. A tenth of the keys is unknown. Rows are measured without
(`near`) and with a proxy on this machine that delays each answer of the server by `--delay` milliseconds
(`delayed`), and then without the index (`unindexed`); `--without near,unindexed` leaves parts out. Single look-ups are
a prepared statement in a Java process, without its start; of `SINGLE` keys at most, or of `SINGLE_SECONDS`: the figure
of more keys is multiplied.
"""

from __future__ import annotations

import random
import statistics
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.engine import make_url

from benchmarks.many_tables import behind
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.catalog.source import Source
from qbcd.config.lookups import LookupConfig
from qbcd.connectors import connector_for
from qbcd.local.database import LocalDatabase
from qbcd.lookups import resolve_relation
from qbcd.lookups.notes import Notes
from qbcd.lookups.search import Search, SearchReport
from qbcd.model import Travel
from qbcd.spark.drivers import find_driver, user_cache
from qbcd.spark.java import Surroundings

DATABASES = ("postgresql",)
OPTIONS = ("delay", "without")
KEYS = (100, 1_000, 10_000, 100_000)
SINGLE = 20_000  # keys of single look-ups without a delay
FEW = 1_000  # keys of lists without an index
SINGLE_SECONDS = 20  # of them with a delay
FORMS = {"no": Travel("int64")}
TABLE = """
CREATE TABLE dim (sk bigint PRIMARY KEY, no bigint NOT NULL, name text NOT NULL);
INSERT INTO dim SELECT i, (i * 7919::bigint) % 1000000007, rpad('name ' || i, 60, 'x')
  FROM generate_series(1, {rows}) AS i;
CREATE UNIQUE INDEX dim_no ON dim (no);
VACUUM ANALYZE dim
"""
JAVA = """
import java.nio.file.*;
import java.sql.*;
public class Single {
    public static void main(String[] args) throws Exception {
        Connection c = DriverManager.getConnection(args[0]);
        PreparedStatement s = c.prepareStatement("SELECT sk FROM dim WHERE no = ?");
        long found = 0, begin = 0;
        java.util.List<String> keys = Files.readAllLines(Path.of(args[1]));
        for (int round = 0; round < 2; round++) {  // the first one warms up with a few keys
            begin = System.nanoTime();
            for (String key : round == 0 ? keys.subList(0, Math.min(20, keys.size())) : keys) {
                s.setLong(1, Long.parseLong(key));
                try (ResultSet r = s.executeQuery()) { while (r.next()) found += r.getLong(1) > 0 ? 1 : 0; }
            }
        }
        System.out.println((System.nanoTime() - begin) / 1e9);
    }
}
"""


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each method for each number of keys, in turns."""
    for statement in TABLE.strip().format(rows=options.rows).split(";\n"):
        place.run(statement)
    with place.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SELECT pg_table_size('dim')")
        memory = int(cursor.fetchone()[0]) // 100
    first = ("keys", "delay", "single, JDBC", "index", "mesh", "single / mesh")
    heading = (*first, "auto, by", "auto / better", "model / mesh")
    table = Table(heading, f"{place.version()}, memory {memory:,} bytes")
    without = options.without.split(",")
    delays = [0] * ("near" not in without) + [options.delay] * ("delayed" not in without and options.delay > 0)
    for delay in delays:
        with behind(place.url, delay) as url:
            lookups = _Lookups(url, folder / str(delay), memory, delay, options)
            table.rows += [lookups.row(count) for count in KEYS]
    if "unindexed" not in without:
        place.run("DROP INDEX dim_no")
        lookups = _Lookups(place.url, folder / "without", memory, 0, options)
        table.rows += [lookups.row(count, indexed=False) for count in KEYS[1:]]
    return table


class _Lookups:
    def __init__(self, url: str, folder: Path, memory: int, delay: int, options: Options) -> None:
        folder.mkdir()
        self._url, self._folder, self._memory, self._options = url, folder, memory, options
        self._delay = delay
        parsed = make_url(url)
        self._source = Source("dwh", parsed, connector_for(parsed), "qbcd")
        driver = self._source.connector.driver
        self._jar = find_driver(driver, configured=None, cache=user_cache(), around=Surroundings(), place="").jar
        self._drawn = random.Random(11)
        (folder / "Single.java").write_text(JAVA, encoding="utf-8")
        subprocess.run(["javac", "-d", str(folder), str(folder / "Single.java")], check=True)
        self._search("mesh", self._keys(1000))  # bounds of key ranges, and first times
        self._search("index", self._keys(1000))

    def row(self, count: int, *, indexed: bool = True) -> tuple[str, ...]:
        """Return the figures of so many keys; without an index only lists of few keys are measured."""
        keys = self._keys(count)
        times: dict[str, list[float]] = {"mesh": [], "auto": []}
        if indexed or count <= FEW:
            times["index"] = []
        used, ratios = "", []
        for _ in range(self._options.repeats):
            for method, measured in times.items():
                took, report, predicted = self._search(method, keys)
                measured.append(took)
                if method == "auto":
                    used = report.method
                if method == "mesh":
                    ratios.append(predicted / took)
        found = {method: statistics.median(some) for method, some in times.items()}
        single = self._single(keys) if indexed else None
        mesh, auto = found["mesh"], found["auto"]
        better = min(mesh, found.get("index", mesh))
        return (
            f"{count:,}{'' if indexed else ', no index'}",
            f"{self._delay} ms",
            f"{single:.2f} s" if single else "",
            f"{found['index']:.3f} s" if "index" in found else "",
            f"{mesh:.3f} s",
            f"{single / mesh:.1f}" if single else "",
            f"{auto:.3f} s, {used}",
            f"{auto / better:.2f}",
            f"{statistics.median(ratios):.2f}",
        )

    def _keys(self, count: int) -> list[int]:
        rows = self._options.rows
        known = [self._drawn.randint(1, rows) * 7919 % 1_000_000_007 for _ in range(count - count // 10)]
        return known + [-self._drawn.randint(1, 10**9) for _ in range(count // 10)]

    def _search(self, method: str, keys: Sequence[int]) -> tuple[float, SearchReport, float]:
        config = LookupConfig.model_validate(
            {"source": "dwh", "table": "public.dim", "on": {"no": "no"}, "take": ["sk"], "method": method}
            | {"memory": self._memory}
        )
        relation = resolve_relation("dim", config, self._source, "", "benchmark")
        database = LocalDatabase(512 << 20, self._folder / "spill")
        try:
            notes = Notes.read(self._folder / "notes.json")
            search = Search(relation, relation.forms(FORMS), notes, database, "benchmark")
            listed = ", ".join(map(str, dict.fromkeys(keys)))
            database.connection.execute(
                f"INSERT INTO {search.keys} SELECT row_number() OVER () - 1, k FROM (SELECT unnest([{listed}]) AS k)"
            )
            predicted, began = search.scan_seconds(len(keys)), time.perf_counter()
            report = search.run()
            return time.perf_counter() - began, report, predicted
        finally:
            database.close()

    def _single(self, keys: Sequence[int]) -> float:
        most = int(SINGLE_SECONDS * 1000 / self._delay) if self._delay else SINGLE
        some = keys[:most] if len(keys) > most else keys
        (self._folder / "keys").write_text("\n".join(map(str, some)), encoding="utf-8")
        url = make_url(self._url)
        jdbc = f"jdbc:postgresql://{url.host}:{url.port}/{url.database}?user={url.username}"
        command = ["java", "-cp", f"{self._jar}:{self._folder}", "Single", jdbc, str(self._folder / "keys")]
        found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=3600)
        return float(found.stdout) * len(keys) / len(some)
