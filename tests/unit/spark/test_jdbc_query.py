"""Question marks for JDBC: the driver reads one outside quotes as a parameter.

PostgreSQL has operators with that character.
"""

from __future__ import annotations

import pytest

from qbcd.connectors.postgresql.session import jdbc_query


@pytest.mark.parametrize(
    ("sql", "wanted"),
    [
        ("a ? 'b'", "a ?? 'b'"),
        ("a ?| array['?']", "a ??| array['?']"),
        ("j @? '$.a ? (@ > 1)'", "j @?? '$.a ? (@ > 1)'"),
        ("\"a?b\" ? 'it''s?'", "\"a?b\" ?? 'it''s?'"),
        (r"E'\'?' ? '\' ? e'?'", r"E'\'?' ?? '\' ?? e'?'"),
        ("$$?$$ ? $x$ ? $$?$$ $x$ ? 1", "$$?$$ ?? $x$ ? $$?$$ $x$ ?? 1"),
        ("a$1$ ? b$1$", "a$1$ ?? b$1$"),
        ("'100%' LIKE '%?'", "'100%' LIKE '%?'"),
    ],
)
def test_only_operators_are_doubled(sql: str, wanted: str) -> None:
    assert jdbc_query(sql) == wanted
