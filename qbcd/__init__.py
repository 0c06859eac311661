"""qbcd: query-based change data capture.

It finds inserts, updates and deletes in databases that can only be queried.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from qbcd.errors import QbcdError
from qbcd.version import __version__

if TYPE_CHECKING:
    from qbcd.api import Batch, Project, StreamHandle, diff, open
    from qbcd.spark_source.lookup import lookup
    from qbcd.subscriptions import Matcher, Subscription

__all__ = [
    "Batch",
    "Matcher",
    "Project",
    "QbcdError",
    "StreamHandle",
    "Subscription",
    "__version__",
    "diff",
    "lookup",
    "open",
]


def __getattr__(name: str) -> Any:
    """Load names on first use; the command line's help does not need them."""
    if name in ("Matcher", "Subscription"):
        from qbcd import subscriptions

        return getattr(subscriptions, name)
    if name == "lookup":
        from qbcd.spark_source import lookup

        return lookup.lookup
    if name in __all__:
        from qbcd import api

        return getattr(api, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """List only the public names, without imported submodules."""
    return sorted(__all__)
