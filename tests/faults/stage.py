"""Scenes that live through the kills of a whole module, and lists of what kills left behind."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.sites import Files, LakeSite, Site
from qbcd.sites.lake.notes import LeafNote
from qbcd.state import Owner
from qbcd.stores.base import ATTEMPTS
from tests.support.places import new_place, server_of
from tests.support.scene import STREAM, Scene
from tests.support.stamped_scene import scene_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Stage:
    """The scenes of a module, one per kind of database, strategy and sink, made on demand."""

    def __init__(self, request: pytest.FixtureRequest, folder: Path, spark: SparkSession) -> None:
        self.request, self.folder, self.spark = request, folder, spark
        self.scenes: dict[tuple[str, str, str], Scene] = {}
        self.left = ExitStack()

    def scene(self, kind: str, strategy: str, sink: str = "jsonl") -> Scene:
        """Return the scene of these kinds."""
        if (kind, strategy, sink) not in self.scenes:
            place = self.left.enter_context(new_place(server_of(self.request, kind), kind))
            sinks = {"changes": {"type": sink, "path": "out/changes"}}
            folder = self.folder / f"{kind}-{strategy}-{sink}"
            folder.mkdir()
            scene = scene_of(place.url, folder, strategy, self.spark, sinks=sinks, baseline="events")
            self.scenes[kind, strategy, sink] = self.left.enter_context(scene)
            scene.make_table()
            scene.prepare()
        return self.scenes[kind, strategy, sink]


def lease_of(scene: Scene) -> int:
    """Return the process id of the lease's owner according to the store."""
    site = scene.site
    with site.context.reading() as conn:
        table = site.context.store.tables.lease
        owner = conn.execute(table.select().where(table.c.stream == STREAM)).one().owner
    return Owner.parse(owner).pid


def range_ids(scene: Scene) -> set[int]:
    """Return the ids of the stream's key ranges; none for a strategy without ranges."""
    site = scene.site
    with site.context.reading() as conn:
        return {r.range_id for r in site.context.store.ranges(conn, STREAM)}


def rubbish(scene: Scene) -> list[str]:
    """Return the files and rows that the kills of a scene left behind."""
    return left_behind(scene.site, scene.folder)


def left_behind(site: Site, folder: Path) -> list[str]:
    """Return folders of the workdir that no commit names, and attempts in sinks."""
    left = [str(path) for path in (folder / "out").rglob(f"{ATTEMPTS}/*")]
    if isinstance(site, LakeSite):
        with site.context.reading() as conn:
            named = {s.segment_id for s in site.context.store.segments(conn, site.context.stream)}
        named |= {h.location["part"] for h in site.context.batches()}
        row = site.context.row()
        named |= {LeafNote.from_checkpoint(row.checkpoint).part} if row else set()
        files: Files = site.context.files
        left += [p.name for p in files.root.iterdir() if p.name not in named]
    return left
