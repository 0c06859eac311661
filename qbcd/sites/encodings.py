"""Text of a database that does not know its encoding.

Such a text may have no Unicode form.
"""

from __future__ import annotations

from qbcd.catalog.source import Session, Source
from qbcd.connectors.encodings import SupportsEncodings
from qbcd.errors import UnsupportedType
from qbcd.model import StreamPlan


def unknown_encoding(source: Source, session: Session, plan: StreamPlan) -> UnsupportedType | None:
    """Return the refusal of a captured column with text in no known encoding; None without one."""
    if not source.connector.supports(SupportsEncodings):
        return None
    encodings = source.connector.require(SupportsEncodings)
    encoding = encodings.foreign_encoding(session.connection)
    found = encodings.texts(plan.captured) if encoding and encodings.is_unknown(encoding) else []
    if not found:
        return None
    name = plan.captured[found[0]].name
    return UnsupportedType(
        f"column {name!r} holds text, and the database has no encoding ({encoding}): the text may have no Unicode form",
        stream=plan.stream,
        remedy=f"exclude: [{name}], or capture a view that shows it as binary: {encodings.as_binary(name)}",
    )
