"""The tables of layers in CONTRIBUTING.md name what the import contracts name, in their order."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[3]
PAGE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
LAYER = re.compile(r"[\w]+")


def contract(container: str) -> dict[str, int]:
    """Return the modules of a contract, each with the height of its layer counted from the top."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["containers"] == [container])
    return {name: height for height, layer in enumerate(layers) for name in LAYER.findall(layer)}


def listed(header: str, column: int, modules: dict[str, int]) -> list[str]:
    """Return the modules that a column of a table names between backticks, from top to bottom."""
    lines = PAGE.partition(header)[2].splitlines()[2:]
    rows = [line.split("|")[column] for line in lines[: next((n for n, line in enumerate(lines) if not line), None)]]
    names = [name.rstrip("/") for row in rows for name in re.findall(r"`([\w/]+)`", row)]
    return [name for name in names if "/" not in name and (name in modules or "." not in name)]


@pytest.mark.parametrize(
    ("container", "header", "column"),
    [
        ("qbcd", "| layer | contains |", 1),
        ("qbcd.sites.database", "| `sites/database` | `sites/lake` |", 1),
        ("qbcd.sites.lake", "| `sites/database` | `sites/lake` |", 2),
    ],
)
def test_the_table_has_the_layers_of_the_contract(container: str, header: str, column: int) -> None:
    modules = contract(container)
    names = listed(header, column, modules)
    assert sorted(names) == sorted(set(modules) - {"__main__"}), "the page and the contract name different modules"
    heights = [modules[name] for name in names]
    assert heights == sorted(heights), "the page has another order than the contract"
