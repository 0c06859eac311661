"""Sink `iceberg`: an Iceberg table per stream, by `pyiceberg` and any of its catalogs."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urlsplit

from typing_extensions import override

from qbcd.errors import DeliveryError
from qbcd.sinks.lake.iceberg_table import FILE, FILE_SIZE, OWNER, RETRIES, IcebergTableOfSink
from qbcd.sinks.lake.lake_options import IcebergOptions
from qbcd.sinks.lake.lake_sink import LakeSink
from qbcd.sinks.lake.tables import LakeFormat, LakeTable, owner_text
from qbcd.sinks.table.record import TableOwner
from qbcd.stores.folders import check_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog

TIDY = {  # of new tables: commits of small batches otherwise take longer and longer, and files are read as a whole
    FILE_SIZE: str(FILE),
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "20",
    "write.metadata.delete-after-commit.enabled": "true",
}


class IcebergSink(LakeSink):
    """Applies batches to Iceberg tables.

    Args:
        catalog: Properties of a catalog of `pyiceberg`.
        namespace: Namespace of the tables, which is created.
        expire: Age of snapshots that are removed.
        options: Options of :class:`LakeSink`.
    """

    options_class = IcebergOptions

    def __init__(
        self,
        name: str,
        catalog: Mapping[str, str],
        namespace: str = "qbcd",
        *,
        expire: timedelta | None = None,
        **options: Any,
    ) -> None:
        super().__init__(name, **options)
        self._catalog, self._namespace, self.expire = dict(catalog), namespace, expire

    @override
    def tidy(self, table: LakeTable) -> bool:
        return isinstance(table, IcebergTableOfSink) and self.expire is not None and table.expire(self.expire)

    @override
    def made_format(self) -> LakeFormat:
        return IcebergFormat(self._catalog, self._namespace)


class IcebergFormat(LakeFormat):
    """Iceberg tables in a namespace of a catalog."""

    product = "Iceberg"
    remedy = "correct `catalog`, or make the catalog and its files reachable"
    widens: ClassVar[Mapping[str, tuple[str, ...]]] = {"int32": ("int64",), "float": ("double",)}

    def __init__(self, catalog: dict[str, str], namespace: str) -> None:
        self._properties, self._namespace = catalog, namespace
        place = [catalog.get(name, "") for name in ("name", "type", "uri", "warehouse")]
        self.identity = "/".join([*place, namespace])

    @cached_property
    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        properties = {name: value for name, value in self._properties.items() if name != "name"}
        return load_catalog(self._properties.get("name", "default"), **properties)

    @override
    def find(self, name: str) -> LakeTable | None:
        from pyiceberg.exceptions import NoSuchTableError

        try:
            return IcebergTableOfSink(self._catalog.load_table((self._namespace, name)))
        except NoSuchTableError:
            return None

    @override
    def create(self, name: str, schema: pa.Schema, partition_by: tuple[str, ...], owner: TableOwner) -> LakeTable:
        self._catalog.create_namespace_if_not_exists(self._namespace)
        properties = {**RETRIES, **TIDY, OWNER: owner_text(owner)}
        with self._catalog.create_table_transaction((self._namespace, name), schema, properties=properties) as made:
            if partition_by:
                with made.update_spec() as spec:
                    for column in partition_by:
                        spec.add_identity(column)
        return IcebergTableOfSink(self._catalog.load_table((self._namespace, name)))

    @override
    def check(self, sink: str) -> None:
        from pyiceberg.catalog import MetastoreCatalog
        from pyiceberg.io import load_file_io

        catalog = self._catalog
        catalog.list_namespaces()
        if not isinstance(catalog, MetastoreCatalog):  # a REST catalog gives places, and their logins, by table
            return
        there = catalog.namespace_exists(self._namespace)
        found = (there and catalog.load_namespace_properties(self._namespace).get("location")) or ""
        place = (found or catalog.properties.get("warehouse", "")).rstrip("/")
        if not place:
            raise DeliveryError(f"sink {sink}: `catalog` has no `warehouse`", remedy="add it: a folder, or a URL")
        if place.startswith(("file:", "/")):
            check_folder(sink, Path(urlsplit(place).path))
            return
        store, probe = load_file_io(catalog.properties, place), f"{place}/.qbcd-check-{uuid.uuid4().hex}"
        with store.new_output(probe).create() as file:
            file.write(b"{}")
        store.delete(probe)
