"""Projects with sinks `delta` and `iceberg` in every mode, as a user writes them: polls, other readers, mistakes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import DeliveryError, QbcdError
from qbcd.sinks.lake.delta import DeltaFormat
from tests.support import sql
from tests.support.cli import Cli
from tests.support.lake_batches import Lake, lake_of
from tests.support.places import Place, over
from tests.support.project import opened, poll

pytestmark = pytest.mark.campaign
MODES = {
    "mirror": "partition_by: [kind]",
    "soft": "deletes: soft",
    "history": "mode: scd2, columns_like: dbt",
    "log": "mode: log, partition_by: qbcd_epoch",
    "envelopes": "mode: log, envelope: debezium",
    "feed": "mode: log, envelope: changes",
}
ICE = "catalog: {{type: sql, uri: 'sqlite:///{0}/catalog.db', warehouse: 'file://{0}'}}"
CREATE = "CREATE TABLE orders (id int PRIMARY KEY, kind varchar(9), amount decimal(12,2), note varchar(40))"


def configured(place: Place, folder: Path) -> dict[str, Any]:
    """Return a configuration with a sink per format and mode."""
    import yaml

    lines = []
    for mode, options in MODES.items():
        lines.append(f"  d_{mode}: {{type: delta, path: lake/{mode}, table: '{mode}', {options}}}")
        if mode != "soft":
            lines.append(f"  i_{mode}: {{type: iceberg, {ICE.format(folder)}, table: '{mode}', {options}}}")
    text = "version: 1\nsinks:\n" + "\n".join(lines)
    data: dict[str, Any] = yaml.safe_load(text)
    strategy = {"type": "id_rcs", "rows_per_range": 20}
    table = {"source": "shop", "table": place.table("orders"), "name": "orders", "strategy": strategy}
    data |= {"sources": {"shop": place.source}, "tables": [{**table, "sinks": list(data["sinks"])}]}
    data["defaults"] = {"guards": {"max_delete_fraction": 1.0, "allow_empty": True}}
    return data


def change(place: Place, chance: random.Random) -> None:
    """Insert, update, delete and exchange keys."""
    for _ in range(chance.randint(1, 5)):
        key, other = chance.randrange(60), chance.randrange(60)
        kind = chance.choice(["'a'", "'b'", "NULL"])
        place.sql(
            chance.choice(
                [
                    f"UPDATE orders SET amount = {chance.randrange(10**6)} / 100.0 WHERE id = {key}",
                    f"UPDATE orders SET kind = {kind}, note = 'it''s {other}' WHERE id % 7 = {key % 7}",
                    f"DELETE FROM orders WHERE id = {key}",
                    f"UPDATE orders SET id = {other + 1000} WHERE id = {key} AND {key} < 40",
                ]
            )
        )
        if not place.sql(f"SELECT id FROM orders WHERE id = {other}"):
            place.sql(f"INSERT INTO orders VALUES ({other}, {kind}, {key}.5, NULL)")


def rows(place: Place) -> list[tuple[Any, ...]]:
    return sorted(tuple(row) for row in place.sql("SELECT id, kind, amount, note FROM orders"))


def plain(found: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[name] for name in ("id", "kind", "amount", "note")) for row in found)


def of(kind: str, folder: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows by DuckDB, unless folders have a column: then by the format's library."""
    lake: Lake = lake_of("delta", folder / "lake" / name) if kind == "delta" else lake_of(kind, folder)
    return lake.rows(name) if name in ("mirror", "log") else lake.rows_by_duckdb(name)


@over()
def test_polls_bring_every_change_into_every_mode(place: Place, workspace: Path) -> None:
    place.sql(CREATE)
    for n in range(50):
        place.sql(f"INSERT INTO orders VALUES ({n}, 'a', {n}.25, 'first')")
    data, chance, seen = configured(place, workspace), random.Random(7), []
    with opened(data, workspace) as project:
        project.stream("orders").prepare()
        for turn in range(12):
            poll(project)
            seen.append(rows(place))
            change(place, chance)
            if turn == 6:
                with pytest.MonkeyPatch.context() as patch:  # a sink that fails once
                    patch.setattr("qbcd.sinks.lake.delta_table.DeltaTableOfSink.record", _fail)
                    assert any(o.report.failures for o in project.run(once=True).outcomes if o.report)
        poll(project)
        seen.append(rows(place))
        assert project.status("orders")[0].pending == {}
        events = sum(project.status("orders")[0].events.values())
    for kind in ("delta", "iceberg"):
        assert plain(of(kind, workspace, "mirror")) == seen[-1], kind
        history = of(kind, workspace, "history")
        assert plain([row for row in history if row["dbt_valid_to"] is None]) == seen[-1]
        moments = sorted({row["dbt_valid_from"] for row in history})
        states = [
            plain(
                [r for r in history if r["dbt_valid_from"] <= m and not (r["dbt_valid_to"] and r["dbt_valid_to"] <= m)]
            )
            for m in moments
        ]
        assert all(state in seen for state in states if state != seen[-1])
        log = of(kind, workspace, "log")
        assert len({row["qbcd_event_id"] for row in log}) == len(log) == 50 + events
        assert len(of(kind, workspace, "envelopes")) == len(log)
        assert sum(row["_change_type"] != "update_preimage" for row in of(kind, workspace, "feed")) == len(log)
    soft = of("delta", workspace, "soft")
    assert plain([row for row in soft if not row["is_deleted"]]) == seen[-1]


def _fail(*_: Any) -> Any:
    raise OSError("no such disk")


MISTAKES = [
    ("type: delta, path: out, mode: history", "this value is not known here (expected 'mirror', 'scd2' or 'log')"),
    ("type: delta, path: out, mode: scd2, deletes: soft", "`deletes` is for mode mirror (remove it)"),
    ("type: delta, path: out, columns_like: dbt", "`columns_like` is for mode scd2 (remove it)"),
    ("type: delta, pth: out", '(did you mean "path"?)'),
    ("type: delta, path: out, vacuum: 7d", "(add `optimize`, such as 1d)"),
    ("type: delta, path: out, partition_by: state", "`partition_by` names state, which is not a column"),
    ("type: delta, path: qbcd.yaml", "qbcd.yaml cannot be written: Not a directory"),
    ("type: delta, path: /proc/x", "folder /proc cannot be written"),
    ("type: iceberg", "`catalog` is missing"),
    ("type: iceberg, catalog: {type: sqlite}", "'sqlite' is not a valid CatalogType (correct `catalog`"),
    ("type: iceberg, catalog: {type: sql}", "URI missing"),
    ("type: iceberg, catalog: {type: sql, uri: 'sqlite:////nowhere/c.db'}", "unable to open database file (correct"),
    ("type: iceberg, catalog: {uri: 'sqlite:///c.db'}", "`catalog` has no `warehouse` (add it: a folder"),
    ("type: iceberg, catalog: {uri: 'sqlite:///c.db', warehouse: /proc/x}", "folder /proc cannot be written"),
    ("type: iceberg, catalog: {uri: 'sqlite:///c.db', warehouse: 'file://lake'}", "(write file:///absolute/path"),
    ("type: iceberg, catalog: {uri: 'sqlite:///:memory:'}", "an SQLite catalog is a file (write sqlite:///catalog.db)"),
    ("type: iceberg, catalog: {uri: 'mysql://h/c'}", "Could not infer the catalog type"),
    ("type: iceberg, catalog: {type: rest, uri: 'http://127.0.0.1:9'}", "Connection refused"),
    ("type: iceberg, catalog: {uri: x, token: abc}", "the credential is written in the file"),
    ("type: iceberg, catalog: {type: sql, uri: 'sqlite:///c.db'}, deletes: soft", "(expected 'hard')"),
]


@pytest.mark.parametrize(("options", "message"), MISTAKES)
def test_mistakes_have_a_message_with_a_remedy(
    options: str,
    message: str,
    database: str,
    workspace: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(workspace)
    sql(database, "CREATE TABLE orders (id int PRIMARY KEY, status text)")
    text = f'version: 1\nsources: {{shop: {{url: "{database}"}}}}\nsinks:\n  lake: {{{options}}}\n'
    text += "tables:\n  - {source: shop, table: public.orders, strategy: mds, sinks: [lake]}\n"
    (workspace / "qbcd.yaml").write_text(text)
    ran = Cli(capsys)("check")
    assert ran.code in (1, 2)
    assert message in ran.err
    assert "unexpected" not in ran.err


def test_errors_of_the_libraries_are_those_of_the_sink(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(DeliveryError, match="Not a directory") as raised:
        lake_of("delta", tmp_path / "file").sink().check()
    assert isinstance(raised.value, QbcdError)
    assert raised.value.remedy
    chain = OSError("Operation not supported\n \x1b[31m\u21b3\x1b[0m no credentials\n  \x1b[31m\u21b3\x1b[0m denied.\n")
    assert DeltaFormat("s3://x", {}, change_data_feed=False).explained(chain).endswith("ed: no credentials: denied.")
