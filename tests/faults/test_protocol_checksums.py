"""A stored checksum is that of the row as last reported, even if the row changed meanwhile.

See docs/design/protocol.md#rule-12.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from qbcd.errors import Refused
from qbcd.strategies import Strategy, Tlcs
from tests.support import wait_until
from tests.support.places import Place, over
from tests.support.scene import STREAM, Scene
from tests.support.watched_polls import Watched, at_nth, brief, someone_waits

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMN = {"checksums": "column", "checksum_column": "chk"}
VARIANTS: dict[str, dict[str, Any]] = {
    "table": {},
    "column": COLUMN,
    "table_alive": {"deletes": False},
    "column_alive": {**COLUMN, "deletes": False},
}

MOST = ["table", "column", "column_alive", pytest.param("table_alive", marks=pytest.mark.campaign)]

TRIGGER = """
CREATE FUNCTION touched() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.n = clock_timestamp(); RETURN NEW; END$$;
CREATE TRIGGER touched BEFORE UPDATE ON t FOR EACH ROW EXECUTE FUNCTION touched()
"""


def watched(place: Place, folder: Path, variant: str) -> Watched:
    return Watched(place, folder, {"s": {"type": "tlcs", "rows_per_range": 4, **VARIANTS[variant]}}).fill()


def images_of(seen: Watched, key: int) -> list[tuple[Any, ...] | None]:
    """Poll once and return the new images of `key`; fail if another key has an event."""
    found = [event for batch in seen.poll() for event in batch]
    assert {event.key for event in found} <= {key}
    return [event.after for event in found]


def in_thread(seen: Watched, action: Callable[[], object], *, waits: bool) -> threading.Thread:
    """Start `action`; return when it is done, or waits for a lock."""
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    if waits:
        wait_until(lambda: someone_waits(seen.place), what="a wait for a row")
    else:
        thread.join(30)
    assert thread.is_alive() == waits
    return thread


def settled(seen: Watched, variant: str) -> None:
    """Check that replay gives the source and that polls find nothing more.

    Deleted rows do not count where the stream has no deletes.
    """
    source = seen.source()
    copy = seen.copies["s"]
    assert (copy if not variant.endswith("alive") else {key: copy[key] for key in source}) == source
    assert seen.poll() == []


# The trace: B is read, the application writes A again, u(B) is staged; u(A) must follow.
@over("variant", MOST, elsewhere=["column"])
def test_a_value_that_comes_back_while_its_successor_is_staged(variant: str, place: Place, workspace: Path) -> None:
    held = "column" in variant  # the write-back holds the row's lock until it is committed
    with watched(place, workspace, variant) as seen:
        threads = []
        for key, point in enumerate(("after_fetch", "after_stage"), 2):
            waits = held and point == "after_stage"

            def back(key: int = key, waits: bool = waits) -> None:
                threads.append(in_thread(seen, lambda: seen.update(key, f"old {key}"), waits=waits))

            seen.update(key, "B")
            with at_nth(point, 1, back):
                assert images_of(seen, key) == [(key, "B", 0)]
            threads.pop().join(30)
            assert images_of(seen, key) == [(key, f"old {key}", 0)]
        settled(seen, variant)


# The reverse: the application has the lock, and the write-back waits for the value that it will overwrite.
@over("variant", ["column", "column_alive"], elsewhere=["column"])
def test_a_write_back_that_waits_for_a_writer(variant: str, place: Place, workspace: Path) -> None:
    with watched(place, workspace, variant) as seen, place.connect() as writer:
        seen.update(2, "B")

        def committed() -> None:
            wait_until(lambda: someone_waits(place), what="the write-back")
            writer.commit()

        def open_writer() -> None:
            seen.update(2, "old 2", writer)
            threading.Thread(target=committed, daemon=True).start()

        with at_nth("after_fetch", 1, open_writer):
            assert images_of(seen, 2) == [(2, "B", 0)]
        assert images_of(seen, 2) == [(2, "old 2", 0)]
        settled(seen, variant)


@over("variant", MOST, elsewhere=["column"])
def test_rows_that_go_and_return_while_they_are_staged(variant: str, place: Place, workspace: Path) -> None:
    with watched(place, workspace, variant) as seen:
        for key in (2, 3, 4):
            seen.update(key, "B")
        seen.insert(101, "new")
        seen.insert(102, "new")

        def meanwhile() -> None:
            for key in (2, 3, 4, 101):
                seen.delete(key)
            seen.insert(2, "C")
            seen.insert(3, "B")
            seen.update(102, "newer")
            seen.insert(103, "new")

        with at_nth("after_fetch", 1, meanwhile):  # of the only step: 12 rows are fewer than a step has
            found = [event for batch in seen.poll() for event in batch]
        assert {event.after[0]: event.after[1] for event in found if event.after} == {
            2: "B",
            3: "B",
            4: "B",
            101: "new",
            102: "new",
        }
        seen.poll()
        settled(seen, variant)


# A checksum from elsewhere proves nothing: a copied row has that of another key, a new one an arbitrary value.
@pytest.mark.parametrize("deletes", [True, False])
def test_checksums_that_the_application_carries_along(deletes: bool, place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": {"type": "tlcs", **COLUMN, "deletes": deletes}}).fill() as seen:
        seen.run("INSERT INTO t (id, v, chk) SELECT id + 100, v, chk FROM t WHERE id < 4")
        seen.run("UPDATE t SET id = 200 WHERE id = 7")
        seen.run("UPDATE t SET chk = NULL WHERE id = 8; UPDATE t SET chk = 0 WHERE id = 9")
        found = {event.key: event.op for batch in seen.poll() for event in batch}
        new = "c" if deletes else "u"
        others = {7: "d"} if deletes else {8: "u", 9: "u"}  # with the keys, the replica has digests of its own
        assert found == {101: new, 102: new, 103: new, 200: new} | others
        settled(seen, "" if deletes else "alive")


@over("variant", ["column", pytest.param("table", marks=pytest.mark.campaign)], elsewhere=["column"])
def test_a_row_that_is_deleted_and_inserted_again_is_no_change(variant: str, place: Place, workspace: Path) -> None:
    with watched(place, workspace, variant) as seen:
        for key, value in ((2, "old 2"), (3, "new")):
            seen.delete(key)
            seen.insert(key, value)
        assert brief(seen.poll()) == [[(3, "u")]]
        settled(seen, variant)


# A row that the application restores from a copy has the checksum that it had then.
@pytest.mark.campaign
@over()
def test_a_row_that_is_restored_with_its_old_checksum(place: Place, workspace: Path) -> None:
    with watched(place, workspace, "column") as seen:
        seen.run("CREATE TABLE saved AS SELECT * FROM t WHERE id = 2")
        seen.update(2, "B")
        assert images_of(seen, 2) == [(2, "B", 0)]
        seen.run("DELETE FROM t WHERE id = 2; INSERT INTO t SELECT * FROM saved")
        assert images_of(seen, 2) == [(2, "old 2", 0)]
        settled(seen, "column")


# A stream that version 0.1 prepared has only keys in its replica, so the column decides.
def test_a_replica_of_keys_is_polled_on(place: Place, workspace: Path) -> None:
    with patch.object(Tlcs, "freeze_options", Strategy.freeze_options):
        seen = watched(place, workspace, "column")
    with seen:
        seen.update(1, "B")
        seen.delete(2)
        seen.insert(2, "old 2")
        seen.delete(3)
        seen.insert(100, "new")
        assert brief(seen.poll()) == [[(1, "u"), (2, "u"), (3, "d"), (100, "c")]]
        settled(seen, "column")


# A write of the checksum that changes the checked columns is refused, since every row would be reported for ever.
@over()
def test_a_table_that_changes_when_its_checksum_is_written(place: Place, workspace: Path) -> None:
    first = place.kind == "postgresql"
    at = "timestamptz" if first else "timestamp(6) NULL DEFAULT now(6) ON UPDATE now(6)"
    ways = {"s": {"type": "tlcs", **COLUMN}, "table": {"type": "tlcs"}}
    with Watched(place, workspace, ways, columns=f"v varchar(40), n {at}, chk bigint") as seen:
        if first:
            seen.run(TRIGGER)
        with pytest.raises(Refused, match=r"changes captured columns itself .*'chk' is written.*checksums: table"):
            seen.fill()
        assert seen.place.sql("SELECT count(chk) FROM t") == [(0,)]
        seen.prepare("table")
        assert seen.poll("table") == []


# With a lake replica of checksums and without deletes, deleted keys stay in the replica, and `verify` does not list
# them. Other differences are listed.
def test_verify_lists_no_deletes_that_are_not_reported(place: Place, workspace: Path, spark: SparkSession) -> None:
    remote = {"type": "tlcs", "checksums": "remote", "deletes": False, "rows_per_range": 4}
    with Scene(place.url, workspace, remote, spark) as scene:
        scene.begin()
        verify = scene.project.stream(STREAM).verify
        assert verify() == []
        place.sql("DELETE FROM t WHERE id IN (2, 8)")
        for _ in range(2):
            report = scene.poll().report
            assert report is not None
            assert report.header is None
        assert verify() == []
        place.sql("DELETE FROM t WHERE id = 9; UPDATE t SET v = 'not polled' WHERE id = 7")
        place.insert("t", [(500, "not polled", 0)])
        assert sorted((d.op, d.key) for d in verify()) == [("c", "500"), ("u", "7")]
