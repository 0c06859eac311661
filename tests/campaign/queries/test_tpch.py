"""TPC-H's queries as captured results, under refreshes of all its tables.

Exact after each poll.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import Refused
from tests.support import tpch
from tests.support.places import FIRST, NO_DELTA, Place, over
from tests.support.project import config, opened
from tests.support.query_streams import detect, replica_differs

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# By recomputation only: the count of orders is the key.
NOT_DELTA = {13: "computes its key column c_count from more than one row"}


@pytest.mark.campaign
@over("scale", ["0.01", "0.1"])
def test_tpch(place: Place, workspace: Path, tmp_path: Path, spark: SparkSession, scale: str) -> None:
    program = tpch.generator()
    if program is None:
        pytest.skip("tpchgen-cli is not installed (pip install tpchgen-cli)")
    tpch.load(place, tmp_path, program, scale)
    lag = {} if place.kind == FIRST else {"lag": "2ms", "margin": "1ms"}  # open transactions are not all visible there
    queries = {
        f"q{n}": (tpch.query_of(place, query), {"key": key} if key else {}) for n, (query, key) in tpch.QUERIES.items()
    }
    tables: list[dict[str, Any]] = []
    for name, (query, key) in queries.items():
        read = {place.table(t): tpch.STAMP for t in tpch.TABLES if place.table(t) in query}
        delta = {"variant": "delta", "timestamps": read, "deletes": {"every": "1ms"}, **lag}
        others: list[dict[str, Any]] = [{"variant": "compare"}, *([] if key else [{"variant": "checksum"}])]
        for variant in others if place.kind in NO_DELTA else (delta, *others):
            strategy = {"type": "vbd", **variant}
            tables.append({"name": f"{name}.{variant['variant']}", "query": query, **key, "strategy": strategy})
    limited = {n: f"{queries[f'q{n}'][0]} ORDER BY {order} LIMIT 20" for n, order in tpch.LIMITED.items()}
    for n, query in limited.items():
        strategy = {"type": "vbd", "variant": "compare"}
        tables.append({"name": f"q{n}.limited", "query": query, "key": tpch.QUERIES[n][1], "strategy": strategy})
    found: Counter[str] = Counter()
    with opened(config(place.url, *({**t, "baseline": "silent"} for t in tables)), workspace, spark) as project:
        for table in list(tables):
            name = str(table["name"])
            try:
                project.stream(name).prepare()
            except Refused as refused:
                assert NOT_DELTA.get(int(name[1:].split(".")[0]), "no reason") in refused.what, name
                assert name.endswith(".delta")
                tables.remove(table)
        rng = Random(1)
        for _ in range(3):
            tpch.refresh(rng, place)
            counts = {}
            for table in tables:
                name = str(table["name"])
                counts[name] = Counter(
                    {o: n for d in detect(project, name) if d.header for o, n in d.header.counts.items()}
                )
                if name.endswith(".checksum"):
                    assert not project.stream(name).verify(), name
                else:
                    assert not (difference := replica_differs(place, name, str(table["query"]))), (
                        f"{name}: {difference[:1000]}"
                    )
                found[name] += sum(counts[name].values())
            for name in queries:
                for other in ("delta", "checksum"):
                    same = counts.get(f"{name}.{other}", counts[f"{name}.compare"])
                    assert same == counts[f"{name}.compare"], f"{name}.{other}"
            assert counts["q6.compare"] == {"u": 1}
    if place.kind not in NO_DELTA:
        assert {f"{name}.delta" for name in queries} - set(+found) == {"q13.delta"}, found
