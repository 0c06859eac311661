"""Types and collations recreated under their names: their order or equality is another one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import Project
from qbcd.errors import SchemaChanged
from qbcd.model import StreamPlan
from tests.support import sql
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES: dict[str, dict[str, Any]] = {
    "keyed": {"type": "id_rcs", "buckets": "key", "rows_per_range": 50},
    "hashed": {"type": "id_rcs", "buckets": "hash"},
}
MOODS = """CREATE TYPE mood AS ENUM ('a', 'b', 'c', 'd');
CREATE TABLE t (m mood, k int, n int, PRIMARY KEY (m, k));
INSERT INTO t SELECT (ARRAY['a', 'b', 'c', 'd']::mood[])[i % 4 + 1], i, i FROM generate_series(1, 400) i"""
REMADE = """CREATE TYPE mood2 AS ENUM ({labels}); ALTER TABLE t ALTER m TYPE mood2 USING m::text::mood2;
DROP TYPE mood; ALTER TYPE mood2 RENAME TO mood"""
REORDERED, AS_BEFORE = REMADE.format(labels="'a', 'c', 'b', 'd'"), REMADE.format(labels="'a', 'b', 'c', 'd'")
# the change, its reversal, and the label in the message
OTHER_LABELS = {
    "in another order": (REORDERED, AS_BEFORE, "c"),
    "renamed": ("ALTER TYPE mood RENAME VALUE 'b' TO 'bb'", "ALTER TYPE mood RENAME VALUE 'bb' TO 'b'", "b"),
    "deleted": (REMADE.format(labels="'a', 'c', 'd'"), AS_BEFORE, "b"),
}
TEXTS = """CREATE COLLATION of_k (provider = libc, locale = 'C'); CREATE COLLATION of_v (provider = libc, locale = 'C');
CREATE TABLE t (k text COLLATE of_k PRIMARY KEY, n int, v text COLLATE of_v);
INSERT INTO t SELECT md5(i::text), i, 'v' FROM generate_series(1, 400) i"""
COLLATED = """CREATE COLLATION other (provider = libc, locale = 'POSIX');
ALTER TABLE t ALTER {0} TYPE text COLLATE other;
DROP COLLATION of_{0}; ALTER COLLATION other RENAME TO of_{0}"""


def _opened(database: str, workspace: Path, spark: SparkSession) -> Any:
    tables = [
        {"name": name, "table": "public.t", "baseline": "silent", "strategy": one} for name, one in STRATEGIES.items()
    ]
    return opened(config(database, *tables), workspace, spark)


def _prepared(project: Project) -> None:
    for name in STRATEGIES:
        project.stream(name).prepare()


def _polled_ops(project: Project, name: str) -> dict[str, int]:
    """Poll once; return the events by op; the replica equals the source."""
    [outcome] = poll(project, name)
    assert outcome.report is not None
    assert not list(project.stream(name).verify()), name
    return outcome.report.counts


@pytest.mark.parametrize("how", ["in another order", "renamed", pytest.param("deleted", marks=pytest.mark.campaign)])
def test_labels_of_a_key_that_mean_another_value(how: str, database: str, workspace: Path, spark: SparkSession) -> None:
    """Bounds of ranges are then in no order, or are no values any more."""
    other, undo, label = OTHER_LABELS[how]
    sql(database, MOODS)
    with _opened(database, workspace, spark) as project:
        _prepared(project)
        sql(database, "DELETE FROM t WHERE m = 'b'; UPDATE t SET n = n + 1 WHERE k <= 20")
        sql(database, other)
        for name in STRATEGIES:
            with pytest.raises(SchemaChanged) as caught:
                poll(project, name)
            assert f"{label!r} is not where it was" in caught.value.what
            assert caught.value.remedy.startswith(f"qbcd reset {name}, then prepare it again; or undo the change")
            assert "exclude" not in caught.value.remedy  # a key column cannot be left out
        sql(database, undo)
        for name in STRATEGIES:
            assert _polled_ops(project, name) == {"u": 15, "d": 100}, name


def test_labels_that_come_anywhere(database: str, workspace: Path, spark: SparkSession) -> None:
    """The other labels keep their order."""
    sql(database, MOODS)
    with _opened(database, workspace, spark) as project:
        _prepared(project)
        sql(database, "ALTER TYPE mood ADD VALUE '0' BEFORE 'a'")
        sql(database, "ALTER TYPE mood ADD VALUE 'bc' AFTER 'b'")
        sql(database, "INSERT INTO t VALUES ('0', 1, 1), ('bc', 1, 1); DELETE FROM t WHERE k = 400")
        for name in STRATEGIES:
            assert _polled_ops(project, name) == {"c": 2, "d": 1}, name
        sql(database, REMADE.format(labels="'0', 'a', 'b', 'c', 'd', 'bc'"))
        for name in STRATEGIES:  # the new labels were stored
            with pytest.raises(SchemaChanged, match="'c' is not where it was"):
                poll(project, name)


def test_a_recreated_collation_of_a_key(database: str, workspace: Path, spark: SparkSession) -> None:
    """Its name is unchanged. The order of a column outside of the key does not matter."""
    sql(database, TEXTS)
    with _opened(database, workspace, spark) as project:
        _prepared(project)
        sql(database, COLLATED.format("v"))
        sql(database, "UPDATE t SET n = 0 WHERE n <= 3")
        for name in STRATEGIES:
            assert _polled_ops(project, name) == {"u": 3}, name
        sql(database, COLLATED.format("k"))
        sql(database, "UPDATE t SET n = -1 WHERE n = 0")
        for name in STRATEGIES:
            with pytest.raises(SchemaChanged) as caught:
                poll(project, name)
            assert "it was libc C and is libc POSIX" in caught.value.what


def test_a_stream_of_an_earlier_version(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has stored nothing of this, and does so from its next batch on."""
    sql(database, MOODS)
    shape = StreamPlan.shape
    with _opened(database, workspace, spark) as project:
        with monkeypatch.context() as patched:
            patched.setattr(StreamPlan, "shape", lambda p: {k: v for k, v in shape(p).items() if k != "means"})
            _prepared(project)
        sql(database, "UPDATE t SET n = 0 WHERE k <= 3")
        for name in STRATEGIES:
            assert _polled_ops(project, name) == {"u": 3}, name
        sql(database, REORDERED)
        for name in STRATEGIES:
            with pytest.raises(SchemaChanged):
                poll(project, name)


OWN_TEXTS: dict[str, dict[str, Any]] = {
    "mds": {"table": "public.t", "strategy": "mds"},
    "compare": {"query": "SELECT * FROM public.t", "strategy": {"type": "vbd", "variant": "compare"}},
    "id": {"table": "public.t", "strategy": {"type": "id", "rows_per_range": 4}},
}
OTHER_TEXTS = {"id_rcs": "id_rcs", "tlcs": {"type": "tlcs", "replica": "source"}}


@pytest.mark.parametrize("how", ["mds", *(pytest.param(one, marks=pytest.mark.campaign) for one in ("compare", "id"))])
def test_a_definition_that_changes_the_texts_of_values(how: str, database: str, workspace: Path) -> None:
    """A source replica of rows shows the new texts too."""
    sql(database, "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TYPE spot AS (x int, moods mood[])")
    sql(database, "CREATE TABLE t (k int PRIMARY KEY, v spot); INSERT INTO t VALUES (1, (1, '{a,b}')::spot)")
    stream = {"name": "s", "baseline": "silent", **OWN_TEXTS[how]}
    with opened(config(database, stream), workspace) as project:
        project.stream("s").prepare()
        sql(database, "ALTER TYPE mood ADD VALUE 'aa' BEFORE 'b'")
        sql(database, "INSERT INTO t VALUES (2, (1, '{aa}')::spot)")
        assert _polled_ops(project, "s") == {"c": 1}
        sql(database, "ALTER TYPE mood RENAME VALUE 'aa' TO 'c'")
        with pytest.raises(SchemaChanged, match="was altered: 'aa' is not where it was"):
            poll(project, "s")
        sql(database, "ALTER TYPE mood RENAME VALUE 'c' TO 'aa'")
        assert _polled_ops(project, "s") == {}
        sql(database, "ALTER TYPE spot ADD ATTRIBUTE y int")
        with pytest.raises(SchemaChanged, match=r"was altered: 'spot\(1 integer, 2 public.mood\[\]\)' is not where"):
            poll(project, "s")
    if how == "id":
        for left_out in ({"exclude": ["v"]}, {}):
            with opened(config(database, {**stream, **left_out}), workspace) as project:
                assert _polled_ops(project, "s") == {}


@pytest.mark.campaign
@pytest.mark.parametrize("how", OTHER_TEXTS)
def test_other_replicas_find_the_rows_with_new_texts(how: str, database: str, workspace: Path) -> None:
    sql(database, "CREATE TYPE mood AS ENUM ('a', 'b'); CREATE TABLE t (k int PRIMARY KEY, v mood)")
    sql(database, "INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    with opened(config(database, {"name": "s", "table": "public.t", "strategy": OTHER_TEXTS[how]}), workspace) as one:
        one.stream("s").prepare()
        sql(database, "ALTER TYPE mood RENAME VALUE 'b' TO 'c'")
        assert _polled_ops(one, "s") == {"u": 1}
