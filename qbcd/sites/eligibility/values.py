"""Values that the checks of eligibility share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Place = Callable[[str], str]  # the place in the configuration of an option of the strategy, or of `where`


@dataclass(frozen=True)
class Remark:
    """A remark on a stream that polls can run: its `subject` is a row of `qbcd check`."""

    subject: Literal["columns", "restriction", "strategy"]
    text: str


def explained_grant(grant: str, why: str, *, granted: bool) -> str:
    """Return a GRANT below a comment that says why it is needed.

    `why` has no identifiers: a line break in one would end the comment.
    """
    return f"-- {why}{'; the role has this right already' if granted else ''}\n{grant}"
