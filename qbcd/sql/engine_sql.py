"""Canonical SQL of engines, which has no plan: what an engine spells in its own way.

An engine has a few functions of its own, ``QBCD_..(..)``, and numbers, ``:name``, that are inserted last, so that the
same text is compiled once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

import sqlglot
from sqlglot import ErrorLevel, exp

_NUMBER, _INPUT = "qbcd_number_", "qbcd_input_"
_NUMBERS, _INPUTS = re.compile(rf"\b{_NUMBER}(\w+)"), re.compile(rf"\b{_INPUT}(\w+)")


@dataclass(frozen=True, eq=False)
class EngineSql:
    """The SQL of an engine.

    Attributes:
        dialect: Its name in sqlglot.
        functions: By name, returns the SQL of a function from the SQL of its arguments.
        number: Returns the SQL of a whole number.
    """

    dialect: str
    functions: Mapping[str, Callable[..., str]]
    number: Callable[[int], str]

    def text(self, canonical: str, numbers: Mapping[str, int] | None = None) -> str:
        """Return canonical SQL in the dialect."""
        return self._with_numbers(_compiled(self, canonical, ()), numbers or {})

    def over(self, canonical: str, inputs: Mapping[str, str], numbers: Mapping[str, int]) -> str:
        """Return canonical SQL in the dialect, with queries in place of tables.

        They replace the tables with the names of `inputs`.
        """
        text = self._with_numbers(_compiled(self, canonical, tuple(inputs)), numbers)
        return _INPUTS.sub(lambda found: f"(\n{inputs[found[1]]}\n)", text)

    def _with_numbers(self, text: str, numbers: Mapping[str, int]) -> str:
        return _NUMBERS.sub(lambda found: self.number(numbers[found[1]]), text) if numbers else text

    def spelled(self, node: exp.Expression, inputs: tuple[str, ...]) -> exp.Expression:
        """Return the node with this engine's functions, and with places for numbers and inputs."""
        if isinstance(node, exp.Placeholder) and node.name:
            return exp.Var(this=f"{_NUMBER}{node.name}")
        if isinstance(node, exp.Table) and node.name in inputs:
            return exp.Table(this=exp.to_identifier(f"{_INPUT}{node.name}"), alias=node.args.get("alias") or node.name)
        if not isinstance(node, exp.Anonymous) or node.name.upper() not in self.functions:
            return node
        arguments = [
            argument.transform(self.spelled, inputs).sql(dialect=self.dialect) for argument in node.expressions
        ]
        return exp.Var(this=self.functions[node.name.upper()](*arguments))


@lru_cache(maxsize=1024)
def _compiled(spelling: EngineSql, canonical: str, inputs: tuple[str, ...]) -> str:
    tree = sqlglot.parse_one(canonical).transform(spelling.spelled, inputs)
    return tree.sql(dialect=spelling.dialect, unsupported_level=ErrorLevel.RAISE)
