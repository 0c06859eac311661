"""Sink `delta`: a Delta table per stream, by the library `deltalake`, without Spark."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.sinks.lake.delta_table import OWNER, DeltaTableOfSink
from qbcd.sinks.lake.lake_options import DeltaOptions
from qbcd.sinks.lake.lake_sink import LakeSink
from qbcd.sinks.lake.tables import LakeFormat, LakeTable, owner_text
from qbcd.sinks.table.record import TableOwner
from qbcd.stores.folders import check_folder

if TYPE_CHECKING:
    import pyarrow as pa

_COLOR = re.compile("\x1b\\[[0-9;]*m")


class DeltaSink(LakeSink):
    """Applies batches to Delta tables.

    Args:
        path: Folder or URL of the tables.
        storage_options: Settings of an object store, with credentials.
        change_data_feed: New tables record their changes.
        optimize: Time between two compactions of small files.
        vacuum: Age at which files are removed that no longer belong to a table.
        options: Options of :class:`LakeSink`.
    """

    options_class = DeltaOptions
    takes_urls = True

    def __init__(
        self,
        name: str,
        path: Path | str,
        storage_options: Mapping[str, str] | None = None,
        *,
        change_data_feed: bool = False,
        optimize: timedelta | None = None,
        vacuum: timedelta | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self.path, self._storage = path, dict(storage_options or {})
        self.change_data_feed, self.optimize, self.vacuum = change_data_feed, optimize, vacuum

    @override
    def tidy(self, table: LakeTable) -> bool:
        if self.optimize is None or not isinstance(table, DeltaTableOfSink):
            return False
        return table.compact(self.optimize, self.vacuum)

    @override
    def made_format(self) -> LakeFormat:
        return DeltaFormat(str(self.path).rstrip("/"), self._storage, self.change_data_feed)


class DeltaFormat(LakeFormat):
    """Delta tables under a folder or URL."""

    product = "Delta"
    remedy = "correct `path` or `storage_options`, or make the place reachable"
    empty_is_null = True

    def __init__(self, path: str, storage: dict[str, str], change_data_feed: bool) -> None:
        self.identity = path if "://" in path else str(Path(path).resolve())
        self._storage, self._feed = storage, change_data_feed

    @override
    def find(self, name: str) -> LakeTable | None:
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        try:
            return DeltaTableOfSink(DeltaTable(self._place(name), storage_options=self._storage))
        except TableNotFoundError:
            return None

    @override
    def create(self, name: str, schema: pa.Schema, partition_by: tuple[str, ...], owner: TableOwner) -> LakeTable:
        from deltalake import DeltaTable

        feed = {"delta.enableChangeDataFeed": "true"} if self._feed else {}
        made = DeltaTable.create(
            self._place(name),
            schema,
            partition_by=list(partition_by) or None,
            configuration={OWNER: owner_text(owner), **feed},
            storage_options=self._storage,
            raise_if_key_not_exists=False,
        )
        return DeltaTableOfSink(made)

    @override
    def check(self, sink: str) -> None:
        import pyarrow as pa
        from deltalake.fs import DeltaStorageHandler

        if "://" not in self.identity:
            check_folder(sink, Path(self.identity))
            return
        store, probe = DeltaStorageHandler(self.identity, self._storage), f".qbcd-check-{uuid.uuid4().hex}"
        with pa.BufferedOutputStream(store.open_output_stream(probe), 64) as file:  # unbuffered, the library fails
            file.write(b"{}")
        store.delete_file(probe)

    @override
    def explained(self, error: Exception) -> str:
        causes = str(error).split("\u21b3")[1:]  # one a line, in color
        return ": ".join([super().explained(error), *(" ".join(_COLOR.sub("", one).split()) for one in causes)])

    @override
    def unfit_name(self, name: str) -> str:
        found = next((one for one in " ,;{}()\n\t=" if one in name), "")
        return f"has the character {found!r}, which readers of Delta refuse" if found else ""

    def _place(self, name: str) -> str:
        return f"{self.identity}/{name}"
