"""Names of the streams in a configuration as written, without a check of the rest."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from qbcd.config.document import parse_yaml
from qbcd.config.fields import NAME_PATTERN, split_table
from qbcd.config.loader import read_text
from qbcd.errors import ConfigError


def names_in(path: Path) -> list[str]:
    """Return the names of streams with an entry of their own; none if the file is unreadable.

    The names of tables that match a pattern are only known to the catalog.
    """
    try:
        data, _ = parse_yaml(read_text(path, str(path)), str(path))
    except ConfigError:
        return []
    return [name for name in dict.fromkeys(_names(data)) if NAME_PATTERN.fullmatch(name)]


def _names(data: Any) -> Iterator[str]:
    tables = data.get("tables") if isinstance(data, dict) else None
    for entry in tables if isinstance(tables, list) else ():
        if not isinstance(entry, dict) or entry.get("tables") is not None:
            continue
        name, table = entry.get("name"), entry.get("table")
        if isinstance(name, str):
            yield name
        elif name is None and isinstance(table, str):
            try:
                yield split_table(table)[1]
            except ValueError:  # not a name of a table
                continue
