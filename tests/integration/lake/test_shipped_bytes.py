"""Bytes and memory of an ID/RCS poll of an unchanged table: a constant for each range.

A range of more rows costs no more. A larger table has more ranges, unless the user sets `rows_per_range`: with the
default of 2,000 rows, benchmarks/growth.py measured 584,354 bytes of Python's memory at its peak and 95,220 bytes
received for 1,000,000 rows, and 3,004,499 and 364,309 for 5,000,000.
"""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import TYPE_CHECKING

from sqlalchemy.engine import make_url

from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.proxy import proxy_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import qbcd

CHANGED = 120
SIZES = {"small": (3_000, 60), "large": (12_000, 60), "finer": (12_000, 600)}  # rows, and ranges
# Bytes per range. Bounds, counts and checksums are shorter here than those of millions of rows.
PEAK_OF_RANGE, SHIPPED_OF_RANGE = 1_400, 80
TABLE = """
CREATE TABLE {name} AS SELECT i AS id, 'customer-' || i AS customer, i % 97 AS quantity, i / 7.0 AS weight,
  timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s' AS placed_at, repeat(md5(i::text), 4) AS note
FROM generate_series(1, {rows}) AS i;
ALTER TABLE {name} ADD PRIMARY KEY (id); ANALYZE {name}
"""


def test_bytes_and_memory_grow_with_the_ranges_alone(place: Place, workspace: Path, spark: SparkSession) -> None:
    with proxy_to(place) as proxy:
        behind = make_url(place.url).set(port=proxy.port).render_as_string()
        tables = [
            {
                "name": name,
                "table": place.table(name),
                "strategy": {"type": "id_rcs", "rows_per_range": rows // ranges, "buckets": "key"},
            }
            for name, (rows, ranges) in SIZES.items()
        ]
        for name, (rows, _) in SIZES.items():
            place.sql(TABLE.format(name=name, rows=rows))

        def received(project: qbcd.Project, name: str, found: int) -> int:
            before = proxy.received
            (outcome,) = poll(project, name)
            assert outcome.report is not None
            assert (outcome.report.header.size if outcome.report.header else 0) == found
            assert outcome.report.cost.ranges == SIZES[name][1]
            return proxy.received - before

        with opened(config(behind, *tables), workspace, spark) as project:
            idle, peak = {}, {}
            for name in SIZES:
                project.stream(name).prepare()
                poll(project, name)  # requests of a first poll only
                idle[name] = received(project, name, 0)
                tracemalloc.start()
                poll(project, name)
                peak[name] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            assert 1_000 < idle["small"] < 50_000
            assert idle["large"] < 1.1 * idle["small"]
            assert peak["large"] < 1.2 * peak["small"]
            more = SIZES["finer"][1] - SIZES["large"][1]
            assert idle["finer"] - idle["large"] < SHIPPED_OF_RANGE * more
            assert peak["finer"] - peak["large"] < PEAK_OF_RANGE * more

            newest = f"id > {SIZES['large'][0] - CHANGED}"
            ((own,),) = place.sql(f"SELECT sum(octet_length(t::text)) FROM large AS t WHERE {newest}")
            place.sql(f"UPDATE large SET quantity = quantity + 1 WHERE {newest}")
            assert own < received(project, "large", CHANGED) - idle["large"] < 3 * own
