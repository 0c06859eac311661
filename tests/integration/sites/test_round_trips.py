"""The number of round trips of a poll of an unchanged table.

It determines the duration of a poll of a distant server: with 20 ms for each, fifty take one second.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy.engine import make_url

from tests.support.places import FIRST, Place, over
from tests.support.project import config, opened, poll
from tests.support.proxy import proxy_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STAMPS = {"postgresql": "timestamptz", "mariadb": "timestamp(6)", "mysql": "timestamp(6)"}
BY_TIME = {"timestamp": "seen", "margin": "1ms", "lag": "1s"}
STRATEGIES: dict[str, Any] = {"id_rcs": "id_rcs", "mds": "mds", "ts": {"type": "ts", **BY_TIME}, "id": "id"}
# By database and strategy. The log-in of a connection counts as two.
MOST: dict[str, dict[str, int]] = {
    "postgresql": {"id_rcs": 18, "mds": 36, "ts": 48, "id": 70, "delta": 80},
    "mariadb": {"id_rcs": 24, "mds": 47, "ts": 63, "id": 72},
}
QUERY = "SELECT t.id, t.a, d.a AS b, e.a AS c FROM {} AS t JOIN {} AS d ON d.id = t.a JOIN {} AS e ON e.id = t.a"


@over()
def test_an_unchanged_poll_has_few_round_trips(place: Place, workspace: Path, spark: SparkSession) -> None:
    names = ["t", "d", "e"]
    for name in names:
        stamp = f"seen {STAMPS[place.kind]} NOT NULL DEFAULT '2024-01-01 00:00:00'"
        place.sql(f"CREATE TABLE {name} (id bigint PRIMARY KEY, a int, {stamp})")
        place.sql(f"INSERT INTO {name} (id, a) VALUES (1, 1), (2, 1), (3, 2)")
    qualified = [place.table(name) for name in names]
    streams = [{"name": name, "table": qualified[0], "strategy": own} for name, own in STRATEGIES.items()]
    delta = {"type": "vbd", "variant": "delta", "timestamps": dict.fromkeys(qualified, "seen"), "lag": "2s"}
    streams.append({"name": "delta", "query": QUERY.format(*qualified), "key": ["id"], "strategy": delta})
    most = MOST[FIRST if place.kind == FIRST else "mariadb"]  # all servers of the family have the same limit
    with proxy_to(place) as proxy:
        behind = make_url(place.url).set(port=proxy.port).render_as_string()
        kept = [stream for stream in streams if stream["name"] in most]
        with opened(config(behind, *kept), workspace, spark) as project:
            round_trips = {}
            for name in most:
                project.stream(name).prepare()
                poll(project, name)  # requests of a first session only
                before = proxy.round_trips
                (outcome,) = poll(project, name)
                round_trips[name] = proxy.round_trips - before
                assert outcome.report is not None
                assert outcome.report.header is None
        assert [name for name, found in round_trips.items() if not most[name] / 2 < found <= most[name]] == [], list(
            round_trips.items()
        )
