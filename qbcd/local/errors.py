"""One message for each error of DuckDB.

A message about a value quotes it, so only the kind of such an error is shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from qbcd.errors import LocalFailed, LocalOutOfMemory

if TYPE_CHECKING:
    import duckdb

MORE_MEMORY = "raise `local_memory`, or set `engine: spark`"
_CONTINUES = "the next run continues from the last commit"
_OF_DISK = "offload"  # in DuckDB's message, if the spilled rows need more space than the disk has
# A commit has an error of its own class, whatever its cause.
_ROOM_AT_COMMIT = re.compile(r"Failed to commit: (failed to (offload|pin|allocate)|could not allocate)")
# In a statement, and while DuckDB looks at an object of Python.
_CTRL_C = re.compile(r"^Query interrupted$|^Invalid Input Error: .* failed: KeyboardInterrupt\b")
_AS_JSON = re.compile(
    r'(?P<kind>(?:[A-Z]\w* )+Error: )?.*\{"exception_type":.*?"exception_message":(?P<text>"(?:[^"\\]|\\.)*")'
)


@contextmanager
def explained_errors(stream: str = "", more: str = MORE_MEMORY) -> Iterator[None]:
    """In the block, turn an error of DuckDB into a `LocalFailed` that names the stream.

    `more` is the way to give it more memory.

    Raises:
        KeyboardInterrupt: Ctrl-C ended a statement; DuckDB has errors of its own for it.
    """
    import duckdb

    try:
        yield
    except (duckdb.Error, RuntimeError) as error:
        if _CTRL_C.search(str(error)):
            raise KeyboardInterrupt from error
        if isinstance(error, duckdb.Error):
            raise explain(error, stream, more) from error
        raise


def first_line(error: BaseException) -> str:
    """Return what an error of DuckDB says, in one line.

    An error of one of its threads has the text of the cause inside JSON.
    """
    line = (str(error).strip().splitlines() or [""])[0]
    cause = _AS_JSON.match(line)
    return f"{cause['kind']}{json.loads(cause['text'])}" if cause else line


def explain(error: duckdb.Error, stream: str = "", more: str = MORE_MEMORY) -> LocalFailed:
    """Return the message for an error of DuckDB; `more` is the way to give it more memory."""
    import duckdb

    first = first_line(error)
    needs_room = isinstance(error, duckdb.OutOfMemoryException) or _ROOM_AT_COMMIT.search(first) is not None
    if needs_room and _OF_DISK not in first:
        remedy = f"{more}; {_CONTINUES}"
        return LocalOutOfMemory(f"DuckDB ran out of memory: {first}", remedy=remedy, stream=stream)
    if needs_room or isinstance(error, duckdb.IOException):
        remedy = f"check owner, rights and free space of the workdir, into which rows are spilled; {_CONTINUES}"
        return LocalFailed(f"DuckDB failed: {first}", remedy=remedy, stream=stream)
    quotes_no_value = isinstance(error, (duckdb.IOException, duckdb.PermissionException, duckdb.CatalogException))
    shown = first if quotes_no_value else type(error).__name__
    return LocalFailed(f"DuckDB failed: {shown}", remedy=f"{_CONTINUES}; -v shows more", stream=stream)
