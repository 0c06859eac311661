"""Log lines for a process without a terminal, as text or JSON: time, level, stream, message."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any, Literal

Level = Literal["debug", "info", "warning", "error"]
_STREAM = re.compile(r"stream (\S+): ")


class LogLines:
    """A writer of log lines.

    Text is ``TIME LEVEL STREAM MESSAGE``, with ``-`` if the line is about no stream. JSON is one object per line:
    ``ts``, ``level``, ``stream``, ``message``, and numbers.

    Args:
        write: Writes a line, which it gets without a line end.
        as_json: Write JSON instead of text.
    """

    def __init__(self, write: Callable[[str], None], *, as_json: bool) -> None:
        self._write = write
        self._as_json = as_json
        self._lock = threading.Lock()  # sources and leases have threads of their own

    def add(self, level: Level, message: str, stream: str = "", **values: Any) -> None:
        """Write one line.

        Args:
            message: One sentence; may begin with ``stream NAME: ``, and may have several lines.
            stream: The stream, unless the message names it.
            values: Further fields for JSON; text does not contain them.
        """
        named = _STREAM.match(message)
        if named and stream in ("", named[1]):
            stream, message = named[1], message[named.end() :]
        now = datetime.now(timezone.utc)
        if self._as_json:
            ts = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            data = {"ts": ts, "level": level, "stream": stream, "message": message, **values}
            self._put(json.dumps(data, ensure_ascii=False, default=str))
            return
        flat = " ".join(line.strip() for line in message.splitlines())
        self._put(f"{now:%Y-%m-%dT%H:%M:%SZ} {level.upper():<7} {stream or '-'} {flat}")

    def add_trace(self, trace: str) -> None:
        """Write a traceback; as text it keeps its lines."""
        if self._as_json:
            self.add("debug", trace.rstrip())
        else:
            self._put(trace.rstrip())

    def _put(self, line: str) -> None:
        with self._lock:
            self._write(line)
