"""Packages whose names are imported on first use, and what commands that need little load."""

from __future__ import annotations

import ast
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import qbcd

ROOT = Path(qbcd.__file__).parent
LAZY = sorted(path for path in ROOT.rglob("__init__.py") if "on_demand(" in path.read_text())
# The time of a start is that of these; what a poll without changed rows loads is in tests/integration/cli.
HEAVY = ("duckdb", "numpy", "pandas", "pyarrow", "pymysql", "pyspark")


def package_of(path: Path) -> str:
    return ".".join(path.parent.relative_to(ROOT.parent).parts)


def test_packages_with_names_on_demand_are_found() -> None:
    assert len(LAZY) >= 7


@pytest.mark.parametrize("path", LAZY, ids=package_of)
def test_names_on_demand_are_those_that_type_checkers_see(path: Path) -> None:
    package = importlib.import_module(package_of(path))
    block = next(node for node in ast.parse(path.read_text()).body if isinstance(node, ast.If))
    seen = {
        alias.name: one.module for one in block.body if isinstance(one, ast.ImportFrom) for alias in one.names
    }  # under TYPE_CHECKING
    for name, module in seen.items():
        own = getattr(importlib.import_module(str(module)), name, None)
        assert package.__getattr__(name) is (own or importlib.import_module(f"{module}.{name}"))
    call = next(
        node for node in ast.walk(block) if isinstance(node, ast.Call) and ast.unparse(node.func) == "on_demand"
    )
    given = " ".join(str(ast.literal_eval(keyword.value)) for keyword in call.keywords).split()
    assert sorted(given) == sorted(seen)
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        package.__getattr__("nothing")


def test_the_api_and_the_options_of_run_load_no_engine_and_no_driver_of_other_databases() -> None:
    code = "import sys, qbcd.api, qbcd.cli.poll; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    own = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("qbcd.")}
    assert not {name.partition(".")[0] for name in loaded} & set(HEAVY)
    assert not own & {"qbcd.check", "qbcd.comparison", "qbcd.files", "qbcd.monitoring", "qbcd.orphans", "qbcd.replay"}
    assert not own & {"qbcd.snapshots", "qbcd.status", "qbcd.demo", "qbcd.integrations"}
    assert not {"qbcd.sites.lake", "qbcd.sites.database", "qbcd.connectors.postgresql", "qbcd.sinks.table"} & set(
        loaded
    )


def test_the_version_loads_no_configuration() -> None:
    code = "import sys, qbcd.cli as c\ntry: c.main(['--version'])\nexcept SystemExit: print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    own = {".".join(name.split(".")[:2]) for name in loaded if name.startswith("qbcd.")}
    assert not own & {"qbcd.config", "qbcd.api", "qbcd.connectors", "qbcd.state", "qbcd.sites"}
    assert not {"pydantic", "sqlalchemy", "sqlglot", *HEAVY} & set(loaded)
