"""Rows of catalog queries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.engine import Connection


def rows_of(conn: Connection, sql: str, params: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return the rows of a catalog query as dicts."""
    return [dict(r) for r in conn.exec_driver_sql(sql, dict(params or {})).mappings()]
