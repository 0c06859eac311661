"""The dialects of sqlglot, loaded before threads use them."""

from __future__ import annotations

import threading

from sqlglot.dialects.dialect import Dialect

_lock = threading.Lock()


def loaded(dialect: str) -> str:
    """Load a dialect of sqlglot; return its name.

    sqlglot loads a dialect at its first use, and lists it before it is complete. A thread that uses it meanwhile writes
    names in double quotes, which MariaDB and MySQL read as texts.
    """
    with _lock:
        Dialect.get_or_raise(dialect)
    return dialect
