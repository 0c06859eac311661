"""Tables with the rows of a source begin with all of them: a baseline, a resend, or what follows an empty baseline."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import DeliveryError
from qbcd.model import ResentRows
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.table_batches import EPOCH, FORMS, DrawnTable, MadeBatch, batch_of, event, pieces, planned
from tests.support.table_targets import SqlitePlace, TargetPlace, new_target

LOST = "the target has no record of batches before"
STATES = {"mirror": "", "scd2": "WHERE valid_to IS NULL"}


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target("sqlite", request, tmp_path) as place:
        yield place


def path_of(target: TargetPlace) -> Path:
    return Path(target.url.removeprefix("sqlite:///"))


def rows_of_replica(table: DrawnTable, seq: int, epoch: int = EPOCH) -> MadeBatch:
    """Return all rows of a table as a resend after batch `seq`."""
    events = [event("r", None, row) for row in table.rows.values()]
    made = batch_of(events, seq, epoch=epoch)
    known = {name: getattr(made.header, name) for name in type(made.header).__dataclass_fields__}
    return MadeBatch(ResentRows(**{**known, "fingerprint": f"resent {seq}"}, label="resend-1"), made.made)


@pytest.mark.parametrize("mode", STATES)
def test_a_table_that_was_lost_gets_no_changes_until_a_resend(mode: Any, file: TargetPlace) -> None:
    table, sink = DrawnTable(3), DatabaseSink("copy", file.url, mode=mode)
    for batch, _ in pieces(table, 3):
        sink.write(batch)
    path_of(file).unlink()
    change = batch_of(table.change(), 4)
    with pytest.raises(DeliveryError, match=LOST) as error:
        sink.write(change)
    assert "qbcd resend orders copy" in error.value.remedy
    assert file.sql("SELECT name FROM sqlite_master") == [], "not even the table of the records"
    sink.write(rows_of_replica(table, 4))
    assert file.state(STATES[mode]) == file.of(table.rows)
    sink.write(batch_of(table.change(), 5))
    assert file.state(STATES[mode]) == file.of(table.rows)


@pytest.mark.parametrize("mode", STATES)
def test_a_new_epoch_whose_baseline_was_skipped_needs_a_resend(mode: Any, file: TargetPlace) -> None:
    table, sink = DrawnTable(3), DatabaseSink("copy", file.url, mode=mode)
    for batch, _ in pieces(table, 3):
        sink.write(batch)
    before = file.state(STATES[mode])
    with pytest.raises(DeliveryError, match=rf"has batch {EPOCH}/3, and batch {EPOCH + 1}/5 is not the first"):
        sink.write(batch_of(table.change(), 5, epoch=EPOCH + 1))
    assert file.state(STATES[mode]) == before
    sink.write(rows_of_replica(table, 5, EPOCH + 1))
    assert file.state(STATES[mode]) == file.of(table.rows)


def test_a_baseline_after_batches_that_were_discarded_begins_an_epoch(file: TargetPlace) -> None:
    table, sink = DrawnTable(3), DatabaseSink("copy", file.url)
    sink.write(batch_of(table.baseline(), 1))
    ((baseline, rows),) = pieces(DrawnTable(8, rows=5), 1, first=9, epoch=EPOCH + 1)
    sink.write(baseline)
    assert file.state() == file.of(rows)


def test_a_claim_knows_the_number_of_the_first_batch(file: TargetPlace) -> None:
    """The source had no rows when the stream was prepared, and its first batch has inserts."""
    table, sink = DrawnTable(3), DatabaseSink("copy", file.url)
    sink.claim(planned(dict(FORMS), ("id", "part"), epoch=EPOCH, seq=3))
    new = [{**one, "op": "c"} for one in table.baseline()]
    with pytest.raises(DeliveryError, match=rf"the table has no batch, and batch {EPOCH}/5 is not the first"):
        sink.write(batch_of(new, 5))
    sink.write(batch_of(new, 4))
    sink.claim(planned(dict(FORMS), ("id", "part"), epoch=EPOCH + 1, seq=4))
    sink.write(batch_of(table.change(), 5))
    assert file.state() == file.of(table.rows)


def test_a_new_log_begins_with_any_batch(file: TargetPlace) -> None:
    table, sink = DrawnTable(3), DatabaseSink("copy", file.url, mode="log")
    table.baseline()
    changes = table.change()
    sink.write(batch_of(changes, 17))
    assert file.sql("SELECT count(*) FROM public_orders") == [(len(changes),)]


def test_a_sink_that_names_another_place_needs_a_resend(place: Place, workspace: Path) -> None:
    """So does one whose baseline of a new epoch was passed over."""
    place.sql("CREATE TABLE t (k int PRIMARY KEY, n int)")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    table = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events"}
    one, two = workspace / "one", workspace / "two"
    for folder in (one, two):
        folder.mkdir()

    def at(folder: Path) -> dict[str, Any]:
        url = f"sqlite:///{folder}/copy.db"
        return config(place.url, table, sinks={"copy": {"type": "database", "url": url, "table": "copy"}})

    def rows(folder: Path) -> list[Any]:
        return SqlitePlace(f"sqlite:///{folder}/copy.db").sql("SELECT k, n FROM copy ORDER BY k")

    with opened(at(one), workspace) as project:
        project.prepare()
    place.sql("UPDATE t SET n = 0 WHERE k = 1")
    with opened(at(two), workspace) as project:
        with pytest.raises(DeliveryError, match=LOST):
            poll(project)
        project.stream("s").resend("copy")
        place.sql("UPDATE t SET n = 0 WHERE k = 2")
        poll(project)
        assert rows(two) == [(1, 0), (2, 0), (3, 3)]
        stream = project.stream("s")
        stream.reset()
        shutil.move(two, workspace / "away")
        assert stream.prepare().failures
        status = project.status("s")[0]
        stream.skip("copy", f"{status.epoch}/{status.batches}")
    shutil.move(workspace / "away", two)
    place.sql("UPDATE t SET n = 7 WHERE k = 3")
    with opened(at(two), workspace) as project:
        with pytest.raises(DeliveryError, match="is not the first one of a new epoch"):
            poll(project)
        assert len(rows(two)) == 3
        project.stream("s").resend("copy")
        assert rows(two) == [(1, 0), (2, 0), (3, 7)]
