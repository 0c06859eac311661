"""A scene whose workdir is in an S3 server."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from pyarrow import fs
from typing_extensions import override

from qbcd import Project
from tests.faults.child import kill_at
from tests.support.places import Place
from tests.support.project import opened
from tests.support.s3_server import S3Server
from tests.support.scene import STREAM, Scene, same_events

BUCKET = "work"


def storage(s3: S3Server, folder: Path, endpoint: str = "") -> dict[str, Any]:
    """Return the section `storage`; credentials are in files."""
    for name in ("access_key", "secret_key"):
        (folder / name).write_text(s3.storage[name])
    keys = {name: f"${{file:{folder}/{name}}}" for name in ("access_key", "secret_key")}
    return {"endpoint": endpoint or s3.endpoint, "region": "us-east-1", **keys}


def objects(s3: S3Server, prefix: str) -> list[str]:
    """Return the names of the objects of a workdir."""
    found = s3.client().get_file_info(fs.FileSelector(f"{BUCKET}/{prefix}", recursive=True, allow_not_found=True))
    return sorted(info.path for info in found if info.type == fs.FileType.File)


class StoreScene(Scene):
    """A scene whose workdir is a bucket; the session is qbcd's own.

    Args:
        endpoint: Of a proxy in front of the server.
        spark: The section `spark`.
        more: Further keys of the table.
    """

    def __init__(
        self,
        place: Place,
        folder: Path,
        s3: S3Server,
        engine: str,
        *,
        endpoint: str = "",
        spark: dict[str, Any] | None = None,
        **more: Any,
    ) -> None:
        self.s3, self.prefix = s3, folder.name
        strategy = more.pop("strategy", {"type": "id_rcs", "rows_per_range": 4})
        super().__init__(place.url, folder, strategy, None, engine=engine, **more)  # type: ignore[arg-type]
        self.project.close()
        self.data |= {
            "workdir": f"s3://{BUCKET}/{self.prefix}",
            "local_folder": "local",
            "storage": storage(s3, folder, endpoint),
            "spark": spark or {"master": "local[2]"},
        }
        self.project = opened(self.data, folder)

    @override
    def again(self) -> Project:
        """Open the project a second time, as another host: with a local folder of its own."""
        return opened({**self.data, "local_folder": "elsewhere"}, self.folder)

    def restart(self) -> None:
        """Open the project again, as a new process on another host: without its local folder."""
        self.project.close()
        shutil.rmtree(self.folder / "local", ignore_errors=True)
        self.project = opened(self.data, self.folder)

    def survives_a_kill(self, point: str) -> None:
        """Kill a poller of its own process, driver included, at a point; the next poll continues exactly."""
        seen = self.seen()
        self.restart()  # a session of this process would hold the cores of a cluster
        kill_at(point, self.data, self.folder, None)
        self.restart()
        self.poll()
        same_events(seen, self.check())

    def objects(self) -> list[str]:
        """Return the names of the objects of the workdir."""
        return objects(self.s3, self.prefix)

    def check_parts(self) -> None:
        """Check that the workdir has the parts that the state names, and no others."""
        context = self.site.context
        with context.reading() as conn:
            named = {one.segment_id for one in context.store.segments(conn, STREAM)}
        named |= {header.location["part"] for header in self.sealed()}
        there = {path.split("/")[4] for path in self.objects()}
        assert {name for name in there if name.startswith(("segment", "batch", "fetch", "passing"))} == named
