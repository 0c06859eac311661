"""The number of round trips of a poll of an unchanged table.

It determines the duration of a poll of a distant server: with 20 ms for each, fifty take one second. The limit is what
the strategy itself says (`statements`), which `qbcd advise` shows. The log-in of a connection counts as two.
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
OTHERS: dict[str, Any] = {  # of a single poll alone
    "ts_lake": {"type": "ts", **BY_TIME, "replica": "lake"},
    "tlcs": "tlcs",
    "tlcs_lake": {"type": "tlcs", "replica": "lake"},
    "tlcs_remote": {"type": "tlcs", "checksums": "remote"},
}
QUERY = "SELECT t.id, t.a, d.a AS b, e.a AS c FROM {} AS t JOIN {} AS d ON d.id = t.a JOIN {} AS e ON e.id = t.a"

# The same of a poll in a round of several tables, for five polls, which share the question about their tables.
IN_ROUNDS: dict[str, dict[str, int]] = {
    "postgresql": {"id_rcs": 36, "mds": 45, "ts": 56},
    "mariadb": {"id_rcs": 25, "mds": 46, "ts": 56},
}


@over()
def test_an_unchanged_poll_of_many_has_fewer_round_trips(place: Place, workspace: Path) -> None:
    names, most = [f"t{number}" for number in range(5)], IN_ROUNDS[FIRST if place.kind == FIRST else "mariadb"]
    for name in names:
        stamp = f"seen {STAMPS[place.kind]} NOT NULL DEFAULT '2024-01-01 00:00:00'"
        place.sql(f"CREATE TABLE {name} (id bigint PRIMARY KEY, a int, {stamp})")
        place.sql(f"INSERT INTO {name} (id, a) VALUES (1, 1), (2, 2)")
    with proxy_to(place) as proxy:
        behind = make_url(place.url).set(port=proxy.port).render_as_string()
        streams = [
            {"name": f"{name}_{kind}", "table": place.table(name), "strategy": STRATEGIES[kind]}
            for kind in most
            for name in names
        ]
        with opened(config(behind, *streams), workspace, None) as project:
            assert [one.error for one in project.prepare() if one.error] == []
            found = {}
            for kind in most:
                of_kind = [f"{name}_{kind}" for name in names]
                assert project.run(of_kind, once=True).exit_code == 0  # requests of first sessions only
                before = proxy.round_trips
                report = project.run(of_kind, once=True)
                found[kind] = proxy.round_trips - before  # of five polls
                assert [one.report.header for one in report.outcomes if one.report] == [None] * len(names)
        assert [kind for kind, count in found.items() if not most[kind] / 2 < count <= most[kind]] == [], found


@over()
def test_an_unchanged_poll_has_few_round_trips(place: Place, workspace: Path, spark: SparkSession) -> None:
    names = ["t", "d", "e"]
    for name in names:
        stamp = f"seen {STAMPS[place.kind]} NOT NULL DEFAULT '2024-01-01 00:00:00'"
        place.sql(f"CREATE TABLE {name} (id bigint PRIMARY KEY, a int, {stamp})")
        place.sql(f"INSERT INTO {name} (id, a) VALUES (1, 1), (2, 1), (3, 2)")
    qualified = [place.table(name) for name in names]
    streams = [{"name": name, "table": qualified[0], "strategy": own} for name, own in (STRATEGIES | OTHERS).items()]
    delta = {"type": "vbd", "variant": "delta", "timestamps": dict.fromkeys(qualified, "seen"), "lag": "2s"}
    variants = {"delta": delta, **{name: {"type": "vbd", "variant": name} for name in ("compare", "checksum")}}
    if place.kind == "mysql":
        del variants["delta"]  # it shows a transaction that writes another state at each statement
    query = {"query": QUERY.format(*qualified), "key": ["id"]}
    streams += [{"name": name, "strategy": own, **query} for name, own in variants.items()]
    with proxy_to(place) as proxy:
        behind = make_url(place.url).set(port=proxy.port).render_as_string()
        with opened(config(behind, *streams), workspace, spark) as project:
            wrong = {}
            for name in [str(stream["name"]) for stream in streams]:
                project.stream(name).prepare()
                poll(project, name)  # requests of a first session only
                before = proxy.round_trips
                (outcome,) = poll(project, name)
                counted = proxy.round_trips - before
                assert outcome.report is not None
                assert outcome.report.header is None
                predicted = project.stream(name).predict()
                assert predicted is not None
                most = predicted[0].statements
                if not most / 2 < counted <= most:
                    wrong[name] = (counted, most)
            assert wrong == {}, "found, and what its strategy says"
