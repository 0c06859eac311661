"""The reference explains the configuration as the JSON Schema has it: every key, value and plain default.

The tables are written by hand, since their links and their groups of keys say more than the schema. So the schema does
not generate them; it checks them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from qbcd.config import json_schema
from qbcd.config.sink_registry import BUILT_SINKS, sink_options
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class

REFERENCE = Path(__file__).resolve().parents[3] / "docs" / "reference"
SCHEMA = json_schema()
PROJECT = "project"
CONFIGURATION = ("configuration.md",)
SINKS = ("sinks.md", "stores.md", "webhook.md", "lakes.md", "kafka.md")
# Strategies whose page refers to the options of another one.
AS_OF = {"atdi": ("tdi", "ts"), "tdi": ("ts",), "tlcs": ("id",), "vbd": ("ts",)}
STRATEGIES = {
    name: tuple(f"strategies/{each}.md" for each in (name, *AS_OF.get(name, ()))) if name != "auto" else ("auto.md",)
    for name in BUILT_STRATEGIES
}
# The pages that explain the keys and values of a section.
PAGES: dict[str, tuple[str, ...]] = {
    PROJECT: CONFIGURATION,
    **dict.fromkeys(("SparkConfig", "OpenLineageConfig"), CONFIGURATION),
    "NotifyConfig": (*CONFIGURATION, "../how-to/get-notified.md"),
    **dict.fromkeys(("SourceConfig", "JdbcConfig", "GuardsConfig", "LookupConfig"), CONFIGURATION),
    **dict.fromkeys(("TableConfig", "DefaultsConfig", "StreamDefaults"), CONFIGURATION),
    **{options_class(name).__name__: pages for name, pages in STRATEGIES.items()},
    **dict.fromkeys(("JdbcSourceConfig", "JdbcDriverConfig", "ProfileConfig"), ("databases/jdbc.md",)),
    **dict.fromkeys(("SubscriptionsConfig", "RelationConfig", "InlineConfig"), ("configuration.md",)),
    "Pace": ("strategies/id.md",),
    **dict.fromkeys(("AutoOptions", "Need"), ("auto.md",)),
    **dict.fromkeys(("FilesConfig", "FileFormat", "FixedField"), ("files.md",)),
    **{sink_options(name).__name__: SINKS for name in BUILT_SINKS},
    **dict.fromkeys(("RollConfig", "StorageConfig", "OtherOptions"), SINKS),
}
SPAN = re.compile(r"```.*?```|`[^`]+`", re.DOTALL)
SIZE = re.compile(r"\b(\d+)(kB|MB|GB)\b")
BYTES = {"kB": 2**10, "MB": 2**20, "GB": 2**30}


def sections() -> dict[str, dict[str, Any]]:
    """Return the keys of every section of the schema."""
    found = {PROJECT: SCHEMA["properties"]}
    return found | {name: node["properties"] for name, node in SCHEMA["$defs"].items()}


@cache
def text_of(page: str) -> str:
    return (REFERENCE / page).read_text(encoding="utf-8")


def words(text: str) -> set[str]:
    """Return the words of a text; sizes are numbers of bytes."""
    plain = SIZE.sub(lambda size: str(int(size[1]) * BYTES[size[2]]), text.replace(",000", "000"))
    return set(re.findall(r"[\w.*\[\]{}:/+-]+", plain)) | set(re.findall(r"[\w-]+", plain))


@cache
def code(page: str) -> set[str]:
    """Return the words that a page shows as code."""
    return words(" ".join(SPAN.findall(text_of(page))))


def defaults(page: str) -> Iterator[tuple[str, str, str]]:
    """Yield (heading, keys, default) of each row of a table with a column of defaults."""
    heading, column = "", 0
    for line in text_of(page).splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip("|"))] if line.startswith("|") else []
        if line.startswith("#"):
            heading, column = line.lstrip("# "), 0
        elif "default" in cells:
            column = cells.index("default")
        elif cells and column:
            yield heading, cells[0], cells[column]


def values(node: Any) -> Iterator[str]:
    """Yield the words that a key can have, without those of its own keys."""
    if isinstance(node, dict):
        yield from (value for value in node.get("enum", ()) if isinstance(value, str))
        yield from ([node["const"]] if isinstance(node.get("const"), str) else ())
        for word in ("anyOf", "oneOf"):
            for one in node.get(word, ()):
                yield from values(one)
        yield from values(node.get("items"))


def plain_default(node: dict[str, Any]) -> str:
    """Return the default of a key as a word, also that of its description; empty if it has none in words."""
    default = node.get("default")
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, (str, int, float)):
        return str(default)
    named = re.search(r"[Dd]efault: `([^`]+)`[.,]", node.get("description", ""))
    return named[1] if named and default is None else ""


@pytest.mark.parametrize("section", sections())
def test_every_key_and_value_is_on_its_page(section: str) -> None:
    known = set().union(*map(code, PAGES[section]))
    for key, node in sections()[section].items():
        named = node.get("const", key) if key == "type" else key  # `strategy: mds` is short for a mapping with `type`
        assert named in known, f"{section}: {key}"
        assert set(values(node)) <= known, f"{section}: {key}: {set(values(node)) - known}"


@pytest.mark.parametrize(
    ("section", "heading"),
    [
        (PROJECT, "Project"),
        ("SourceConfig", "Source"),
        ("TableConfig", "Table"),
        ("GuardsConfig", "Table"),
        ("DatabaseOptions", ""),
        ("RollConfig", ""),
        ("FilesConfig", ""),
        ("FileFormat", ""),
        ("AutoOptions", ""),
        ("Need", ""),
        *((options_class(name).__name__, "") for name in BUILT_STRATEGIES if name != "auto"),
    ],
)
def test_defaults_are_those_of_the_schema(section: str, heading: str) -> None:
    rows = [row for page in PAGES[section] for row in defaults(page) if heading in row[0]]
    compared = 0
    for key, node in sections()[section].items():
        default = plain_default(node)
        shown = [cell for _, keys, cell in rows if re.search(rf"`(?:\w+\.)?{re.escape(key)}`", keys)]
        if default and key != "type" and shown and not shown[0].startswith("as "):
            assert any(default in words(cell) | {cell.strip("`")} for cell in shown), f"{section}: {key}: {default}"
            compared += 1
    assert compared or not any(plain_default(node) for key, node in sections()[section].items() if key != "type")


@pytest.mark.parametrize("name", [name for name in BUILT_STRATEGIES if name != "auto"])
def test_options_are_listed_with_their_strategy(name: str) -> None:
    listed = [" ".join(keys for _, keys, _ in defaults(page)) for page in STRATEGIES[name]]
    options = options_class(name)
    for option in options.model_fields:
        if option != "type":
            keys = next((keys for keys in listed if re.search(rf"`{option}[`.]", keys)), "")
            assert keys, option
            assert (option in options.meaning) == (f"`{option}`†" in keys), f"{option} is fixed, or not"
