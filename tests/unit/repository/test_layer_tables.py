"""The tables of layers in CONTRIBUTING.md name what the import contracts name, in their order."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYER = re.compile(r"[\w]+")


def contract(container: str) -> dict[str, int]:
    """Return the modules of a contract, each with the height of its layer counted from the top."""
    contracts = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition(f'containers = ["{container}"]')[2]
    layers = ast.literal_eval(contracts[contracts.index("[") : contracts.index("\n]") + 2])
    return {name: height for height, layer in enumerate(layers) for name in LAYER.findall(layer)}


def listed(header: str, column: int) -> list[str]:
    """Return the modules that a column of a table names between backticks, from top to bottom."""
    rows = PAGE.partition(header)[2].partition("\n\n")[0].splitlines()[2:]
    return [name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row.split("|")[column])]


def test_the_table_of_layers_is_that_of_the_contract() -> None:
    modules = contract("qbcd")
    names = [name for name in listed("| layer | contains |", 1) if name != "sql_templates"]
    assert sorted(names) == sorted(set(modules) - {"__main__"})
    assert [modules[name] for name in names] == sorted(modules[name] for name in names)


@pytest.mark.parametrize(("wing", "column"), [("database", 1), ("lake", 2)])
def test_the_table_of_wings_names_all_modules_in_order(wing: str, column: int) -> None:
    modules = contract(f"qbcd.sites.{wing}")
    names = [name for name in listed("| `sites/database` | `sites/lake` |", column) if name in modules]
    names = list(dict.fromkeys(names))
    assert sorted(names) == sorted(modules)
    assert [modules[name] for name in names] == sorted(modules[name] for name in names)
