"""Decimals travel with their own precision and scale, or as text where no typed sink has such a type."""

from __future__ import annotations

from typing import Any

import pytest

from qbcd.connectors.mysql_family import types as maria
from qbcd.connectors.postgresql import types as postgres
from qbcd.model import Travel
from tests.golden.plans import POSTGRESQL


@pytest.mark.parametrize(
    ("precision", "scale", "travel"),
    [
        (10, 2, Travel("decimal", 10, 2)),
        (38, 0, Travel("decimal", 38, 0)),
        (38, 38, Travel("decimal", 38, 38)),
        (39, 2, Travel("text")),
        (3, -2, Travel("text")),
        (5, 7, Travel("text")),
    ],
)
def test_numeric_of_postgresql(precision: int, scale: int, travel: Travel) -> None:
    modifier = (precision << 16 | scale & 0x7FF) + 4
    field = {"name": "a", "sql_type": f"numeric({precision},{scale})", "base_type": "numeric"}
    assert POSTGRESQL.column({**field, "modifier": modifier}).travel == travel
    assert POSTGRESQL.column({**field, "modifier": -1}).travel == Travel("text")
    assert postgres.numeric_modifier(modifier) == (precision, scale)


@pytest.mark.parametrize(
    ("precision", "scale", "travel"),
    [(10, 2, Travel("decimal", 10, 2)), (38, 30, Travel("decimal", 38, 30)), (65, 30, Travel("text"))],
)
def test_decimal_of_mariadb(precision: int, scale: int, travel: Travel) -> None:
    row: dict[str, Any] = dict.fromkeys(("charset", "collation", "no_pad", "characters", "octets"))
    named = {"name": "a", "sql_type": f"decimal({precision},{scale})", "base_type": "decimal", "nullable": True}
    assert maria.make_column({**row, **named, "precision": precision, "scale": scale}).travel == travel
