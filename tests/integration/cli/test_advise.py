"""`qbcd advise` and `strategy: auto` on real servers: what is possible, what it costs, what stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from qbcd.advisor import Advice
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened

ROWS = 3000
# By database: a column's types, the server's own words.
TYPES: dict[str, dict[str, Any]] = {
    "postgresql": {
        "stamp": "timestamptz",
        "uuid": "uuid",
        "new": "gen_random_uuid()",
        "n": "generate_series(1, {}) AS n",
    },
    # open transactions are hidden there, and a comparison without a FULL JOIN reads both sides twice
    "mariadb": {
        "expected": {"schema": "id_rcs"},
        "needs": {"lag": "10m", "deleted_value": 1},
        "stamp": "timestamp(6)",
        "uuid": "uuid",
        "new": "uuid()",
        "n": "(SELECT seq AS n FROM seq_1_to_{}) AS s",
    },
}
# By profile: what the user writes, what is granted, indexes, and the strategy that is taken.
PROFILES: dict[str, tuple[dict[str, Any], tuple[str, ...], str, str]] = {
    "select": ({"table": "t"}, (), "", "id_rcs"),
    "schema": ({"table": "t"}, ("schema",), "", "mds"),
    "timestamp": ({"table": "t", "needs": {"timestamp": "at"}}, ("schema", "sessions"), "at", "ts"),
    "timestamp, SELECT only": ({"table": "t", "needs": {"timestamp": "at"}}, ("sessions",), "at", "id_rcs"),
    "flag": ({"table": "t", "needs": {"timestamp": "at", "delete_flag": "gone"}}, ("schema", "sessions"), "at", "tdi"),
    "covering": (
        {"table": "t", "needs": {"timestamp": "at", "delete_flag": "gone"}, "columns": ["note"]},
        ("schema", "sessions"),
        "at, gone, id, note",
        "atdi",
    ),
    "uuid": ({"table": "u"}, (), "", "id_rcs"),
    "no key": ({"table": "k", "key": "none"}, ("schema",), "", "id_rcs"),
    "query": ({"query": "SELECT t.id, t.note FROM t"}, ("schema",), "", "vbd"),
    "query, SELECT only": ({"query": "SELECT t.id, t.note FROM t"}, (), "", "vbd"),
}


def prepare(place: Place) -> None:
    """Create tables `t` (an integer key), `u` (a key in no order) and `k` (no key), with statistics."""
    words = TYPES[place.kind]
    flag = "boolean NOT NULL" if place.kind == "postgresql" else "tinyint NOT NULL"
    place.sql(f"CREATE TABLE t (id int PRIMARY KEY, note varchar(200), at {words['stamp']} NOT NULL, gone {flag})")
    place.sql(f"CREATE TABLE u (id {words['uuid']} PRIMARY KEY, note varchar(200))")
    place.sql("CREATE TABLE k (a int, note varchar(200))")
    series, text = words["n"].format(ROWS), "repeat('x', 150)"
    false = "FALSE" if place.kind == "postgresql" else "0"
    place.sql(f"INSERT INTO t SELECT n, {text}, now(), {false} FROM {series}")
    place.sql(f"INSERT INTO u SELECT {words['new']}, {text} FROM {series}")
    place.sql(f"INSERT INTO k SELECT n, {text} FROM {series}")
    for name in "tuk":
        place.sql(f"ANALYZE {name}" if place.kind == "postgresql" else f"ANALYZE TABLE {name}")


def role(place: Place, name: str, rights: tuple[str, ...]) -> str:
    """Return the URL of a new role that may SELECT, and that has further rights."""
    place.create_user(name)
    if place.kind == "postgresql":
        words = {"schema": f"GRANT CREATE ON DATABASE {place.name} TO {name}"}
        words["sessions"] = f"GRANT pg_read_all_stats TO {name}"
        place.sql(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {name}")
    else:
        words = {
            "schema": f"GRANT ALL ON {place.own_schema}.* TO {name}@'%'",
            "sessions": f"GRANT PROCESS ON *.* TO {name}@'%'",
        }
        place.sql(f"GRANT SELECT ON {place.name}.* TO {name}@'%'")
    for right in rights:
        place.sql(words[right])
    return place.url_as(name)


def stream(place: Place, profile: dict[str, Any]) -> dict[str, Any]:
    """Return the configuration of a profile's stream."""
    needs = dict(profile.get("needs", {}))
    known = {"lag": "timestamp", "deleted_value": "delete_flag"}
    needs |= {name: value for name, value in TYPES[place.kind].get("needs", {}).items() if known[name] in needs}
    written = {"name": "s", "strategy": {"type": "auto", **needs}, "key": profile.get("key", ["id"])}
    written |= {"columns": profile["columns"]} if "columns" in profile else {}
    if "query" in profile:
        return {**written, "query": profile["query"].replace("FROM t", f"FROM {place.table('t')}")}
    return {**written, "table": place.table(profile["table"])}


def advice_of(place: Place, name: str, folder: Path) -> Advice:
    """Return the advice for a profile in a database of `prepare`."""
    profile, rights, index, _ = PROFILES[name]
    user = f"r_{place.name}_{[*PROFILES].index(name)}"[:60]
    url = role(place, user, rights)
    if index:
        place.sql(f"CREATE INDEX ix ON t ({index})")
        place.sql("VACUUM ANALYZE t" if place.kind == "postgresql" else "ANALYZE TABLE t")
    written = config(url, stream(place, profile))
    written["sources"]["shop"] |= {key: value for key, value in place.source.items() if key != "url"}
    with opened(written, folder) as project:
        [found] = project.advise()
    if index:
        place.sql("DROP INDEX ix" if place.kind == "postgresql" else "DROP INDEX ix ON t")
    return found


def of(found: Advice, name: str) -> str:
    """Return why a strategy is not possible, with its remedy."""
    [one] = [scored.option for scored in found.scored if scored.option.name == name]
    return f"{one.why_not}; {one.remedy}"


@over("name", list(PROFILES), elsewhere=["select"])
def test_each_profile_has_its_strategy(database: str, workspace: Path, name: str) -> None:
    place = place_of(database)
    prepare(place)
    found = advice_of(place, name, workspace)
    assert found.choice.chosen is not None, [(s.option.name, s.option.why_not) for s in found.scored]
    expected = TYPES[place.kind].get("expected", {}).get(name, PROFILES[name][3])
    assert found.choice.chosen.option.name == expected, [(s.option.name, s.cost and s.cost.pages) for s in found.scored]
    if "schema" not in PROFILES[name][1] and "query" not in name and "key" not in name:
        assert "schema" in of(found, "mds")
        assert ("CREATE SCHEMA" if place.kind == "postgresql" else "GRANT SELECT, INSERT") in of(found, "mds")
