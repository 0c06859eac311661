"""From a template to a statement: render (Jinja), compile (sqlglot and primitives)."""

from __future__ import annotations

from qbcd.sql.compile import compile_sql
from qbcd.sql.key_limits import excluded_ranges
from qbcd.sql.probe import probe_plan
from qbcd.sql.render import render
from qbcd.sql.restriction import check_operators, check_restriction
from qbcd.sql.steadiness import check_steady, restriction_remarks

__all__ = [
    "check_operators",
    "check_restriction",
    "check_steady",
    "compile_sql",
    "excluded_ranges",
    "probe_plan",
    "render",
    "restriction_remarks",
]
