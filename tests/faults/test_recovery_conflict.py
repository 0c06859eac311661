"""A standby that cancels a poll, because its replay waits: a clear message, a retry, and nothing is lost."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.common import hooks
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import SourceError
from qbcd.polling.outcome import Outcome
from tests.support import connect, sql, wait_until
from tests.support.oracle import events
from tests.support.project import config, opened, poll
from tests.support.standby import PRIMARY, catch_up, standby_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign

ROWS = 40
TABLE = f"""
DROP TABLE IF EXISTS t;
CREATE OR REPLACE FUNCTION slow(id int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS
  $$BEGIN PERFORM pg_sleep(0.05); RETURN true; END$$;
CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, {ROWS}) AS i;
ALTER TABLE t ADD PRIMARY KEY (id);
"""
RUNNING = "SELECT 1 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%slow(%' AND pid <> pg_backend_pid()"
CONFLICTS = "SELECT confl_snapshot FROM pg_stat_database_conflicts WHERE datname = 'postgres'"
STRATEGIES: dict[str, dict[str, Any]] = {
    "key": {"type": "id_rcs", "rows_per_range": 10, "buckets": "key"},
    "hash": {"type": "id_rcs", "buckets": "hash"},
    "digest": {"type": "id_rcs", "rows_per_range": 10, "replica": "digest"},
    "tlcs": {"type": "tlcs", "checksums": "remote", "rows_per_range": 10},
}
SAID = {
    "statement": re.compile("canceling statement due to conflict with recovery"),
    "after_snapshot": re.compile("cannot be reached any more"),
    "after_checksums": re.compile("snapshot|cannot be reached any more"),
}
Servers = tuple[EmbeddedPostgres, EmbeddedPostgres]


@pytest.fixture(autouse=True)
def _no_hooks() -> Iterator[None]:
    yield
    for point in ("after_snapshot", "after_checksums"):
        hooks.register(point, None)


@pytest.fixture(scope="module")
def servers() -> Iterator[Servers]:
    """Return a primary, and a standby whose replay waits for no session longer than a tenth of a second."""
    with (
        EmbeddedPostgres.start(settings=PRIMARY) as primary,
        standby_of(primary, {"max_standby_streaming_delay": "100ms"}) as standby,
    ):
        yield primary, standby


def replace_rows(servers: Servers) -> None:
    """Update each row, and remove the versions that older snapshots need; wait until the standby has done so too."""
    primary, standby = servers
    sql(primary.url, "UPDATE t SET v = v || '+'")
    with connect(primary.url, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute("VACUUM t")
    catch_up(primary, standby)


def stream(servers: Servers, strategy: dict[str, Any], **more: Any) -> dict[str, Any]:
    table = {"name": "s", "table": "public.t", "strategy": strategy, "where": "public.slow(id)", **more}
    return config(servers[1].url, table)


def consumer(base: dict[int, str], folder: Path) -> dict[int, str]:
    rows = dict(base)
    for event in events(folder / "out/changes", "s"):
        rows.pop(event["key"]["id"], None)
        if event["after"] is not None:
            rows[event["key"]["id"]] = event["after"]["v"]
    return rows


def source(servers: Servers) -> dict[int, str]:
    return dict(sql(servers[0].url, "SELECT id, v FROM t"))


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("moment", ["statement", "after_snapshot", "after_checksums"])
def test_a_poll_that_replay_cancels(
    moment: str, name: str, servers: Servers, workspace: Path, spark: SparkSession
) -> None:
    """While a statement runs, the statement is canceled; between two, the session is ended."""
    primary, standby = servers
    sql(primary.url, TABLE)
    catch_up(primary, standby)
    base = source(servers)
    with opened(stream(servers, STRATEGIES[name]), workspace, spark) as project:
        project.stream("s").prepare()
        sql(primary.url, "UPDATE t SET v = 'changed' WHERE id % 7 = 3; DELETE FROM t WHERE id = 5")
        catch_up(primary, standby)
        [(before,)] = sql(standby.url, CONFLICTS)

        def cancel() -> None:
            hooks.register("after_snapshot", None)
            hooks.register("after_checksums", None)
            if moment == "statement":
                wait_until(lambda: bool(sql(standby.url, RUNNING)), what="a statement of the poll")
            replace_rows(servers)

        with ThreadPoolExecutor(1) as pool:
            begun = pool.submit(cancel) if moment == "statement" else None
            if begun is None:
                hooks.register(moment, cancel)
            with pytest.raises(SourceError) as raised:
                poll(project, "s")
            if begun is not None:
                begun.result()
        [(after,)] = sql(standby.url, CONFLICTS)
        assert after > before, "the standby says that it canceled somebody"
        message = str(raised.value)
        assert SAID[moment].search(message), message
        assert "max_standby_streaming_delay" in message
        assert "the next poll starts again" in message
        assert events(workspace / "out/changes", "s") == []
        poll(project, "s")
        assert consumer(base, workspace) == source(servers)
        assert project.stream("s").verify() == []


def test_the_loop_retries(servers: Servers, workspace: Path, spark: SparkSession) -> None:
    primary, standby = servers
    sql(primary.url, TABLE)
    catch_up(primary, standby)
    base, stop, outcomes = source(servers), threading.Event(), list[Outcome]()
    with opened(stream(servers, STRATEGIES["key"], every="100ms"), workspace, spark) as project:
        project.stream("s").prepare()
        sql(primary.url, "UPDATE t SET v = 'changed' WHERE id % 7 = 3")
        catch_up(primary, standby)

        def cancel() -> None:
            hooks.register("after_checksums", None)
            replace_rows(servers)

        def done(outcome: Outcome) -> None:
            outcomes.append(outcome)
            if outcome.error is None:
                stop.set()

        hooks.register("after_checksums", cancel)
        project.run("s", on_outcome=done, stop=stop)
        assert [type(o.error) for o in outcomes] == [SourceError, type(None)]
        assert consumer(base, workspace) == source(servers)
