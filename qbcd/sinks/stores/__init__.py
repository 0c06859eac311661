"""Stores: places where sinks of files keep them, a local folder or an object store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.sinks.stores.base import Store, StoredFile
    from qbcd.sinks.stores.local import LocalStore
    from qbcd.sinks.stores.remote import RemoteStore
else:
    __getattr__ = on_demand(__name__, base="Store StoredFile", local="LocalStore", remote="RemoteStore")

__all__ = ["LocalStore", "RemoteStore", "Store", "StoredFile"]
