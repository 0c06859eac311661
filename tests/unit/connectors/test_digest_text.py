"""The SQL of a digest names every column, also of rows that are wider than any table."""

from __future__ import annotations

import pytest
from sqlglot import exp

from qbcd.connectors import CONNECTORS
from qbcd.model import Column, Travel

WIDEST = 1664  # columns of a query's result; a PostgreSQL table has at most 1600


@pytest.mark.parametrize("name", sorted(CONNECTORS))
@pytest.mark.parametrize("width", [1, 1600, 1601, WIDEST])
def test_every_column_is_in_the_digest_once(name: str, width: int) -> None:
    connector = CONNECTORS[name]()
    columns = [Column(f"c{i}", "int", "int4", True, "", "typed", Travel("int32")) for i in range(width)]
    tree = connector.expressions.row_digest([(c, exp.Var(this=f"<{c.name}>")) for c in columns])
    text = tree.sql(dialect=connector.dialect)
    assert [text.count(f"<{c.name}>") for c in columns] == [1] * width
