"""Stores: places where sinks of files keep them, a local folder or an object store."""

from __future__ import annotations

from qbcd.sinks.stores.base import Store, StoredFile
from qbcd.sinks.stores.local import LocalStore
from qbcd.sinks.stores.remote import RemoteStore

__all__ = ["LocalStore", "RemoteStore", "Store", "StoredFile"]
