"""Plans without a server.

Described in the files of this folder, columns made as by a catalog.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qbcd.connectors import connector_for
from qbcd.connectors.base import Connector
from qbcd.connectors.mysql_family import types as mysql_family
from qbcd.connectors.postgresql import types as postgresql
from qbcd.model import Column, KeyRange, StreamPlan, Table

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Family:
    """File and functions from which the stream plans of one connector family are made.

    Attributes:
        plans: File with the plans; each family has the same names.
        make_column: Function that makes a column from a row of the catalog query.
        absent: Default values of such a row.
        bounds: By base type of a key, two texts of a bound, with characters that a literal must escape.
    """

    plans: str
    make_column: Callable[[Mapping[str, Any]], Column]
    absent: Mapping[str, Any]
    bounds: Mapping[str, tuple[str, str]]

    def described(self) -> dict[str, Any]:
        return dict(json.loads((HERE / self.plans).read_text("utf-8")))

    def column(self, field: Mapping[str, Any]) -> Column:
        row = {**self.absent, "storage_type": field["sql_type"], **field}
        row["element_kind"] = "b" if row.get("element") else None
        return self.make_column(row)

    def of(self, connector: Connector) -> Family:
        """Return the family's rows with the connector's additions."""
        return replace(self, absent={**self.absent, "all_digits": getattr(connector, "all_digits", "")})


POSTGRESQL = Family(
    "plans_postgresql.json",
    postgresql.make_column,
    {
        "kind": "b",
        "modifier": -1,
        "nullable": True,
        "deterministic": True,
        "loose": False,
        "width": 8,
        "collation": None,
        "operators": None,
        "element": None,
        "element_type": None,
    },
    {
        "int8": ("10", "20"),
        "int4": ("-5", "7"),
        "text": ("it's", "10% \\ :x"),
        "citext": ("A", "b?"),
        "numeric": ("1.0", "NaN"),
        "float8": ("-0", "Infinity"),
        "uuid": ("00000000-0000-0000-0000-000000000001", "ffffffff-ffff-ffff-ffff-ffffffffffff"),
        "date": ("0044-03-15 BC", "infinity"),
    },
)
MYSQL_FAMILY = Family(
    "plans_mysql_family.json",
    mysql_family.make_column,
    {
        "nullable": True,
        "precision": None,
        "scale": None,
        "charset": None,
        "collation": None,
        "characters": None,
        "octets": None,
        "no_pad": 0,
    },
    {
        "bigint": ("10", "18446744073709551615"),
        "int": ("-5", "7"),
        "varchar": ("it's", "10% \\ :x"),
        "decimal": ("-0.000000000000000000000000000001", "1.000000000000000000000000000000"),
        "double": ("-0.5", "1e308"),
        "enum": ("1", "2"),
        "date": ("0000-00-00", "9999-12-31"),
        "binary": ("0x00", "0xFF27"),
    },
)
FAMILIES = {"postgresql": POSTGRESQL, "mariadb": MYSQL_FAMILY, "mysql": MYSQL_FAMILY}
CONNECTORS = {name: connector_for(f"{name}://localhost/any") for name in FAMILIES}
PLANS = list(POSTGRESQL.described())


def plan_of(connector: str, name: str, strategy: str) -> StreamPlan:
    """Return the plan that the family's file describes, with columns made by the connector."""
    family = FAMILIES[connector].of(CONNECTORS[connector])
    described = family.described()[name]
    schema, table = described["table"]
    columns = [family.column(field) for field in described["columns"]]
    key = [next(c for c in columns if c.name == k) for k in described["key"]]
    return StreamPlan(
        name,
        "shop",
        Table(schema, table, "table", tuple(columns), tuple(described["key"]), rows=1000, pages=100),
        tuple(key),
        tuple(c for c in columns if c not in key),
        described.get("where", ""),
        strategy,
    )


def optioned(connector: str, name: str, strategy: str, **options: Any) -> StreamPlan:
    """Return a plan with options of its strategy."""
    return replace(plan_of(connector, name, strategy), options=tuple(options.items()))


def ranges_of(connector: str, plan: StreamPlan) -> list[KeyRange]:
    """Return three ranges: open below, closed, open above."""
    low, high = (tuple(FAMILIES[connector].bounds[c.base_type][i] for c in plan.key) for i in (0, 1))
    return [KeyRange(1, None, low), KeyRange(2, low, high), KeyRange(3, high, None)]
