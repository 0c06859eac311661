"""Text of a report: times; no character that a strict reader of HTML or XML refuses."""

from __future__ import annotations

import re
from datetime import datetime, timezone

from qbcd.common.wording import age as age
from qbcd.common.wording import events as events

_UNPRINTABLE = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\x7f-\x9f]")


def clean(text: str) -> str:
    """Return `text` with a replacement for each character that HTML and XML do not allow."""
    return _UNPRINTABLE.sub("\ufffd", text)


def moment(seconds: float | None) -> str:
    """Return an instant in UTC: ``2026-11-27 09:14:44Z``; ``-`` for None."""
    return "-" if seconds is None else datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")
