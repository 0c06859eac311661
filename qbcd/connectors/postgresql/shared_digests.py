"""Row digests of PostgreSQL that other databases compute alike.

Strings enter by their bytes, so the database must be in UTF-8; the caller checks that.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.postgresql.expressions import canonical_text, fragment, travel_form
from qbcd.connectors.postgresql.types import INTEGERS
from qbcd.connectors.shared_digests import SupportsSharedDigests
from qbcd.model import Column

_FORMS = {
    **dict.fromkeys(INTEGERS, "integer"),
    "bool": "boolean",
    "text": "text",
    "varchar": "text",
    "date": "date",
    "timestamp": "timestamp",
    "uuid": "uuid",
    "bytea": "binary",
}


class PostgresSharedDigests(SupportsSharedDigests):
    """Digests by the server's `md5`."""

    @override
    def shared_form(self, column: Column) -> str:
        if column.travel.unordered:
            return ""
        if column.base_type == "numeric":
            fixed = column.travel.kind == "decimal" and not column.fact("loose")
            return f"decimal {column.travel.scale}".replace("decimal 0", "integer") if fixed else ""
        return _FORMS.get(column.base_type, "")

    @override
    def shared_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        parts = [fragment(self._part(column), t=self._text(column, value)) for column, value in columns]
        row = parts[0]
        for part in parts[1:]:
            row = exp.DPipe(this=row, expression=part)
        # the other bit of the sign makes of an unsigned number that number minus 2^63
        return fragment(
            "CAST(CAST('x' || left(md5({row}), 16) AS bit(64)) # CAST('x8000000000000000' AS bit(64)) AS bigint)",
            row=row,
        )

    def _part(self, column: Column) -> str:
        is_text = self.shared_form(column) == "text"
        return "coalesce(octet_length({t}) || ':' || {t}, ':')" if is_text else "coalesce({t} || ',', ':')"

    def _text(self, column: Column, value: exp.Expression) -> exp.Expression:
        form = self.shared_form(column)
        if form == "binary":
            return fragment("upper(encode({v}, 'hex'))", v=value)
        return travel_form(column, value) if form == "timestamp" else canonical_text(column, value)
