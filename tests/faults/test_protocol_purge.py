"""A flagged row is purged only when every stream that reads it has reported it.

See docs/design/protocol.md#rule-13.
"""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from qbcd.errors import GuardTripped, SourceError
from tests.support import wait_until
from tests.support.cli import Cli
from tests.support.places import Place, over
from tests.support.project import opened, poll
from tests.support.watched_polls import ROWS, Watched, at_nth, brief, someone_waits, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


SETTLED = 1.1


class Stop(BaseException):
    """The exception with which a hook ends a poll."""


def stop() -> None:
    raise Stop


def purging(place: Place, folder: Path, **others: Any) -> Watched:
    """Return a stream that purges, and perhaps others on the same table."""
    return Watched(place, folder, {"s": stamped(place, "tdi", purge=True), **others})


# The restriction itself may leave flagged rows out. A purge deletes only rows that the stream had.
@over("where", ["NOT gone", "v <> 'apart'"])
def test_a_restriction_that_flagged_rows_do_not_meet(place: Place, workspace: Path, where: str) -> None:
    with Watched(place, workspace, {"s": stamped(place, "tdi", purge=True)}, where=where) as seen:
        seen.insert(50, "apart")
        seen.flag(50)
        seen.fill()
        assert (50 in seen.copies["s"]) is False
        seen.flag(5)
        seen.run(f"UPDATE t SET gone = true, v = 'apart', at = {seen.clock} WHERE id = 6")
        seen.insert(60, "apart")
        seen.flag(60)
        assert seen.ops() == [[(5, "d"), (6, "d")]]
        seen.flag(6)  # touched after it was reported, and still flagged
        for _ in range(2):
            assert seen.poll() == []
        assert [key for key in (5, 6, 50, 60) if seen.there(key)] == [50, 60]
        seen.insert(5, "again")
        assert seen.ops() == [[(5, "c")]]
        seen.check()


# A row stays until the batch that reports it is committed, whatever ends a poll; then it is purged.
@over()
def test_flagged_rows_are_purged_after_their_batch(place: Place, workspace: Path) -> None:
    with purging(place, workspace).fill() as seen:
        seen.flag(5)
        with at_nth("before_commit", 1, stop), pytest.raises(Stop):
            seen.poll()
        assert seen.there(5)
        assert seen.fresh() == []
        with at_nth("after_commit", 1, stop), pytest.raises(Stop):
            seen.poll()
        assert seen.there(5)
        assert brief(seen.fresh()) == [[(5, "d")]]
        with at_nth("before_purge", 1, stop), pytest.raises(Stop):
            seen.poll()
        assert seen.there(5)
        with at_nth("after_purge", 1, stop), pytest.raises(Stop):
            seen.poll()
        assert not seen.there(5)
        assert seen.poll() == []
        seen.check()


@over(elsewhere=[])
def test_transient_rows_and_those_flagged_before_the_baseline(place: Place, workspace: Path) -> None:
    with purging(place, workspace) as seen:
        seen.insert(50, "gone before")
        seen.flag(50)
        seen.fill()
        seen.insert(60, "comes and goes")
        seen.flag(60)
        assert seen.poll() == []
        assert not seen.there(50)
        assert seen.there(60)
        assert seen.poll() == []
        assert not seen.there(60)
        seen.check()


@over(elsewhere=[])
def test_a_row_that_was_revived_is_not_purged(place: Place, workspace: Path) -> None:
    with purging(place, workspace).fill() as seen:
        for key in (3, 4, 5, 6, 7):
            seen.flag(key)
        seen.insert(60, "comes and goes")
        seen.flag(60)
        assert seen.ops() == [[(key, "d") for key in (3, 4, 5, 6, 7)]]
        for key in (4, 5, 60):
            seen.flag(key, flagged=False)
        seen.flag(5)  # flagged again: another row than the one that was reported

        def meanwhile() -> None:
            seen.flag(6, flagged=False)
            seen.delete(7)
            seen.insert(7, "another")

        with at_nth("before_purge", 1, meanwhile):
            found = seen.ops()
        assert not seen.there(3)
        assert all(seen.there(key) for key in (4, 5, 6, 7, 60))
        assert found == [[(4, "c"), (6, "c"), (7, "c"), (60, "c")]]
        assert seen.poll() == []
        assert not seen.there(5)
        for key in (4, 6):
            seen.flag(key)
        assert seen.ops() == [[(4, "d"), (6, "d")]]
        assert seen.poll() == []
        assert not seen.there(4)
        assert not seen.there(6)
        seen.check()


# No window shows such a row, but the purge reads the flag itself.
@over(elsewhere=[])
def test_a_row_that_was_revived_under_its_old_timestamp_is_not_purged(place: Place, workspace: Path) -> None:
    with purging(place, workspace).fill() as seen:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.run("UPDATE t SET gone = false WHERE id = 5")
        assert seen.poll() == []
        assert seen.there(5)


# The purge reaches the row while another transaction revives it, and waits for that transaction.
@over(elsewhere=[])
def test_a_revival_that_the_purge_waits_for(place: Place, workspace: Path) -> None:
    with purging(place, workspace).fill() as seen, place.connect() as writer:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.flag(5, flagged=False, conn=writer)

        def committed() -> None:
            wait_until(lambda: someone_waits(place), what="the purge")
            writer.commit()

        thread = threading.Thread(target=committed, daemon=True)
        thread.start()
        seen.poll()
        thread.join(30)
        seen.poll()
        assert seen.there(5)
        assert seen.copies["s"][5] == (5, "old 5", 0)
        seen.check()


# A second stream with rarer polls reads the same flags. Streams that compare all rows, or whose number has passed the
# row, delay no purge.
@over(elsewhere=[])
def test_a_row_stays_until_a_slower_stream_has_passed_it(place: Place, workspace: Path) -> None:
    others = {"slow": stamped(place, "tdi"), "scan": "mds", "number": stamped(place, "ts", timestamp="id")}
    key = (
        "integer GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY"
        if place.kind == "postgresql"
        else ("integer AUTO_INCREMENT PRIMARY KEY")
    )
    strategies = {"s": stamped(place, "tdi", purge=True), **others}
    with Watched(place, workspace, strategies, key=key).fill() as seen:
        while seen.watermark("number")["at"] != str(ROWS):  # a number counts as read some time after it was seen
            assert seen.poll("number") == []
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        for _ in range(2):
            assert seen.poll() == []
            assert seen.there(5)
        assert seen.ops("slow") == [[(5, "d")]]
        assert seen.poll() == []
        assert not seen.there(5)
        assert seen.poll("slow") == []
        seen.check()
        seen.check("slow")
        assert seen.ops("scan") == [[(5, "d")]]


# A query's stream reads the flags too; a stream with a lake replica has its watermark in another store.
@over(elsewhere=[])
def test_a_row_stays_until_a_slower_query_has_passed_it(place: Place, workspace: Path) -> None:
    if place.kind != "postgresql":
        pytest.skip("has no variant delta")
    strategy = {"type": "vbd", "variant": "delta", "timestamps": {place.table("t"): "at"}, "margin": "1ms"}
    query = {"query": f"SELECT id, v, n FROM {place.table('t')} WHERE NOT gone", "strategy": strategy, "key": ["id"]}
    with purging(place, workspace) as seen:
        seen.data["tables"].append({"name": "q", "source": "shop", "sinks": [], "baseline": "silent", **query})
        seen.project.close()
        seen.project = opened(seen.data, workspace)
        seen.fill()
        seen.project.stream("q").prepare()
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        assert seen.poll() == []
        assert seen.there(5)
        (outcome,) = poll(seen.project, "q")
        assert outcome.report is not None
        assert outcome.report.counts == {"d": 1}
        assert seen.poll() == []
        assert not seen.there(5)


@over(elsewhere=[])
def test_a_row_stays_while_another_stream_takes_its_baseline(
    place: Place, workspace: Path, spark: SparkSession
) -> None:
    """Its baseline was read before the row was flagged, and its transaction has ended."""
    late = {"strategy": stamped(place, "ts", replica="spark"), "where": "NOT gone", "table": place.table("t")}
    with purging(place, workspace) as seen:
        seen.data["tables"].append({"name": "late", "source": "shop", "sinks": [], "baseline": "silent", **late})
        seen.project.close()
        seen.project = opened(seen.data, workspace, spark)
        seen.fill()

        def meanwhile() -> None:
            seen.flag(5)
            assert seen.ops() == [[(5, "d")]]
            assert seen.poll() == []
            assert seen.there(5)

        with at_nth("before_commit", 1, meanwhile):
            seen.project.stream("late").prepare()
        assert seen.poll() == []
        assert seen.there(5)  # until the other stream has read the flag
        (outcome,) = poll(seen.project, "late")
        assert outcome.report is not None
        assert outcome.report.counts == {"d": 1}
        assert seen.poll() == []
        assert not seen.there(5)
        seen.check()


HOLDS = {
    "a foreign key": (
        "CREATE TABLE line (id int PRIMARY KEY, held int, FOREIGN KEY (held) REFERENCES {t} (id));"
        "INSERT INTO line VALUES (1, 5)",
        "DELETE FROM line",
    ),
    "a foreign key at the end": (
        "CREATE TABLE line (id int PRIMARY KEY, held int REFERENCES {t} (id) INITIALLY DEFERRED);"
        "INSERT INTO line VALUES (1, 5)",
        "DELETE FROM line",
    ),
    "a trigger": (
        "CREATE FUNCTION kept() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'line 5 holds'; END $$;"
        "CREATE TRIGGER kept BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION kept()",
        "DROP TRIGGER kept ON t",
    ),
}


@over("held", list(HOLDS), elsewhere=["a foreign key"])
def test_a_purge_that_the_source_refuses_is_a_warning(place: Place, workspace: Path, held: str) -> None:
    if place.kind != "postgresql" and held != "a foreign key":
        pytest.skip("shown by the other kind")
    with purging(place, workspace).fill() as seen:
        holds, lets_go = HOLDS[held]
        seen.run(holds.format(t=place.table("t")))
        seen.flag(4)
        seen.flag(5)
        assert seen.ops() == [[(4, "d"), (5, "d")]]
        for value in ("once", "twice"):
            seen.update(1, value)
            assert seen.ops() == [[(1, "u")]]
            assert seen.outcome.report is not None
            (warning,) = seen.outcome.report.warnings
            assert "flagged rows of " in warning
            assert "line" in warning  # of the server's message
            assert "`purge: false` ends that" in warning
            assert seen.there(4)
            assert seen.there(5)
        seen.run(lets_go)
        assert seen.poll() == []
        assert not seen.there(4)
        assert not seen.there(5)
        assert seen.outcome.report is not None
        assert seen.outcome.report.warnings == []
        seen.check()


# A failure that the table did not cause is no refusal: the poll fails, and the next one retries.
@over(elsewhere=[])
def test_a_purge_whose_session_is_ended_fails(place: Place, workspace: Path) -> None:
    if place.kind != "postgresql":
        pytest.skip("a trigger there cannot end its session")
    with purging(place, workspace).fill() as seen:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.run(
            "CREATE FUNCTION ended() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
            "PERFORM pg_terminate_backend(pg_backend_pid()); RETURN OLD; END $$;"
            "CREATE TRIGGER ended BEFORE DELETE ON t FOR EACH ROW EXECUTE FUNCTION ended()"
        )
        with pytest.raises(SourceError, match="cannot be reached"):
            seen.poll()
        seen.run("DROP TRIGGER ended ON t")
        assert seen.poll() == []
        assert not seen.there(5)


@over(elsewhere=[])
def test_a_row_of_an_earlier_life_is_not_purged(place: Place, workspace: Path) -> None:
    """A row revived outside of the restriction and flagged again is not purged."""
    with Watched(place, workspace, {"s": stamped(place, "tdi", purge=True)}, where="n = 0").fill() as seen:
        seen.run("CREATE TABLE child (id integer, FOREIGN KEY (id) REFERENCES t (id)); INSERT INTO child VALUES (2)")
        seen.flag(1)
        seen.flag(2)
        seen.poll()
        seen.poll()  # the foreign key keeps both
        seen.run(f"UPDATE t SET gone = false, n = 1, at = {seen.clock} WHERE id = 1")
        seen.poll()
        seen.flag(1)
        seen.poll()
        seen.run("DELETE FROM child")
        seen.poll()
        seen.poll()
        assert (seen.there(1), seen.there(2)) == (True, False)


@over(elsewhere=[])
def test_rows_flagged_while_nothing_was_purged_stay(place: Place, workspace: Path) -> None:
    """Even if the table is altered and all rows are compared.

    Rows reported by that comparison are purged.
    """
    with Watched(place, workspace, {"s": stamped(place, "tdi")}).fill() as seen:
        seen.flag(5)
        assert seen.ops() == [[(5, "d")]]
        seen.reconfigure("s", purge=True)
        assert seen.poll() == []
        recreate(seen)
        seen.flag(6)
        seen.run("UPDATE t SET gone = true WHERE id = 7")  # no window shows it
        assert seen.ops() == [[(6, "d"), (7, "d")]]
        assert seen.poll() == []
        assert [key for key in (5, 6, 7) if seen.there(key)] == [5]
        seen.check()


def recreate(seen: Watched) -> None:
    """Replace the table by another one of its name, or alter it where that looks the same.

    The clock of definitions may have whole seconds.
    """
    time.sleep(0 if seen.place.kind == "postgresql" else SETTLED)
    seen.run(
        "ALTER TABLE t RENAME TO old_t; CREATE TABLE t (LIKE old_t INCLUDING ALL);"
        "INSERT INTO t SELECT * FROM old_t; DROP TABLE old_t"
        if seen.place.kind == "postgresql"
        else f"ALTER TABLE t ADD COLUMN more_{time.monotonic_ns()} int"
    )


@over(elsewhere=[])
def test_rows_that_an_audit_reported_are_purged(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "tdi", purge=True)}, audit={"every": "1ms"}).fill() as seen:
        seen.run("UPDATE t SET gone = true WHERE id = 5")
        assert seen.ops() == [[(5, "d")]]
        assert seen.poll() == []
        assert not seen.there(5)
        seen.check()


# The table is another one, so rows are compared and then deleted keys are searched, whatever happens in between.
@over("point", ["before_commit", "after_commit"], elsewhere=[])
def test_a_row_deleted_while_all_rows_are_compared(place: Place, workspace: Path, point: str) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", deletes={"every": "1h"})}).fill() as seen:
        recreate(seen)
        seen.update(5, "changed")
        seen.delete(6)
        with at_nth(point, 1, lambda: seen.delete(5)):
            assert seen.ops() == [[(5, "u")], [(5, "d"), (6, "d")]]
        seen.check()


def halfway(place: Place, folder: Path) -> Watched:
    """Require a comparison of all rows that fails in its second step.

    Two rows left the restriction, which the guards allow; one deleted row is one too many.
    """
    guards = {"max_delete_fraction": 0.2, "allow_empty": False}
    how = stamped(place, "ts", deletes={"every": "1h"})
    seen = Watched(place, folder, {"s": how}, where="n = 0", guards=guards).fill(10)
    recreate(seen)
    seen.run("UPDATE t SET n = 1 WHERE id < 3")
    seen.delete(6)
    return seen


@over(elsewhere=[])
def test_deleted_keys_are_searched_after_a_kill(place: Place, workspace: Path) -> None:
    """The rows were compared already; the deletes of both steps count together."""
    with halfway(place, workspace) as seen:
        with at_nth("after_commit", 1, stop), pytest.raises(Stop):
            seen.poll()
        assert brief(seen.fresh()) == [[(1, "d"), (2, "d")]]
        with pytest.raises(GuardTripped, match="3 deletes of 10 rows"):
            seen.poll()
        assert seen.ops(accept_deletes=True) == [[(6, "d")]]
        seen.check()


@over(elsewhere=[])
def test_changes_that_a_poll_reported_before_it_was_refused(
    place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with halfway(place, workspace) as seen:
        (workspace / "qbcd.yaml").write_text(yaml.safe_dump(seen.data))
        monkeypatch.chdir(workspace)
        cli = Cli(capsys)
        first = cli("run", "--once", "--json")
        assert first.code == 3
        found = json.loads(first.out)
        assert (found["counts"], found["outcome"], found["batch_seq"]) == ({"d": 2}, "refused", 1)
        assert found["error"].startswith("this poll would deliver 3 deletes of 10 rows")
        (status,) = seen.project.status()
        assert status.last_poll is not None
        assert (status.events, status.last_poll.outcome, status.last_poll.batch_seq) == ({"d": 2}, "refused", 1)
        recreate(seen)
        seen.update(4, "changed")
        again = cli("run", "--once").err.splitlines()
        assert [line.partition(" (")[0] for line in again][-2:] == [
            f"s: {found['epoch']}/2: 1 update",
            "error: stream s: this poll would deliver 3 deletes of 10 rows, more than "
            "guards.max_delete_fraction 0.2 allows",
        ]
