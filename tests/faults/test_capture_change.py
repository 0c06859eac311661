"""Changes of the captured definition: events for the rows that differ, and for no others.

See docs/design/protocol.md#rule-16.

The user's request is the edited file. Guards count (docs/design/protocol.md#rule-17), and rows past a watermark are
left to the window (docs/design/protocol.md#rule-19).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import parts_of
from qbcd.errors import DeliveryError, GuardTripped, SchemaChanged, SourceChanged
from tests.faults.child import kill_at
from tests.support.changed_definitions import Captured, brief
from tests.support.places import Place, over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LATER = pytest.mark.campaign
KEEP_ROWS = ["mds", "ts", "id_rcs"]
REST = [pytest.param(name, marks=LATER) for name in ("id", "tdi", "hash", "ts_spark")]
EXIT = {"ts": "restriction_exit", "tdi": "restriction_exit"}


def image(event: dict[str, Any], side: str, *names: str) -> tuple[Any, ...] | None:
    """Return the values of an image, by name; None if there is none."""
    return None if event[side] is None else tuple(event[side].get(name, "absent") for name in names)


@over("name", [*KEEP_ROWS, *REST], elsewhere=["mds"])
def test_columns_come_and_go(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    with Captured(place, workspace, name, spark) as seen:
        seen.set("a", "'moved'", 2)
        seen.place.sql("UPDATE t SET c = 400 WHERE id = 4")  # the column is not captured yet
        seen.insert(50)
        seen.configure(columns="a b c")
        with pytest.raises(SchemaChanged, match="column c is captured from now on: the replica has what was"):
            seen.verify()
        found = sorted(seen.poll(), key=lambda e: e["after"]["id"])
        assert brief(found) == [("c", 50, None), ("u", 2, None)]
        assert "column c is captured from now on" in seen.warnings
        assert found[0]["changed"] == ["a"]
        known = 2 if name in ("ts", "tdi") else None  # found by a later window; the replica has c by then
        assert image(found[0], "before", "a", "c") == ("a2", known)
        assert image(found[0], "after", "a", "c") == ("moved", 2)
        assert seen.brief_poll() == []
        assert seen.verify() == []

        seen.set("c", "401", 4)
        (event,) = seen.poll()
        assert (event["changed"], image(event, "before", "c"), image(event, "after", "c")) == (["c"], (400,), (401,))

        seen.set("b", "'unseen'", 5)
        seen.set("c", "600", 6)
        seen.configure(columns="a c")
        (event,) = seen.poll()
        assert (event["op"], event["key"]["id"], event["changed"]) == ("u", 6, ["c"])
        assert (image(event, "before", "a", "b", "c"), image(event, "after", "b")) == (("a6", "absent", 6), ("absent",))
        assert "column b is no longer captured" in seen.warnings
        seen.configure(columns="a b c")  # its earlier value does not matter
        assert seen.brief_poll() == []
        seen.set("b", "'seen'", 5)
        (event,) = seen.poll()
        assert (event["changed"], image(event, "before", "b")) == (["b"], ("unseen",))
        assert seen.verify() == []


@over("name", ["id_rcs", *REST, *(pytest.param(n, marks=LATER) for n in ("ts", "mds", "digest"))], elsewhere=[])
def test_another_restriction(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    out = EXIT.get(name)
    with Captured(place, workspace, name, spark, guards={"max_delete_fraction": 0.3}) as seen:
        seen.set("a", "'moved'", 1, 4)
        seen.configure(where="region = 'EU'")
        found = seen.brief_poll()
        assert found == sorted([*(("d", i, out) for i in (4, 8, 12, 16, 20)), ("u", 1, None)])
        assert "the restriction changed" in seen.warnings
        seen.configure(where="region = 'EU' AND id > 0")  # a restriction that changes no row is applied as well
        assert seen.brief_poll() == []
        assert "the restriction changed" in seen.warnings
        assert seen.brief_poll() == []
        assert seen.warnings == []
        assert seen.verify() == []

        seen.configure(where="region = 'US'", columns="a b c")  # both at once, and more than the guards allow
        for _ in range(2):
            with pytest.raises(GuardTripped, match="15 deletes of 15 rows"):
                seen.poll()
        seen.configure(where="region = 'EU'", columns="a b")  # reverted
        seen.set("b", "'more'", 3)
        assert seen.brief_poll() == [("u", 3, None)]
        seen.configure(where="region = 'US' OR id < 4", columns="a b c")
        with pytest.raises(GuardTripped, match="12 deletes of 15 rows"):
            seen.poll()
        found = brief(seen.poll(accept_deletes=True))
        outside = [i for i in range(5, 20) if i % 4]
        assert found == sorted([*(("d", i, out) for i in outside), *(("c", i, None) for i in (4, 8, 12, 16, 20))])
        assert seen.verify() == []


@over("name", ["digest", pytest.param("remote", marks=LATER)], elsewhere=[])
def test_digests_alone(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    """The old digest shows which rows differ, as long as the source can compute it."""
    with Captured(place, workspace, name, spark) as seen:
        seen.set("a", "'moved'", 2)
        seen.configure(columns="a b c")
        assert seen.brief_poll() == [("u", 2, None)]
        seen.set("c", "400", 4)
        assert seen.brief_poll() == [("u", 4, None)]
        seen.place.sql("ALTER TABLE t DROP COLUMN b")
        seen.configure(columns="a c")
        with pytest.raises(SourceChanged, match=r"b is no longer captured, and this stream keeps no old values.*reset"):
            seen.poll()


@over("name", ["none"], elsewhere=[])
def test_rows_without_a_key(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    with Captured(place, workspace, name, spark) as seen:
        seen.place.sql("INSERT INTO t (id, a, b, c, region) VALUES (1, 'a1', 'b1', 7, 'EU')")  # a copy, except for c
        seen.place.sql("DELETE FROM t WHERE id = 2")
        seen.configure(columns="a b c")
        assert seen.brief_poll() == [("c", 1, None), ("d", 2, None)]
        seen.set("b", "'unseen'", 3)
        seen.configure(columns="a c")
        assert seen.brief_poll() == []
        assert seen.verify() == []


@over("name", ["mds", "id_rcs", *REST], elsewhere=[])
def test_a_dropped_column_is_left_out(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    with Captured(place, workspace, name, spark, columns=None, exclude=["at", "gone", "region"]) as seen:
        if name == "mds":  # a batch that has the column
            seen.set("a", "'first'", 9)
            seen.poll()
        seen.place.sql("ALTER TABLE t DROP COLUMN b")
        with pytest.raises(
            SchemaChanged, match=r"'b' of .* does not exist any more .*leave b out by `columns` or `exclude`"
        ):
            seen.poll()
        seen.set("a", "'moved'", 2)
        seen.configure(exclude=["at", "gone", "region", "b"])
        ((op, key, reason),) = seen.brief_poll()
        assert (op, key, reason) == ("u", 2, None if name in ("mds", "id", "tdi") else "audit")
        seen.place.sql("ALTER TABLE t ADD COLUMN b integer DEFAULT 5")  # another type, another column
        seen.configure(exclude=["at", "gone", "region"])
        if name == "mds":
            with pytest.raises(SchemaChanged, match="captured before, with another type, and batches that have it"):
                seen.poll()
            return
        assert seen.brief_poll() == []
        seen.set("b", "6", 3)
        assert seen.brief_poll() == [("u", 3, None)]


@over("name", ["id_rcs", pytest.param("mds", marks=LATER), *REST], elsewhere=[])
def test_other_digests(
    name: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A version of qbcd with another digest: all values are compared, without a confirmation."""
    with Captured(place, workspace, name, spark) as seen:
        connector = parts_of(seen.project).open_stream("s").source.connector
        monkeypatch.setattr(type(connector), "encoder_version", connector.encoder_version + 1)
        seen.set("a", "'moved'", 2)
        if name in ("id_rcs", "hash", "ts_spark"):
            with pytest.raises(SourceChanged, match="digests are computed, changed since the last poll"):
                seen.verify()
        ((op, key, reason),) = seen.brief_poll()
        assert (op, key, reason) == ("u", 2, None if name in ("mds", "id", "tdi") else "audit")
        assert any("every row was compared by its values" in warning for warning in seen.warnings)
        seen.set("a", "'moved on'", 2)
        assert seen.brief_poll() == [("u", 2, None)]
        assert seen.verify() == []


KILLED = [
    ("id_rcs", "before_commit"),
    pytest.param("mds", "after_commit", marks=LATER),
    pytest.param("mds", "before_commit", marks=LATER),
]


@over("name, point", KILLED, elsewhere=[])
def test_killed_in_the_middle(name: str, point: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    with Captured(place, workspace, name, spark) as seen:
        seen.set("a", "'moved'", 2)
        seen.configure(columns="b c", where="region = 'EU' OR id = 4")
        kill_at(point, seen.data, seen.folder, spark)
        left = [("d", i, None) for i in (8, 12, 16, 20)]
        assert seen.brief_poll() == sorted(left)
        seen.set("c", "0", 4)
        assert seen.brief_poll() == [("u", 4, None)]
        assert seen.verify() == []


@over("name", ["mds", pytest.param("id_rcs", marks=LATER)], elsewhere=[])
def test_a_typed_sink_gets_batches_of_both_definitions(
    name: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    lake = {"lake": {"type": "parquet", "path": "out/lake"}}
    with Captured(place, workspace, name, spark, sinks=["changes", "lake"], more_sinks=lake) as seen:
        seen.set("a", "'one'", 1)
        blocked = workspace / "out/lake"
        blocked.parent.mkdir(exist_ok=True)
        blocked.write_text("no folder")  # so that the first batch is delivered under the next plan
        with pytest.raises(DeliveryError):
            seen.poll()
        seen.set("b", "'two'", 2)
        seen.configure(columns="b c")
        blocked.unlink()
        seen.poll()
        found = sorted((workspace / "out/lake/s").glob("epoch=*/batch_seq=*"))
        images = [spark.read.parquet(str(folder)).select("after.*").collect() for folder in found]
        assert [[row.asDict() for row in rows] for rows in images] == [
            [{"id": 1, "a": "one", "b": "b1"}],
            [{"id": 2, "b": "two", "c": 2}],
        ]
