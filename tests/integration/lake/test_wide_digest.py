"""Digests of 128 bits: each half shows changes, sums are exact, polls and `verify` compare whole digests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from sqlalchemy import make_url
from sqlglot import exp

from qbcd.api import parts_of
from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.connectors.expressions import SupportsWideDigests
from qbcd.errors import QbcdError
from qbcd.model.plans import HALF
from qbcd.sites.lake.fetch import two_phase
from qbcd.sql.compile import _expanded
from tests.support.forced_leaves import force
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

WIDE = {"replica": "digest", "digest": 128}
ROWS = 40
STRATEGIES: dict[str, dict[str, Any]] = {
    "key": {"type": "id_rcs", "buckets": "key", "rows_per_range": 7},
    "hash": {"type": "id_rcs", "buckets": "hash", "rows_per_range": 7},
    "page": {"type": "id_rcs", "buckets": "page", "rows_per_range": 7},
    "vbd": {"type": "vbd", "variant": "compare"},
}
CASES = [
    ("key", "low"),
    *(pytest.param(way, half, marks=pytest.mark.campaign) for way in STRATEGIES for half in ("low", "high", "both")),
]


def configured(place: Place, way: str, **more: Any) -> dict[str, Any]:
    """Return a configuration of stream `s` with wide digests."""
    table: dict[str, Any] = {"name": "s", "strategy": {**STRATEGIES[way], **WIDE}, **more}
    if way == "vbd":
        return config(place.url, {**table, "query": f"SELECT id, v FROM {place.table('t')}", "key": "id"})
    return config(place.url, {**table, "table": place.table("t"), "columns": ["id", "v"]})


def fill(place: Place) -> None:
    """Create table `t`."""
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(40))")
    place.insert("t", [(i, f"old {i}") for i in range(1, ROWS + 1)])


@pytest.fixture
def halved(place: Place, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Return a function that makes one half of all wide digests 0."""
    expressions = type(connector_for(place.url).expressions)
    whole = expressions.wide_digest  # type: ignore[attr-defined]

    def keep(half: str) -> None:
        low = f"mod({{d}}, {HALF})"
        form = {"low": low, "high": f"({{d}} - {low})", "both": "{d}"}[half]

        def wide_digest(columns: Any) -> exp.Expression:
            text = whole(columns).sql(dialect=connector_for(place.url).dialect)
            return exp.Var(this=f"cast({form.format(d=text)} AS decimal(38, 0))")

        monkeypatch.setattr(expressions, "wide_digest", staticmethod(wide_digest))
        _expanded.cache_clear()

    yield keep
    _expanded.cache_clear()


def digests_in(place: Place) -> dict[int, int]:
    """Return the wide digest of each row of `t`, by id."""
    connector = connector_for(place.url)
    source = Source("shop", make_url(place.url), connector, place.own_schema)
    with source.read("s") as session:
        probed = connector.catalog.probe_table(session.connection, place.schema, "t")
        assert probed is not None
        parts = [(c, exp.column(c.name, quoted=True)) for c in probed.columns]
        text = connector.require(SupportsWideDigests).wide_digest(parts).sql(dialect=connector.dialect)
        rows = session.rows(f"SELECT id, {text} AS d FROM {place.table('t')}")
    source.close()
    return {row.id: int(row.d) for row in rows}


def stored_in(place: Place, way: str, workspace: Path, project: Any) -> int:
    """Return the sum of all digests that the stream keeps."""
    if way == "vbd":
        [(name,)] = place.sql(
            "SELECT table_name FROM information_schema.tables "
            f"WHERE table_schema = '{place.own_schema}' AND table_name LIKE 'replica%'"
        )
        return int(place.sql(f"SELECT sum(qbcd_digest) FROM {place.own_schema}.{name}")[0][0])
    context = parts_of(project).stream_to_read("s").site.context
    with context.reading() as conn:
        return sum(one.checksum for one in context.store.ranges(conn, "s"))


@over("way, half", CASES, elsewhere=[])
def test_each_half_shows_changes(
    way: str, half: str, place: Place, workspace: Path, halved: Callable[[str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    if way == "page" and place.kind != "postgresql":
        pytest.skip("pages are PostgreSQL's")
    halved(half)
    force(monkeypatch)
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    fill(place)
    with opened(configured(place, way), workspace) as project:
        project.stream("s").prepare()
        found = []
        for step in range(1, 4):  # later polls use leaf checksums, and recover keys
            place.sql(f"UPDATE t SET v = 'new {step}' WHERE id IN ({step}, 20)")
            place.sql(f"DELETE FROM t WHERE id = {30 + step}")
            place.insert("t", [(100 + step, "came")])
            poll(project, "s")
            found.append(sorted((e["op"], e["key"]["id"]) for e in batches(workspace / "out/changes", "s")[-1][1]))
            assert stored_in(place, way, workspace, project) == sum(digests_in(place).values())
        assert found == [[("c", 100 + n), ("d", 30 + n), ("u", n), ("u", 20)] for n in range(1, 4)]
        poll(project, "s")
        assert len(batches(workspace / "out/changes", "s")) == 3
        assert list(project.stream("s").verify()) == []
    if half == "both":
        assert max(digests_in(place).values()) > HALF << 55


@over("engine", ["local", pytest.param("spark", marks=pytest.mark.campaign)], elsewhere=[])
def test_files_have_the_digests_of_the_source(
    engine: str, place: Place, workspace: Path, request: pytest.FixtureRequest
) -> None:
    fill(place)
    spark = request.getfixturevalue("spark") if engine == "spark" else None
    with opened(configured(place, "key", engine=engine), workspace, spark) as project:
        project.stream("s").prepare()
        files = [str(p) for p in workspace.rglob("*") if p.is_file() and p.read_bytes()[:4] == b"PAR1"]
        rows = duckdb.execute(f"SELECT c0, digest, typeof(digest) FROM read_parquet({files})").fetchall()
        assert {kind for *_, kind in rows} == {"DECIMAL(38,0)"}
        assert {key: int(digest) for key, digest, _ in rows} == digests_in(place)
        place.sql("UPDATE t SET v = 'new' WHERE id < 5")
        poll(project, "s")
        assert list(project.stream("s").verify()) == []
        place.sql("UPDATE t SET v = 'newer' WHERE id = 9")
        assert [one.key for one in project.stream("s").verify()] == ["9"]


def test_a_stream_of_64_bits_keeps_them(place: Place, workspace: Path) -> None:
    """Streams of earlier versions have no entry `digest` in their checkpoint."""
    fill(place)
    narrow = configured(place, "key")
    narrow["tables"][0]["strategy"] |= {"digest": 64}
    with opened(narrow, workspace) as project:
        project.stream("s").prepare()
        context = parts_of(project).stream_to_read("s").site.context
        with context.reading() as conn:
            row = context.store.read(conn, "s")
        assert row is not None
        assert row.checkpoint["requested"]["options"]["digest"] is None  # as if there were none
    del narrow["tables"][0]["strategy"]["digest"]
    place.sql("UPDATE t SET v = 'new' WHERE id < 5")
    with opened(narrow, workspace) as project:
        poll(project, "s")
        assert len(batches(workspace / "out/changes", "s")[0][1]) == 4
    with opened(configured(place, "key"), workspace) as project, pytest.raises(QbcdError, match="digest") as refused:
        poll(project, "s")
    assert "reset" in str(refused.value)
