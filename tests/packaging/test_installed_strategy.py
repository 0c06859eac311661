"""A strategy of an installed package works as a built-in one: configuration, schema, polls."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import Project, parts_of
from qbcd.config import config_from_dict, json_schema, load_config
from qbcd.config.strategy_registry import options_class
from qbcd.errors import ConfigError
from qbcd.strategies import strategy_class
from qbcd.strategies.outbox import outbox_name
from tests.support import sql
from tests.support.project import config, opened, poll

EXAMPLE = Path(__file__).parent / "example_strategy"
BROKEN = """
absent = no_such_module:Options
number = broken_strategies:NUMBER
vague = broken_strategies:Vague
other_name = broken_strategies:Named
no_site = broken_strategies:NoSite
"""
MODULE = """
from typing import Literal
from qbcd.config import StrategyConfig

NUMBER = 7

class Vague(StrategyConfig):
    type: Literal["vague"] = "vague"

class Named(StrategyConfig):
    type: Literal["named"] = "named"

    @classmethod
    def strategy_class(cls, options):
        return dict

class NoSite(Named):
    type: Literal["no_site"] = "no_site"
"""
FILE = """\
version: 1
sources:
  shop: {url: "postgresql://reader@127.0.0.1:1/shop"}
tables:
  - source: shop
    table: public.orders
    strategy:
      type: new_rows
"""


def install(folder: Path, entry_points: str) -> None:
    """Write the metadata of a distribution into a folder of modules, as pip does."""
    info = folder / "example-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: example\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[qbcd.strategies]\n{entry_points}\n")


@pytest.fixture(autouse=True)
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package and one with broken strategies, installed for a test."""
    section = (EXAMPLE / "pyproject.toml").read_text().split('[project.entry-points."qbcd.strategies"]\n')[1]
    named = re.findall(r'^(\w+) = "(.+)"$', section.partition("\n[")[0], re.MULTILINE)
    install(tmp_path / "site", "\n".join(f"{name} = {value}" for name, value in named) + BROKEN)
    (tmp_path / "site" / "broken_strategies.py").write_text(MODULE)
    (tmp_path / "site" / "qbcd_new_rows.py").write_text((EXAMPLE / "qbcd_new_rows.py").read_text())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    options_class.cache_clear()
    for module in ("qbcd_new_rows", "broken_strategies"):
        sys.modules.pop(module, None)


def stream(strategy: Any, **more: Any) -> dict[str, Any]:
    table = {"source": "shop", "table": "public.orders", "strategy": strategy, **more}
    return {"version": 1, "sources": {"shop": {"url": "postgresql://reader@127.0.0.1:1/shop"}}, "tables": [table]}


def test_its_rows_are_found(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE orders (id int PRIMARY KEY, note text); INSERT INTO orders VALUES (1, 'a'), (2, 'b')")
    tables: list[dict[str, Any]] = [
        {"name": "added", "table": "public.orders", "strategy": "new_rows", "sinks": []},
        {"name": "both", "table": "public.orders", "strategy": {"type": "new_rows", "deletes": True}, "sinks": []},
    ]
    with opened(config(database, *tables), workspace) as project:
        for name in ("added", "both"):
            project.stream(name).prepare()
        predicted = project.stream("added").predict()
        assert predicted is not None
        assert predicted[0].formula == "N + keys + own", "the package's own, and not that of mds"
        assert dict(predicted[0].symbols)["keys"].high > 0
        advice = parts_of(project).advise("added")
        assert advice.current is not None
        assert advice.current.option.label == "new_rows"
        assert advice.choice.chosen is not None
        assert advice.choice.chosen.option.name != "new_rows", "auto never chooses the strategy of a package"
        assert counts(project) == {"added": {}, "both": {}}
        sql(database, "INSERT INTO orders VALUES (3, 'c'), (4, 'd'); UPDATE orders SET note = 'A' WHERE id = 1")
        sql(database, "DELETE FROM orders WHERE id = 2")
        assert counts(project) == {"added": {"c": 2}, "both": {"c": 2, "d": 1}}
        assert counts(project) == {"added": {}, "both": {}}
        found = f"SELECT op, b_id, a_id, a_note FROM qbcd.{outbox_name('both')} ORDER BY op, a_id"
        assert sql(database, found) == [("c", None, 3, "c"), ("c", None, 4, "d"), ("d", 2, None, None)]


def counts(project: Project) -> dict[str, dict[str, int]]:
    """Poll each stream; return its events by op."""
    return {o.stream: o.report.counts for o in poll(project) if o.report is not None}


def test_its_options_are_judged_as_those_of_built_in_ones(tmp_path: Path) -> None:
    for written, said in {
        "      delets: true\n": 'strategy.delets: unknown key "delets" (did you mean "deletes"?)',
        "      deletes: perhaps\n": "strategy.deletes: expected true or false",
        "      deletes: true\n    where: id > 1\n": "strategy.deletes: with `deletes: true` a row that leaves",
        "    key_change: pair\n": "key_change: a change of key cannot be paired by strategy new_rows: deleted rows",
        "    key: none\n": "key: strategy new_rows identifies rows by their keys",
        "    audit: {every: 1h}\n": "audit: polls of strategy new_rows compare every row completely",
    }.items():
        (tmp_path / "qbcd.yaml").write_text(FILE + written)
        with pytest.raises(ConfigError) as caught:
            load_config(tmp_path / "qbcd.yaml")
        assert f"qbcd.yaml:9: tables[0].{said}" in str(caught.value)
    (tmp_path / "qbcd.yaml").write_text(FILE)
    assert load_config(tmp_path / "qbcd.yaml").streams[0].options == {"deletes": False}


def test_its_name_is_known() -> None:
    with pytest.raises(ConfigError, match='there is no strategy "new_row"' + r' \(did you mean "new_rows"\?\)'):
        config_from_dict(stream("new_row"))
    with pytest.raises(ConfigError, match=r"write one of mds, .*, vbd, .*new_rows"):
        config_from_dict(stream(None))


def test_a_broken_package_is_one_line() -> None:
    for name, said in {
        "absent": "(no_such_module:Options) cannot be loaded: ModuleNotFoundError: No module named 'no_such_module'",
        "number": "(broken_strategies:NUMBER) is not a subclass of qbcd's StrategyConfig",
        "vague": "(broken_strategies:Vague) does not define `strategy_class`",
        "other_name": '(broken_strategies:Named) does not declare `type: Literal["other_name"] = "other_name"`',
    }.items():
        with pytest.raises(ConfigError) as caught:
            config_from_dict(stream(name))
        remedy = "(update or remove the package that provides it)"
        assert str(caught.value) == f"tables[0].strategy: strategy {name} {said} {remedy}"
    with pytest.raises(ConfigError, match="strategy no_site: its class dict is no subclass of InSource or IdRcs"):
        strategy_class("no_site", {})


def test_the_json_schema_has_its_options(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"strategy absent .* cannot be loaded"):
        json_schema()
    points = tmp_path / "site" / "example-1.0.dist-info" / "entry_points.txt"
    points.write_text(points.read_text().partition("absent")[0])
    sections = json_schema()["$defs"]
    names, options, _ = sections["TableConfig"]["properties"]["strategy"]["anyOf"]
    assert "new_rows" in names["enum"]
    assert {"$ref": "#/$defs/NewRowsOptions"} in options["oneOf"]
    assert sections["NewRowsOptions"]["required"] == ["type"]
    assert set(sections["NewRowsOptions"]["properties"]) == {"type", "deletes"}
