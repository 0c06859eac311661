"""Options of the sinks `delta` and `iceberg`."""

from __future__ import annotations

from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationInfo, field_validator, model_validator
from typing_extensions import override

from qbcd.config.databases import STATE_DATABASES
from qbcd.config.fields import Filled, Interval, Names, Switch, base_dir_of, local_path, wrong
from qbcd.config.storage import StorePath
from qbcd.config.urls import is_memory_database, parse_url
from qbcd.sinks.table.options import AppliedOptions

Hard = Literal["hard"]
_SHARED = ("mode", "deletes", "envelope", "table", "columns_like", "unsupported", "partition_by")


class LakeOptions(AppliedOptions):
    """A table per stream in a lake format.

    Attributes:
        partition_by: Columns by whose values a new table is parted.
    """

    partition_by: Names = Field(default_factory=list)

    @property
    @override
    def options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in _SHARED}


class DeltaOptions(LakeOptions):
    """A Delta table per stream under `path`: a mirror, a history, or a log.

    Attributes:
        path: A local or mounted folder, or a URL such as ``s3://BUCKET/FOLDER``.
        storage_options: Settings of the object store, as the library `deltalake` names them; secrets as
            ``${env:NAME}`` or ``${file:/path}``.
        change_data_feed: New tables record their changes for readers of Delta's change data feed.
        optimize: Time between two compactions of small files; without it there are none.
        vacuum: Age at which a compaction removes files that no longer belong to the table; without it none are.
    """

    type: Literal["delta"]
    path: StorePath
    storage_options: dict[str, SecretStr] = Field(default_factory=dict)
    change_data_feed: Switch = False
    optimize: Interval | None = None
    vacuum: Interval | None = None

    @model_validator(mode="after")
    def _store(self) -> DeltaOptions:
        if str(self.path).startswith("hdfs:"):
            raise wrong("Delta tables on HDFS are not built yet", "use s3://, gs:// or a folder", at="path")
        if self.vacuum is not None and self.optimize is None:
            raise wrong("`vacuum` is done after compactions", "add `optimize`, such as 1d", at="vacuum")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        stores = {name: value.get_secret_value() for name, value in self.storage_options.items()}
        own = {name: getattr(self, name) for name in ("path", "change_data_feed", "optimize", "vacuum")}
        return {**super().options, **own, "storage_options": stores}


class IcebergOptions(LakeOptions):
    """An Iceberg table per stream in a catalog: a mirror, or a log.

    Attributes:
        catalog: ``name`` of the catalog, and its properties, as the library `pyiceberg` names them; secrets as
            ``${env:NAME}`` or ``${file:/path}``.
        namespace: Namespace of the tables; it is created.
        expire: Age of snapshots that are removed; without it all stay.
        deletes: Deleted rows of a mirror are removed.
    """

    type: Literal["iceberg"]
    catalog: dict[str, SecretStr] = Field(min_length=1)
    namespace: Filled = "qbcd"
    deletes: Hard = "hard"
    expire: Interval | None = None

    @field_validator("catalog")
    @classmethod
    def _absolute(cls, catalog: dict[str, SecretStr], info: ValidationInfo) -> dict[str, SecretStr]:
        """Return the properties; relative paths of an SQL catalog start as others of the file do."""
        plain, base = {name: value.get_secret_value() for name, value in catalog.items()}, base_dir_of(info)
        uri, warehouse = plain.get("uri", ""), plain.get("warehouse", "")
        if uri.startswith("sqlite"):
            url = parse_url(uri)
            if is_memory_database(url) or "uri" in url.query:
                raise wrong("an SQLite catalog is a file", "write sqlite:///catalog.db", at="uri")
            plain["uri"] = str(url.set(database=str(local_path(url.database, base, at="uri"))))
        if uri.startswith(STATE_DATABASES) and warehouse:
            parts = urlsplit(warehouse)
            if parts.scheme == "file" and (parts.netloc or not parts.path.startswith("/")):
                raise wrong("not the URL of a folder", "write file:///absolute/path, or the path alone", at="warehouse")
            if not parts.scheme:
                plain["warehouse"] = f"file://{local_path(warehouse, base, at='warehouse')}"
        return {name: SecretStr(value) for name, value in plain.items()}

    @property
    @override
    def options(self) -> dict[str, Any]:
        catalog = {name: value.get_secret_value() for name, value in self.catalog.items()}
        return {**super().options, "catalog": catalog, "namespace": self.namespace, "expire": self.expire}
