"""Another server under a stream with a source replica: refused, or compared in full.

See docs/design/protocol.md#rule-16.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.common import hooks
from qbcd.errors import Refused, SourceChanged
from tests.support.oracle import batches
from tests.support.places import FIRST, over
from tests.support.project import config, opened, poll
from tests.support.stamped_scene import StampedScene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tests.support.places import Place


@pytest.mark.parametrize("strategy", ["ts", *(pytest.param(s, marks=pytest.mark.campaign) for s in ("id", "tdi"))])
def test_all_values_are_compared(strategy: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    with StampedScene(place.url, workspace, strategy, spark, table="t") as scene:
        scene.begin()
        last = max(scene.check())
    other = place.copy_to(f"{place.name}_b")
    try:
        with StampedScene(other.url, workspace, strategy, spark, table="t") as moved:
            moved.base, moved.changes = scene.base, scene.changes
            moved.place.sql("UPDATE t SET v = 'not by its time' WHERE id = 5; DELETE FROM t WHERE id = 6")
            with pytest.raises(SourceChanged, match=r"another server or database.*--accept-source"):
                moved.poll()
            moved.poll(accept_source=True)
            seen = moved.check()
            changes = {(e["op"], e["key"]["id"]) for number in seen if number > last for e in seen[number]}
            assert changes == {("u", 5), ("d", 6)}
            moved.change()
            moved.poll()
            moved.check()
            assert moved.project.stream("s").verify() == []
    finally:
        other.drop()


@over(without={FIRST: None})
def test_another_database_of_the_same_server_is_refused(place: Place, workspace: Path) -> None:
    """A table without a schema is that of the URL's database; the one of before must not be read in its place."""
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(9)); INSERT INTO t VALUES (1, 'a')")
    data = config(place.url, {"name": "s", "table": "t", "strategy": "id_rcs"})
    with opened(data, workspace) as project:
        project.stream("s").prepare()
    other = place.copy_to(f"{place.name}_b")
    try:
        data["sources"]["shop"]["url"] = other.url
        with opened(data, workspace) as project:
            for accept in (False, True):
                with pytest.raises(SourceChanged, match=rf"prepared for {place.name}\.t, and .* {other.name} "):
                    poll(project, "s", accept_source=accept)
        data["sources"]["shop"]["url"] = place.url
        with opened(data, workspace) as project:
            assert poll(project, "s")[0].error is None
    finally:
        other.drop()


def test_without_old_values_it_is_refused(place: Place, workspace: Path, spark: SparkSession) -> None:
    with StampedScene(place.url, workspace, "tlcs", spark, table="t") as scene:
        scene.begin()
    other = place.copy_to(f"{place.name}_b")
    try:
        with StampedScene(other.url, workspace, "tlcs", spark, table="t") as moved:
            before = moved.fingerprint()
            with pytest.raises(SourceChanged, match=r"keeps no old values.*consumers must reload"):
                moved.poll(accept_source=True)
            assert moved.fingerprint() == before
    finally:
        other.drop()


@pytest.mark.parametrize("replica", ["digest", pytest.param("lake", marks=pytest.mark.campaign)])
def test_digests_prove_nothing_there(replica: str, place: Place, workspace: Path) -> None:
    """Digests of a query's rows are refused; a lake replica has values, and all digests are stored again."""
    name = place.table("t")
    query = {"query": f"SELECT id, v FROM {name}", "key": ["id"]}
    digests = {**query, "strategy": {"type": "vbd", "variant": "compare", "replica": "digest"}}
    stream = digests if replica == "digest" else {"table": "t", "strategy": {"type": "tlcs", "replica": "lake"}}
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v integer); INSERT INTO t VALUES (1, 1), (2, 2), (3, 3)")
    with opened(config(place.url, {"name": "s", "baseline": "silent", **stream}), workspace) as project:
        project.stream("s").prepare()
    other = place.copy_to(f"{place.name}_b")
    try:
        other.sql("UPDATE t SET v = -2 WHERE id = 2")
        with opened(config(other.url, {"name": "s", "baseline": "silent", **stream}), workspace) as project:
            with pytest.raises(SourceChanged):
                poll(project, "s")
            if replica == "digest":
                with pytest.raises(SourceChanged, match="keeps no old values"):
                    poll(project, "s", accept_source=True)
                return
            poll(project, "s", accept_source=True)
            other.sql("UPDATE t SET v = -3 WHERE id = 3")
            poll(project, "s")
            assert project.stream("s").verify() == []
        events = [[(e["op"], e["key"]["id"]) for e in batch] for _, batch in batches(workspace / "out/changes", "s")]
        assert events == [[("u", 2)], [("u", 3)]]
    finally:
        other.drop()


def test_nothing_is_purged_there(place: Place, workspace: Path, spark: SparkSession) -> None:
    """Check that deliveries for one server purge no flagged row of another server."""
    with StampedScene(place.url, workspace, "tdi", spark, table="t") as scene:
        scene.begin()
        scene.change()
        scene.poll()
        flagged = scene.flagged_rows()
        assert len(flagged) == 2
    other = place.copy_to(f"{place.name}_b")
    try:
        with StampedScene(other.url, workspace, "tdi", spark, table="t") as moved:
            with pytest.raises(SourceChanged, match="another server or database"):
                moved.poll()
            assert moved.flagged_rows() == flagged
    finally:
        other.drop()


class Stopped(BaseException):
    """The exception with which a hook ends a poll."""


def test_an_open_batch_keeps_a_stream_from_being_forgotten(place: Place, workspace: Path, spark: SparkSession) -> None:
    """Check that rows found by a pass but not yet sealed count as undelivered."""

    def stop() -> None:
        raise Stopped

    with StampedScene(place.url, workspace, "id", spark) as scene:
        scene.begin()
        scene.change()
        hooks.register("before_seal", stop)
        try:
            with pytest.raises(Stopped):
                scene.poll()
        finally:
            hooks.register("before_seal", None)
        row = scene.site.context.row()
        assert row is not None
        assert row.checkpoint["open"]["counts"] == {"c": 1, "u": 2, "d": 1}
        with pytest.raises(Refused, match="1 batch is not delivered"):
            scene.project.stream("s").reset()
        scene.poll()
        assert len(scene.check()) == 2
        scene.project.stream("s").reset()
