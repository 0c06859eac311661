"""`qbcd advise` and `strategy: auto` on real servers: what is possible, what it costs, what stays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.advisor import Advice
from qbcd.errors import Refused
from tests.support.cli import Cli
from tests.support.oracle import events
from tests.support.places import Place, over, place_of
from tests.support.project import config, opened, poll

ROWS = 3000
# By database: a column's types, the server's own words.
TYPES: dict[str, dict[str, Any]] = {
    "postgresql": {"stamp": "timestamptz", "uuid": "uuid", "new": "gen_random_uuid()"},
    # open transactions are hidden there, and a comparison without a FULL JOIN reads both sides twice
    "mariadb": {
        "expected": {"schema": "id_rcs"},
        "needs": {"lag": "10m", "deleted_value": 1},
        "stamp": "timestamp(6)",
        "uuid": "uuid",
        "new": "uuid()",
    },
}
TYPES["mysql"] = {**TYPES["mariadb"], "uuid": "char(36)"}
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
KEPT = ("select",)  # the case of `make test`, on PostgreSQL


def prepare(place: Place) -> None:
    """Create tables `t` (an integer key), `u` (a key in no order) and `k` (no key), with statistics."""
    words = TYPES[place.kind]
    flag = "boolean NOT NULL" if place.kind == "postgresql" else "tinyint NOT NULL"
    place.sql(f"CREATE TABLE t (id int PRIMARY KEY, note varchar(200), at {words['stamp']} NOT NULL, gone {flag})")
    place.sql(f"CREATE TABLE u (id {words['uuid']} PRIMARY KEY, note varchar(200))")
    place.sql("CREATE TABLE k (a int, note varchar(200))")
    series, text = place.numbers(ROWS), "repeat('x', 150)"
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
    user = f"r_{place.name[-26:]}_{[*PROFILES].index(name)}"
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
    [one] = [scored.option for scored in found.scored if scored.option.label == name]
    return f"{one.why_not}; {one.remedy}"


@over(
    "name",
    [name if name in KEPT else pytest.param(name, marks=pytest.mark.campaign) for name in PROFILES],
    elsewhere=[],
)
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
        assert "schema" in of(found, "tlcs, replica lake")


# -- strategy: auto ----------------------------------------------------------------------------------------------------
def kept(folder: Path, place: Place, strategy: Any, **table: Any) -> qbcd.Project:
    """Return a project of table `t` under `strategy`."""
    return opened(config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, **table}), folder)


@over("", elsewhere=[])
def test_auto_stays_with_the_strategy_of_prepare(database: str, workspace: Path) -> None:
    place = place_of(database)
    prepare(place)
    first = {"type": "auto", "write_source": False}
    with kept(workspace, place, first) as project:
        assert project.stream("s").strategy == "id_rcs"
        project.stream("s").prepare()
    place.sql("UPDATE t SET note = 'changed' WHERE id = 7")
    with kept(workspace, place, "auto") as project:  # mds would be allowed, and cost less on PostgreSQL
        assert project.stream("s").strategy == "id_rcs"
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 1}
        [status] = project.status()
        assert (status.strategy, status.chosen, status.state) == ("id_rcs", True, "ok")
        [found] = project.advise()
        assert found.prepared
        assert found.current is not None
        assert found.current.option.name == "id_rcs"
    with kept(workspace, place, "id_rcs") as project:  # written out, it is the same stream
        assert poll(project)[0].report is not None


@pytest.mark.campaign
def test_needs_that_exclude_the_prepared_strategy_are_refused(database: str, workspace: Path) -> None:
    place = place_of(database)
    prepare(place)
    with kept(workspace, place, {"type": "auto", "need": {"old_values": False}}, columns=["note"]) as project:
        assert project.stream("s").strategy == "tlcs"
        project.stream("s").prepare()
    with kept(workspace, place, "auto", columns=["note"]) as project:
        with pytest.raises(Refused, match="does not fit `strategy: auto` now: has no old values") as refused:
            poll(project)
        assert "qbcd reset s and prepare it" in refused.value.remedy
        assert [one.level for one in project.check("s") if one.level == "error"] == ["error"]
        assert project.status()[0].strategy == "tlcs"
        project.stream("s").reset()
        project.stream("s").prepare()
        assert project.stream("s").strategy == "mds"
        place.sql("UPDATE t SET note = 'changed' WHERE id = 7")
        poll(project)
    [event] = events(workspace / "out/changes", "s")
    assert (event["op"], event["before"]["note"][:1], event["after"]["note"]) == ("u", "x", "changed")
    with kept(workspace, place, {"type": "tlcs", "replica": "lake"}, columns=["note"]) as project:
        [found] = project.advise()
        assert found.current is not None
        assert found.current.option.label == "tlcs, replica lake"
        assert found.current.option.possible


@pytest.mark.campaign
def test_no_possible_strategy_is_refused_and_creates_nothing(database: str, workspace: Path) -> None:
    place = place_of(database)
    prepare(place)
    needs = {"type": "auto", "need": {"batch": "snapshot"}, "write_source": False}
    with kept(workspace, place, needs, key="none", where="id > 5") as project:
        assert project.stream("s").strategy == "id_rcs", "ranges of one exported snapshot"
    place.sql(
        "ALTER TABLE t ENABLE ROW LEVEL SECURITY; CREATE ROLE auto_reader LOGIN; GRANT SELECT ON t TO auto_reader"
    )
    url = place.url_as("auto_reader")
    with opened(config(url, {"name": "s", "table": "public.t", "strategy": "auto"}), workspace) as project:
        with pytest.raises(Refused, match="strategy auto finds no strategy") as refused:
            project.stream("s").prepare()
        assert "row-level security" in str(refused.value)
        assert "qbcd advise s" in refused.value.remedy
        assert project.advise()[0].choice.chosen is None
        assert not project.status()[0].prepared
    assert place.sql("SELECT count(*) FROM pg_namespace WHERE nspname = 'qbcd'") == [(0,)]
    place.sql("DROP OWNED BY auto_reader; DROP ROLE auto_reader")


# -- what is printed ---------------------------------------------------------------------------------------------------
PERSONNEL = """
CREATE TABLE personnel (id int PRIMARY KEY, dept int NOT NULL, salary int, note text) WITH (fillfactor = 27);
ALTER TABLE personnel ALTER note SET STORAGE PLAIN;
INSERT INTO personnel SELECT i, (i - 1) / 100, i, repeat('x', 165) FROM generate_series(1, 10000) AS i
"""
CONFIG = """\
version: 1
sources:
  shop: {{url: "{url}"}}
sinks:
  changes: {{type: jsonl, path: out}}
defaults: {{source: shop, sinks: [changes]}}
tables:
  - {{table: public.personnel, name: pay, columns: [salary], where: dept = 7, strategy: mds}}
  - {{table: public.personnel, strategy: auto}}
"""


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path, database: str) -> Cli:
    monkeypatch.chdir(workspace)
    place_of(database).sql(PERSONNEL)
    place_of(database).sql("VACUUM ANALYZE personnel")
    (workspace / "qbcd.yaml").write_text(CONFIG.format(url=database))
    return Cli(capsys)


def pages(cli: Cli) -> float:
    """Return the predicted pages of a poll of `pay`."""
    low, high = cli("explain", "pay", "--json").data["prediction"]["pages"]
    assert high - low < 2
    return float(high)


def test_the_paper_s_personnel(cli: Cli, database: str) -> None:
    """Without an index 1,001 pages, with one 32 (3.1): qbcd reads both sides once, and tables of its own."""
    assert pages(cli) == pytest.approx(1001, rel=0.02)
    place_of(database).sql("CREATE INDEX ON personnel (dept); ANALYZE personnel")
    assert pages(cli) == pytest.approx(32, rel=0.3)
    shown = cli("explain", "pay").out.splitlines()
    estimate = [line for line in shown if line.startswith("-- ")][-8:]
    assert all(len(line) <= 80 for line in estimate[:-1]), estimate
    assert "-- R*N + M + own: N 1,000, R 1 %, R*N 12, M 1, own 15" in shown
    assert "-- no poll yet to compare with" in shown
    assert cli("prepare", "pay").code == cli("run", "pay", "--once").code == 0
    actual = [line for line in cli("explain", "pay").out.splitlines() if "the last 1 poll: read 10,1" in line]
    assert actual, "actuals are next to the estimate"
    cost = cli("status", "pay", "--json").data["streams"][0]["last_poll"]["cost"]
    assert 10 < cost["statements"] < cost["round_trips"] < 60
    place_of(database).sql(
        "INSERT INTO personnel SELECT i, 8, i, repeat('x', 165) FROM generate_series(10001, 40000) AS i"
    )
    stale = cli("explain", "pay").out
    assert "the statistics are stale: run ANALYZE for a better estimate" in stale
    assert re.search(r"reads [\d,]+ to [\d,]+ pages", stale), stale


def test_advice_fits_80_columns_and_says_why(cli: Cli, database: str, workspace: Path) -> None:
    ran = cli("advise", "personnel")
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 80
    for said in (
        "* mds       yes   yes  yes         1.3k",
        "* auto takes mds: tlcs, replica lake reads more than half as much",
        "tlcs      no    yes  no ",
        "   source   yes   yes  yes",
        "   lake     yes   yes  yes",
        "   keys     no    yes  no",
        "no probe can prove that every writer",
        "wal_level is replica",
        "What the others miss:",
    ):
        assert said in ran.out
    [data] = cli("advise", "--source", "shop", "--table", "public.personnel", "--json").data["advice"]
    assert (data["choice"], data["stream"], data["facts"]["pages"]) == ("mds", "personnel_2", [1000, 1000])
    assert {one["strategy"]: one["possible"] for one in data["strategies"]}["ts"] is False
    assert not (workspace / ".qbcd").exists(), "advice creates nothing"
    assert cli("advise", "--source", "shop", "--table", "public.personel").code == 0
    drawn = cli("advise", "--plot", "costs.png", "pay")
    assert "is no SVG file" in drawn.err


FROZEN = "CREATE TABLE t (id int AUTO_INCREMENT PRIMARY KEY, note varchar(200)) STATS_AUTO_RECALC=0 STATS_PERSISTENT=1"


def test_streams_of_files_have_no_choice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.chdir(workspace)
    (workspace / "in-1.csv").write_text("id,v\n1,a\n")
    (workspace / "qbcd.yaml").write_text(
        "version: 1\nsources: {drop: {files: in-*.csv, quiet: 0s}}\nsinks: {changes: {type: jsonl, path: out}}\n"
        "tables: [{name: crm, source: drop, key: [id], strategy: dump, sinks: [changes]}]\n"
    )
    cli = Cli(capsys)
    ran = cli("advise")
    assert ran.code == 0
    assert ran.out.startswith("crm: a stream of files has no choice of strategy.")
    assert "fits:" not in ran.out, "the legend of a table that is not there"
    assert cli("advise", "--json").data == {"advice": []}
    refused = cli("advise", "crm")
    assert (refused.code, "there is one strategy for files, dump" in refused.err) == (2, True)
    assert "qbcd explain crm shows what its polls do" in refused.err
    explained = cli("explain", "crm")
    assert explained.code == 0
    assert "SELECT * FROM replica FULL JOIN dump USING (id);" in explained.out


@over("", elsewhere=[])
@pytest.mark.campaign
def test_a_table_that_was_never_analyzed_has_no_confident_number(database: str, workspace: Path) -> None:
    """On MariaDB InnoDB counts by itself; there the statistics of a table that was filled behind them are a range."""
    place = place_of(database)
    if place.kind == "postgresql":
        place.sql("CREATE TABLE t (id int PRIMARY KEY, note varchar(200)) WITH (autovacuum_enabled = false)")
    else:
        place.sql(FROZEN)
        place.sql(f"INSERT INTO t SELECT n, 'x' FROM {place.numbers(10)}; ANALYZE TABLE t")
    place.sql(f"INSERT INTO t SELECT n, repeat('x', 150) FROM {place.numbers(ROWS + 10, 11)}")
    with kept(workspace, place, "auto") as project:
        [found] = project.advise()
    assert found.facts is not None
    assert found.facts.doubt
    assert not found.facts.rows.certain
    mds = next(one for one in found.scored if one.option.name == "mds")
    assert mds.cost is not None
    assert not mds.cost.pages.certain, mds.cost.pages


@over("", elsewhere=[])
@pytest.mark.campaign
def test_a_grown_table_has_a_range(database: str, workspace: Path) -> None:
    """A hundred times as many rows as when it was analyzed."""
    place = place_of(database)
    if place.kind == "postgresql":
        place.sql("CREATE TABLE t (id int PRIMARY KEY, note varchar(200)) WITH (autovacuum_enabled = false)")
    else:
        place.sql(FROZEN)
    place.sql(f"INSERT INTO t SELECT n, repeat('x', 150) FROM {place.numbers(100)}")
    place.sql("ANALYZE t" if place.kind == "postgresql" else "ANALYZE TABLE t")
    place.sql(f"INSERT INTO t SELECT n, repeat('x', 150) FROM {place.numbers(10_000, 101)}")
    with kept(workspace, place, "auto") as project:
        [found] = project.advise()
    assert found.facts is not None
    assert found.facts.rows.low <= 10_000 <= found.facts.rows.high * 1.5, "by the rows of the few pages of then"
    assert not found.facts.rows.certain


@pytest.mark.campaign
def test_watched_writes_move_the_choice(database: str, workspace: Path) -> None:
    place = place_of(database)
    place.sql(PERSONNEL)
    place.sql("VACUUM ANALYZE personnel")

    def advised(write: str) -> Advice:
        def wait(_seconds: float) -> None:
            place.sql(write)

        stream = {"name": "s", "table": "public.personnel", "strategy": "auto", "every": "1h"}
        with opened(config(place.url, stream), workspace) as project:
            [found] = project.advise(watch=1, wait=wait)
        return found

    still, busy = advised("SELECT 1"), advised("UPDATE personnel SET salary = salary + 1")
    assert still.facts is not None
    assert busy.facts is not None
    assert (still.facts.change.origin, still.facts.change.per_hour.high) == ("watch", 0)
    assert busy.facts.change.per_hour.high > 10_000
    assert still.choice.chosen is not None
    assert busy.choice.chosen is not None
    assert (still.choice.chosen.option.name, busy.choice.chosen.option.name) == ("id_rcs", "mds")
