"""Columns whose type gets wider in the source: streams go on, own tables and targets follow, other changes are refused.

See docs/how-to/schema-changes.md#types. Each row of its table is a case of `tests.support.widenings`.
"""

from __future__ import annotations

import sqlite3
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import duckdb
import pytest

from qbcd.api import parts_of
from qbcd.common import hooks
from qbcd.connectors import connector_for
from qbcd.errors import DeliveryError, SchemaChanged
from qbcd.sites.lake import compaction
from tests.faults.child import kill_at
from tests.support.batch_layers import always
from tests.support.places import Place, over
from tests.support.table_targets import new_target
from tests.support.widenings import (
    IN_SOURCE,
    OTHERS,
    STRATEGIES,
    WIDER,
    Widening,
    WideStream,
    WideTable,
    kind_of,
    wider_key,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATER = pytest.mark.campaign
NARROWEST = {  # the first case of each kind, as the server shows it
    "postgresql": "smallint to integer",
    "mariadb": "tinyint(4) to smallint(6)",
    "mysql": "tinyint to smallint",
}
FILES = {
    "duck": {"type": "database", "url": "duckdb:///d.duckdb", "table": "{stream}"},
    "lite": {"type": "database", "url": "sqlite:///l.db", "table": "{stream}"},
}


def engine(name: str) -> dict[str, Any]:
    """Return the engine of streams with a lake replica."""
    return {} if name in IN_SOURCE else {"engine": "local"}


def cases_of(place: Place) -> list[Widening]:
    """Return the cases that all targets of `FILES` take."""
    return [case for case in WIDER[kind_of(place)] if case.now != "bigint unsigned"]


@over("name", ["id_rcs", pytest.param("mds", marks=LATER)], elsewhere=[])
def test_streams_go_on(name: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, cases_of(place), wider_key(place))
    with WideStream(table, workspace, STRATEGIES[name], FILES, **engine(name)) as seen:
        table.touch("2", "c0", "7")
        assert [e["op"] for e in seen.poll()] == ["u"]
        table.widen()
        assert seen.poll() == []
        (said,) = seen.warnings
        assert said.startswith("wider types in the source: id from int")
        assert f", c0 from {NARROWEST[place.kind]}," in said
        (run, *_) = parts_of(seen.project).state.runs("s")
        assert run.message == said
        table.use()
        assert table.used(seen.poll())
        assert seen.verify() == []
        assert (seen.poll(), seen.warnings) == ([], [])
        table.touch("4294967300", "c1", "NULL")
        place.sql("DELETE FROM t WHERE id IN (2, 4294967300)")
        assert [e["op"] for e in seen.poll()] == ["d", "d"]
        seen.prepare_again()  # its targets are new ones
    with duckdb.connect(str(workspace / "d.duckdb")) as duck:
        assert duck.execute("DESCRIBE s").fetchall() == duck.execute("DESCRIBE again").fetchall()
        assert duck.execute("FROM s ORDER BY id").fetchall() == duck.execute("FROM again ORDER BY id").fetchall()
    lite = sqlite3.connect(workspace / "l.db")
    rows = (lite.execute(f"SELECT * FROM {name} ORDER BY id").fetchall() for name in ("s", "again"))
    assert next(rows) == next(rows)
    lite.close()


@over("name", [pytest.param(name, marks=LATER) for name in STRATEGIES if name not in ("mds", "id_rcs", "vbd")])
def test_streams_of_other_strategies_go_on(name: str, place: Place, workspace: Path) -> None:
    if name == "page" and place.kind != "postgresql":
        pytest.skip("only PostgreSQL reads rows by page")
    table = WideTable(place, WIDER[kind_of(place)], wider_key(place))
    with WideStream(table, workspace, STRATEGIES[name], **engine(name)) as seen:
        table.touch("2", "c0", "7")
        assert [e["op"] for e in seen.poll()] == ["u"]
        table.widen()
        assert seen.poll() == []
        table.use()
        assert table.used(seen.poll())
        assert seen.verify() == []
        assert (seen.poll(), seen.warnings) == ([], [])


@over("first, then", [pytest.param(a, b, marks=LATER) for a, b in (("spark", "local"), ("local", "spark"))])
def test_files_of_both_types_are_read_together(
    first: str, then: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    """Segments and layers from before have the narrower type; both engines read them with those of after."""
    table = WideTable(place, WIDER[kind_of(place)], wider_key(place))
    with pytest.MonkeyPatch.context() as patch, ExitStack() as opened:
        always(patch)
        seen = opened.enter_context(WideStream(table, workspace, STRATEGIES["id_rcs"], spark=spark, engine=first))
        table.touch("2", "c0", "7")
        assert [e["op"] for e in seen.poll()] == ["u"]
        table.widen()
        table.use()
        assert table.used(seen.poll())
        assert seen.verify() == []
        seen.project.close()
        seen.streams[0]["engine"] = then
        seen.reopen()
        assert seen.verify() == []
        table.touch("3", "c1", "NULL")
        (event,) = seen.poll()
        assert event["changed"] == ["c1"]
        patch.setattr(compaction, "COMPACT_SEGMENTS", -1)  # layers and segments become one
        table.touch("3", "c0", "NULL")
        (event,) = seen.poll()
        assert (event["changed"], seen.verify()) == (["c0"], [])


@over("kind", [""])
def test_other_types_are_refused(kind: str, place: Place) -> None:
    """No digest can show that a type was changed; the catalog alone decides."""
    catalog = connector_for(place.url).catalog
    then, now = ([one[i] for one in OTHERS[kind_of(place)]] for i in (0, 1))
    for name, types in (("old", then), ("new", now)):
        place.sql(f"CREATE TABLE {name} ({', '.join(f'c{i} {kind}' for i, kind in enumerate(types))})")
    from tests.support.pg_source import source_of

    source = source_of(place.url)
    with source.read("s") as session:
        old, new = (catalog.probe_table(session.connection, place.schema, name) for name in ("old", "new"))
        assert old is not None
        assert new is not None
        allowed = [
            (before.sql_type, after.sql_type)
            for before, after in zip(old.columns, new.columns, strict=True)
            if before.collation == after.collation and catalog.widened(before.sql_type, after) is not None
        ]
    source.close()
    assert allowed == []


@over("name", ["mds"], elsewhere=[])
def test_a_refusal_names_the_cheapest_way(name: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, [Widening("integer", "text", ("5", "6"), "'7'")])
    with WideStream(table, workspace, STRATEGIES[name]) as seen:
        table.widen()
        said = rf"'c0' of {place.schema}.t is text.* now and was int"
        with pytest.raises(SchemaChanged, match=said) as caught:
            seen.poll()
        assert "once it is captured again, qbcd resend s SINK delivers its values" in caught.value.remedy


@over("name", ["id_rcs", pytest.param("mds", marks=LATER)], elsewhere=[])
def test_batches_from_before_are_delivered_as_they_were(name: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, [wider_key(place)])
    files = {"lake": {"type": "parquet", "path": "out/lake"}, **FILES}
    with WideStream(table, workspace, STRATEGIES[name], files, **engine(name)) as seen:
        blocked = workspace / "out/lake/s"
        blocked.rename(workspace / "out/lake/moved")
        blocked.write_text("no folder")
        table.touch("2", "c0", "7")
        with pytest.raises(DeliveryError):
            seen.poll()
        table.widen()
        table.use()
        blocked.unlink()
        (workspace / "out/lake/moved").rename(blocked)
        seen.poll()
    folders = sorted((workspace / "out/lake/s").glob("epoch=*/batch_seq=*"), key=lambda f: int(f.name[10:]))
    query = "SELECT typeof(after.c0), list(after.c0 ORDER BY after.c0) FROM '{}/*.parquet' GROUP BY 1"
    with duckdb.connect() as duck:
        types = [duck.execute(query.format(folder)).fetchall() for folder in folders]
    assert types[1:] == [[("INTEGER", [7])], [("BIGINT", [4294967300, 4294967300])]]


@over("name", ["mds"], elsewhere=[])
def test_a_target_column_that_something_depends_on(
    name: str, place: Place, workspace: Path, request: pytest.FixtureRequest
) -> None:
    table = WideTable(place, [wider_key(place)])
    with new_target("postgresql", request, workspace) as target:
        mirror = {"copy": {"type": "database", "url": target.url, "table": "{stream}"}}
        with WideStream(table, workspace, STRATEGIES[name], mirror) as seen:
            target.sql("CREATE VIEW shown AS SELECT c0 FROM s")
            table.widen()
            table.use()
            ddl = 'ALTER TABLE "public"."s" ALTER COLUMN "c0" TYPE bigint'
            with pytest.raises(DeliveryError, match=r"table s must get too: c0 \(bigint\); .*view") as caught:
                seen.poll()
            assert ddl in caught.value.remedy
            target.sql(f"DROP VIEW shown; {ddl}; CREATE VIEW shown AS SELECT c0 FROM s")
            seen.poll()
            assert target.sql("SELECT max(c0) FROM shown") == [(4294967300,)]


@over("name", [pytest.param("mds", marks=LATER)])
def test_a_target_that_cannot_alter_a_column(name: str, place: Place, workspace: Path) -> None:
    """SQLite has texts for unsigned numbers of 64 bits, and no ALTER of a column."""
    cases = [case for case in WIDER[kind_of(place)] if case.now == "bigint unsigned"]
    if not cases:
        pytest.skip("no unsigned types")
    with WideStream(WideTable(place, cases), workspace, STRATEGIES[name], {"lite": FILES["lite"]}) as seen:
        seen.wide.widen()
        seen.wide.use()
        with pytest.raises(DeliveryError, match=r"must get too: c0 \(text\); this database cannot change") as caught:
            seen.poll()
        assert "drop the table, then qbcd resend s SINK fills a new one" in caught.value.remedy
        with sqlite3.connect(workspace / "l.db") as lite:
            lite.execute("DROP TABLE s")
        seen.project.stream("s").resend("lite")
        seen.poll()
        with sqlite3.connect(workspace / "l.db") as lite:
            assert ("18446744073709551615",) in lite.execute("SELECT c0 FROM s").fetchall()


@over("name", [pytest.param("mds", marks=LATER)], elsewhere=[])
def test_a_target_key_that_is_referenced(
    name: str, place: Place, workspace: Path, request: pytest.FixtureRequest
) -> None:
    table = WideTable(place, [], wider_key(place))
    with new_target("mariadb", request, workspace) as target:
        mirror = {"copy": {"type": "database", "url": target.url, "table": "{stream}"}}
        with WideStream(table, workspace, STRATEGIES[name], mirror) as seen:
            target.sql("CREATE TABLE note (id int, CONSTRAINT of_s FOREIGN KEY (id) REFERENCES s (id))")
            table.widen()
            table.use()
            with pytest.raises(DeliveryError, match=r"table s must get too: id \(bigint\); .*of_s") as caught:
                seen.poll()
            ddl = "ALTER TABLE `s` MODIFY COLUMN `id` bigint NOT NULL"
            assert ddl in caught.value.remedy
            target.sql("ALTER TABLE note DROP FOREIGN KEY of_s")
            target.sql(ddl)
            target.sql("ALTER TABLE note MODIFY id bigint, ADD FOREIGN KEY (id) REFERENCES s (id)")
            seen.poll()
            assert target.sql("SELECT max(id) FROM s") == [(4294967300,)]


@over("name", [pytest.param(name, marks=LATER) for name in ("mds", "id_rcs", "ts", "ts_lake")])
def test_other_columns_and_wider_types_at_once(name: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, cases_of(place), wider_key(place))
    with WideStream(table, workspace, STRATEGIES[name], FILES, **engine(name)) as seen:
        place.sql("ALTER TABLE t ADD n1 int")
        table.touch("2", "n1", "1")
        table.widen()
        seen.project.close()
        for stream in seen.streams:
            stream |= {"exclude": ["at", "c0"], "new_columns": "add"}
        seen.about |= {"exclude": ["at", "c0"]}
        seen.reopen()
        assert seen.poll() == []
        table.use()
        found = [e["op"] for e in seen.poll()]
        assert sorted(found) == ["c", *["u"] * (len(table.names) - 1)]  # c0 is not captured any more
        assert seen.verify() == []


@over("name", ["mds"])
def test_a_poll_that_stops_after_its_tables_were_altered(name: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, cases_of(place), wider_key(place))
    with WideStream(table, workspace, STRATEGIES[name], **engine(name)) as seen:
        table.widen()
        table.use()

        def stop() -> None:
            hooks.register("after_snapshot", None)
            raise KeyboardInterrupt

        hooks.register("after_snapshot", stop)
        with pytest.raises(KeyboardInterrupt):
            seen.poll()
        assert table.used(seen.poll())
        assert seen.verify() == []


@over("name", [pytest.param(name, marks=LATER) for name in ("mds", "id", "id_rcs", "tlcs_source", "tlcs_lake")])
@pytest.mark.parametrize("point", ["after_snapshot", "before_commit", "before_publish", "mid_publish"])
def test_a_poll_that_is_killed(name: str, point: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, cases_of(place), wider_key(place))
    with WideStream(table, workspace, STRATEGIES[name], FILES, **engine(name)) as seen:
        table.widen()
        table.use()
        seen.project.close()
        kill_at(point, seen.data, workspace, cast("Any", None), own_spark=True)
        seen.reopen()
        assert table.used(seen.poll())
        assert seen.verify() == []
        seen.prepare_again()
    with duckdb.connect(str(workspace / "d.duckdb")) as duck:
        assert duck.execute("FROM s ORDER BY id").fetchall() == duck.execute("FROM again ORDER BY id").fetchall()


@over("kind", [""], elsewhere=[])
def test_columns_of_queries_go_on(kind: str, place: Place, workspace: Path) -> None:
    table = WideTable(place, cases_of(place), wider_key(place))
    with WideStream(table, workspace, STRATEGIES["vbd"]) as seen:
        table.widen()
        assert seen.poll() == []
        table.use()
        assert table.used(seen.poll())
        assert seen.verify() == []


@over("name", ["id_rcs", pytest.param("mds", marks=LATER)], elsewhere=[])
def test_a_column_that_may_be_null_now(name: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v int NOT NULL, at int)")
    place.sql("INSERT INTO t VALUES (1, 5, 0), (2, 6, 0)")
    table = WideTable.of(place)
    with WideStream(table, workspace, STRATEGIES[name], FILES, **engine(name)) as seen:
        drop = "ALTER COLUMN v DROP NOT NULL" if place.kind == "postgresql" else "MODIFY v int NULL"
        place.sql(f"ALTER TABLE t {drop}")
        assert (seen.poll(), seen.warnings) == ([], [])
        place.sql("UPDATE t SET v = NULL WHERE id = 1")
        (event,) = seen.poll()
        assert (event["before"], event["after"]) == ({"id": 1, "v": 5}, {"id": 1, "v": None})
        assert seen.verify() == []
