"""Golden files of statements: their text, and the comparison with what is recorded.

After an intended change: ``QBCD_UPDATE_GOLDEN=1 python -m pytest tests/golden``, then read the difference.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

from qbcd.model import Statement

UPDATE = bool(os.environ.get("QBCD_UPDATE_GOLDEN"))
Texts = dict[str, str]  # statements with their bound values, by title


def texts_of(statements: Iterable[tuple[str, Statement]], titles: str = ".*") -> Texts:
    """Return the statements whose title matches `titles`, with their bound values."""
    found: Texts = {}
    for title, statement in statements:
        bound = "".join(f"--   {k} = {v!r}\n" for k, v in sorted(statement.params.items()))
        assert found.setdefault(title, bound + statement.sql) == bound + statement.sql, f"two statements {title!r}"
    return {title: text for title, text in found.items() if re.fullmatch(titles, title)}


def script(made: Texts, other: Texts | None = None) -> str:
    """Return the text of a golden file: the statements that differ from those of `other`, each text once."""
    shown = {title: text for title, text in made.items() if other is None or other.get(title) != text}
    first = {text: title for title, text in reversed(shown.items())}
    return "\n".join(
        f"-- {title}\n{text}\n" if first[text] == title else f"-- {title}\n-- the text of: {first[text]}\n"
        for title, text in shown.items()
    )


def check_recorded(path: Path, made: str) -> None:
    """Compare a text with the file that records it; an empty text has no file."""
    if UPDATE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(made, "utf-8") if made else path.unlink(missing_ok=True)
    recorded = path.read_text("utf-8") if path.exists() else ""
    assert made.split("\n") == recorded.split("\n"), f"{path.name}: QBCD_UPDATE_GOLDEN=1 records it again"
