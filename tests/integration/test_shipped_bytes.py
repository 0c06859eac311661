"""What a poll of ID/RCS brings over the wire and keeps in memory: of an unchanged table little, however large it is."""

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

RANGES, CHANGED = 60, 120
ROWS = {"small": 3_000, "large": 12_000}
TABLE = """
CREATE TABLE {name} AS SELECT i AS id, 'customer-' || i AS customer, i % 97 AS quantity, i / 7.0 AS weight,
  timestamptz '2024-01-01 00:00:00+00' + i * interval '1 s' AS placed_at, repeat(md5(i::text), 4) AS note
FROM generate_series(1, {rows}) AS i;
ALTER TABLE {name} ADD PRIMARY KEY (id); ANALYZE {name}
"""


def test_bytes_and_memory_do_not_grow_with_the_table(place: Place, workspace: Path, spark: SparkSession) -> None:
    with proxy_to(place) as proxy:
        behind = make_url(place.url).set(port=proxy.port).render_as_string()
        tables = [
            {"name": name, "table": place.table(name),
             "strategy": {"type": "id_rcs", "rows_per_range": rows // RANGES, "buckets": "key"}}
            for name, rows in ROWS.items()
        ]  # fmt: skip
        for name, rows in ROWS.items():
            place.sql(TABLE.format(name=name, rows=rows))

        def received(project: qbcd.Project, name: str, found: int) -> int:
            before = proxy.received
            (outcome,) = poll(project, name)
            assert outcome.report is not None
            assert (outcome.report.header.size if outcome.report.header else 0) == found
            return proxy.received - before

        with opened(config(behind, *tables), workspace, spark) as project:
            idle, peak = {}, {}
            for name in ROWS:
                project.stream(name).prepare()
                poll(project, name)  # what a first look alone asks
                idle[name] = received(project, name, 0)
                tracemalloc.start()
                poll(project, name)
                peak[name] = tracemalloc.get_traced_memory()[1]
                tracemalloc.stop()
            assert 1_000 < idle["small"] < 50_000
            assert idle["large"] < 1.1 * idle["small"]
            assert peak["large"] < 1.2 * peak["small"]

            newest = f"id > {ROWS['large'] - CHANGED}"
            ((own,),) = place.sql(f"SELECT sum(octet_length(t::text)) FROM large AS t WHERE {newest}")
            place.sql(f"UPDATE large SET quantity = quantity + 1 WHERE {newest}")
            assert own < received(project, "large", CHANGED) - idle["large"] < 3 * own
