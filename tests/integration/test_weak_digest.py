"""A digest of eight bits, or of none: what counts tell all the same, what sums then miss, and what finds it again.

No row is lost or made up by it: what is missed stays as the replica had it, until its digest differs or values are
compared (pitfalls D1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from qbcd.connectors.postgresql import PostgreSQL
from qbcd.model import ServerIdentity
from qbcd.sql.compile import _expanded
from tests.support import sql
from tests.support.oracle import batches, copy_of
from tests.support.pg_source import digest, probe, reading
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1500
whole_digest, whole_identity = PostgreSQL.row_digest, PostgreSQL.server_identity


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Cuts digests to so many bits; to 64 again as another server would compute them."""

    def to(bits: int) -> None:
        def row_digest(self: PostgreSQL, columns: Any) -> exp.Expression:
            mask = exp.Literal.number(2**bits - 1)
            return exp.paren(exp.BitwiseAnd(this=exp.paren(whole_digest(self, columns)), expression=mask))

        def identity(self: PostgreSQL, conn: Any) -> ServerIdentity:
            found = whole_identity(self, conn)
            return ServerIdentity(found.product, found.identity, f"{found.meaning};{bits}", found.position)

        monkeypatch.setattr(PostgreSQL, "row_digest", whole_digest if bits == 64 else row_digest)
        monkeypatch.setattr(PostgreSQL, "server_identity", identity)
        _expanded.cache_clear()

    yield to
    _expanded.cache_clear()


def alike(database: str) -> list[int]:
    """Rows whose digest has the same eight bits before and after their change."""
    with reading(database) as session:
        columns = probe(session, "t").columns
        found = session.rows(
            f"SELECT o.id FROM public.t AS n JOIN public.o AS o USING (id) "
            f"WHERE o.v <> n.v AND ({digest('o', *columns)} & 255) = ({digest('n', *columns)} & 255) ORDER BY o.id"
        )
    return [row.id for row in found]


def test_counts_tell_and_what_is_missed_is_found_by_its_values(
    database: str, workspace: Path, spark: SparkSession, cut: Callable[[int], None]
) -> None:
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id)")
    strategy = {"type": "id_rcs", "rows_per_range": 1, "buckets": "key"}
    data = config(database, {"name": "s", "table": "public.t", "strategy": strategy})
    copy = copy_of(database, "public.t", ["id"])

    def polled(**options: Any) -> Counter[str]:
        poll(project, "s", **options)
        return Counter(event["op"] for event in copy.replay(batches(workspace / "out/changes", "s")))

    cut(8)
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        sql(
            database,
            f"DELETE FROM t WHERE id % 50 = 3; INSERT INTO t SELECT {ROWS} + i, 'n' FROM generate_series(1, 9) i",
        )
        assert polled() == {"d": ROWS // 50, "c": 9}, "a count differs whatever the digests"
        assert copy.differences() == []
        sql(database, "CREATE TABLE o AS SELECT * FROM t; UPDATE t SET v = v || '!'")
        missed, (rows,) = alike(database), *sql(database, "SELECT count(*) FROM t")
        assert 0 < len(missed) < 30
        assert polled() == {"u": rows - len(missed)}
        assert len(copy.differences()) == len(missed), "these rows are as they were, and no others"
        cut(64)
        assert polled(accept_source=True) == {"u": len(missed)}
        assert copy.differences() == []
        assert project.stream("s").verify() == []
