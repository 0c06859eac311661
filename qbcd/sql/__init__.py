"""From a template to the statement that runs: render (Jinja) -> canonical SQL -> compile (sqlglot and primitives)."""

from __future__ import annotations

from qbcd.sql.compile import compile_sql
from qbcd.sql.render import render
from qbcd.sql.restriction import check_restriction

__all__ = ["check_restriction", "compile_sql", "render"]
