"""Keys that identify rows at `prepare` but not later, or not in all rows that are read."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import QbcdError, UnsafeKey
from tests.support.places import FIRST, Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = "INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')"
STREAMS: dict[str, dict[str, Any]] = {
    "mds": {"type": "mds"},
    "id": {"type": "id", "rows_per_range": 1},
    "id_rcs": {"type": "id_rcs", "buckets": "key"},
    "tlcs": {"type": "tlcs", "checksums": "table", "rows_per_range": 1},
    "some": {"type": "id", "rows_per_range": 1, "per_poll": 1},
}


def polled(project: qbcd.Project, name: str) -> dict[str, int]:
    """Poll once; return the events by op."""
    [outcome] = poll(project, name)
    assert outcome.report is not None
    return outcome.report.counts


def refused(project: qbcd.Project, name: str) -> str:
    """Poll and return the class and message of the error that refuses the poll."""
    with pytest.raises(QbcdError) as caught:
        polled(project, name)
    return f"{type(caught.value).__name__}: {caught.value.what}"


@over(
    "change",
    [
        "INSERT INTO t VALUES (NULL, 'n')",
        pytest.param("UPDATE t SET id = NULL WHERE id = 2", marks=pytest.mark.campaign),
    ],
)
def test_a_key_that_is_null(change: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    """Such a row is in no range, and every strategy refuses it nevertheless."""
    place.sql(f"CREATE TABLE t (id integer UNIQUE, a varchar(9)); {ROWS}")
    tables = [
        {"name": n, "table": place.table("t"), "key": ["id"], "baseline": "silent", "strategy": s}
        for n, s in STREAMS.items()
    ]
    with opened(config(place.url, *tables), workspace, spark) as project:
        for name in STREAMS:
            project.stream(name).prepare()
            assert not polled(project, name), name
        place.sql(change)
        message = "key (id) has duplicate or NULL values"
        for name in STREAMS:
            with pytest.raises(UnsafeKey, match=re.escape(message)):
                for _ in range(4 if name == "some" else 1):  # the next pass over all ranges has begun by then
                    polled(project, name)
        place.sql("DELETE FROM t; " + ROWS)
        for name in STREAMS:
            for _ in range(4 if name == "some" else 1):
                polled(project, name)
            assert not list(project.stream(name).verify()), name


# -- TS ----------------------------------------------------------------------------------------------------------------
VERSIONS = """CREATE TABLE t (n integer PRIMARY KEY, id integer NOT NULL, a varchar(9), now boolean NOT NULL,
  at timestamp(6) NOT NULL DEFAULT {moment});
INSERT INTO t (n, id, a, now) VALUES (1, 1, 'a', TRUE), (2, 2, 'b', TRUE), (3, 2, 'was', FALSE)"""
KEPT = {"source": {}, "keys": {"replica": "keys"}, "spark": {"replica": "spark"}}


@over(elsewhere=[])
def test_a_key_that_is_unique_only_within_the_restriction(place: Place, workspace: Path, spark: SparkSession) -> None:
    """A row outside with the key of a row inside would be reported as that row's delete."""
    first = place.kind == FIRST
    place.sql(VERSIONS.format(moment="localtimestamp" if first else "current_timestamp(6)"))
    strategy = {"type": "ts", "timestamp": "at", **({"zone": "UTC"} if first else {"lag": "2ms", "margin": "1ms"})}
    tables = [
        {"name": n, "table": place.table("t"), "key": ["id"], "where": "now", "strategy": {**strategy, **more}}
        for n, more in KEPT.items()
    ]
    with opened(config(place.url, *tables), workspace, spark) as project:
        for name in KEPT:
            with pytest.raises(UnsafeKey, match="has duplicate or NULL values"):
                project.stream(name).prepare()
        place.sql(
            "DELETE FROM t WHERE n = 3; INSERT INTO t (n, id, a, now) VALUES (4, 3, 'x', FALSE), (5, 3, 'y', FALSE)"
        )
        for name in KEPT:  # rows that are all outside concern no stream
            project.stream(name).prepare()
        place.sql("INSERT INTO t (n, id, a, now) VALUES (6, 1, 'z', FALSE)")
        for name in KEPT:
            assert refused(project, name).startswith("UnsafeKey: "), name


COUNTED = """CREATE TABLE t (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a text);
INSERT INTO t (a) SELECT 'old' FROM generate_series(1, 9)"""


@pytest.mark.campaign
def test_a_counter_that_is_reset(place: Place, workspace: Path, spark: SparkSession) -> None:
    """All rows are read then; but not if only its newest rows were deleted."""
    place.sql(COUNTED)
    kept = {**KEPT, "none": {"replica": "none"}}
    tables = [
        {"name": n, "table": "public.t", "baseline": "silent", "strategy": {"type": "ts", "timestamp": "id", **more}}
        for n, more in kept.items()
    ]
    with opened(config(place.url, *tables), workspace, spark) as project:
        for name in kept:
            project.stream(name).prepare()
            assert not polled(project, name)
        place.sql("DELETE FROM t WHERE id = 9")
        assert not any(polled(project, name) for name in kept)
        place.sql("TRUNCATE t RESTART IDENTITY; INSERT INTO t (a) SELECT 'new' FROM generate_series(1, 4)")
        for name in kept:
            [outcome] = poll(project, name)
            assert outcome.report is not None
            assert outcome.report.counts == {"u": 4}, name
            assert any("it seems to count from the start again" in warning for warning in outcome.report.warnings), name
        place.sql("INSERT INTO t (a) VALUES ('newer')")
        for name in kept:
            assert polled(project, name) == {"u": 1}, name
            assert polled(project, name) == {}, name


# -- the table ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("strategy", ["mds", "id", "id_rcs"])
def test_a_table_that_hides_the_one_that_was_prepared(
    strategy: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    """`prepare` fixes a name without a schema, whatever the search path finds by it later."""
    place.sql("CREATE TABLE public.t (id integer PRIMARY KEY, a text); INSERT INTO public.t VALUES (1, 'a'), (2, 'b')")
    table = {"name": "s", "table": "t", "baseline": "silent", "strategy": strategy}
    with opened(config(place.url, table), workspace, spark) as project:
        project.stream("s").prepare()
        role = place.sql("SELECT current_user")[0][0]
        place.sql(f'CREATE SCHEMA "{role}"; CREATE TABLE "{role}".t (id integer PRIMARY KEY, a text)')
        place.sql("UPDATE public.t SET a = 'c' WHERE id = 2")
        assert polled(project, "s") == {"u": 1}
        assert polled(project, "s") == {}
        place.sql(f'DROP SCHEMA "{role}" CASCADE')
        assert polled(project, "s") == {}
