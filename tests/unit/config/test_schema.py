"""The JSON Schema and the template of `qbcd init` agree with the loader."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
import yaml
from pydantic import Field

from qbcd.config import TEMPLATE, config_from_dict, json_schema, load_config, write_template
from qbcd.config.descriptions import descriptions
from qbcd.config.models import ProjectConfig
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_registry import BUILT_STRATEGIES
from qbcd.errors import ConfigError

TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "null": type(None),
}
WORDS = {
    "$schema",
    "$defs",
    "$ref",
    "title",
    "description",
    "default",
    "type",
    "properties",
    "additionalProperties",
    "required",
    "items",
    "anyOf",
    "oneOf",
    "not",
    "enum",
    "const",
    "pattern",
    "minimum",
    "maximum",
    "minItems",
    "minProperties",
}


def fits(root: dict[str, Any], node: Any, value: Any) -> bool:
    """Validate by the words that our schema uses; any other word fails the test."""
    if isinstance(node, bool):
        return node
    assert set(node) <= WORDS, set(node) - WORDS
    if "$ref" in node:
        return fits(root, root["$defs"][node["$ref"].rpartition("/")[2]], value)
    return all(holds(root, word, rule, node, value) for word, rule in node.items())


def holds(root: dict[str, Any], word: str, rule: Any, node: dict[str, Any], value: Any) -> bool:
    if word == "type":
        kinds = rule if isinstance(rule, list) else [rule]
        is_bool = isinstance(value, bool)
        return any(isinstance(value, TYPES[k]) and (not is_bool or k == "boolean") for k in kinds)
    if word == "anyOf":
        return any(fits(root, one, value) for one in rule)
    if word == "oneOf":
        return sum(fits(root, one, value) for one in rule) == 1
    if word == "not":
        return not fits(root, rule, value)
    if word in ("enum", "const"):
        return value in (rule if word == "enum" else [rule])
    if isinstance(value, str) and word == "pattern":
        return re.search(rule, value) is not None
    if isinstance(value, (int, float)) and word in ("minimum", "maximum"):
        return bool(value >= rule if word == "minimum" else value <= rule)
    if isinstance(value, list) and word in ("items", "minItems"):
        return all(fits(root, rule, item) for item in value) if word == "items" else len(value) >= rule
    if isinstance(value, dict):
        return holds_object(root, word, rule, node, value)
    return True


def holds_object(root: dict[str, Any], word: str, rule: Any, node: dict[str, Any], value: dict[str, Any]) -> bool:
    properties = node.get("properties", {})
    if word == "required":
        return set(rule) <= set(value)
    if word == "properties":
        return all(fits(root, rule[key], item) for key, item in value.items() if key in rule)
    if word == "additionalProperties":
        return all(fits(root, rule, item) for key, item in value.items() if key not in properties)
    return len(value) >= rule if word == "minProperties" else True


STRATEGIES: list[Any] = [
    "id",
    "tlcs",
    {
        "type": "ts",
        "timestamp": "changed",
        "zone": "-03:30",
        "margin": 2,
        "lag": "5m",
        "replica": "keys",
        "deletes": {"every": "1h"},
        "counter": "table",
    },
    {"type": "ts", "timestamp": ["changed", "made"], "deletes": "only", "zone": "${env:ZONE}"},
    {
        "type": "tdi",
        "timestamp": "changed",
        "delete_flag": "gone",
        "deleted_value": "Y",
        "purge": True,
        "retention": "1d",
        "create_index": True,
    },
    {"type": "atdi", "timestamp": "changed", "delete_flag": "gone", "deleted_value": 1},
    {"type": "ts", "timestamp": "changed", "replica": "spark", "rows_per_range": 100},
    {"type": "tlcs", "checksums": "column", "checksum_column": "chk", "deletes": False},
    {"type": "id_rcs", "rows_per_range": 500, "buckets": "hash"},
    {"type": "tlcs", "checksums": "remote", "rows_per_range": 100},
    {"type": "id_rcs", "replica": "digest"},
    {"type": "tlcs", "replica": "lake"},
    {"type": "mds", "events": ["insert", "delete"]},
    {"type": "id", "pace": {"target": "50ms", "nice_ratio": 9}},
    {"type": "id", "rows_per_range": 500, "pace": {"per_second": 0.5}, "per_poll": 10, "max_staleness": "1h"},
    {"type": "id", "pages_per_range": 50, "pace": {"target": "100ms"}},
]


def example() -> dict[str, Any]:
    """Return the documented example without features that are not built."""
    return {
        "version": 1,
        "state": "sqlite:///.qbcd/state.db",
        "workdir": ".qbcd",
        "spark": {"master": "local[*]", "conf": {"spark.sql.shuffle.partitions": 4}, "driver_jar": "x.jar"},
        "sources": {
            "shop": {
                "url": "postgresql://reader@db.example:5432/shop?sslmode=verify-full",
                "password": "${env:SHOP_PASSWORD}",
                "schema": "qbcd",
                "jdbc": {"fetchsize": 10000, "properties": {"socketTimeout": 30}},
                "connections": "${env:CONNECTIONS}",
            }
        },
        "sinks": {
            "changes": {"type": "jsonl", "path": "out/changes"},
            "lake": {"type": "parquet", "path": "out/lake"},
            "screen": {"type": "console", "limit": 5},
        },
        "defaults": {"every": "30s", "sinks": ["changes"], "retain": "7d"},
        "tables": [
            {
                "name": "orders",
                "source": "shop",
                "table": "public.orders",
                "key": ["order_id"],
                "columns": ["status", "amount"],
                "types": {"amount": "text", "tags": "set", "codes": "multiset", "roles": {"set": ", "}},
                "where": "region = 'EU'",
                "strategy": "id_rcs",
                "baseline": "events",
            },
            {
                "source": "shop",
                "table": "public.customers",
                "exclude": ["comment"],
                "strategy": {"type": "id_rcs", "rows_per_range": 100},
                "every": 300,
                "guards": {"max_delete_fraction": 0.3, "allow_empty": False},
            },
            {"source": "shop", "table": "public.planes", "strategy": {"type": "mds"}},
            *(
                {"source": "shop", "table": f"public.t{number}", "strategy": strategy}
                for number, strategy in enumerate(STRATEGIES)
            ),
        ],
    }


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", "secret")
    monkeypatch.setenv("SHOP_URL", "postgresql://reader@db.example/shop")
    monkeypatch.setenv("CONNECTIONS", "3")
    monkeypatch.setenv("ZONE", "+14:00")


def test_the_schema_takes_the_documented_example(tmp_path: Path) -> None:
    schema = json_schema()
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert fits(schema, schema, example())
    assert config_from_dict(example(), tmp_path).databases["shop"].connections == 3


def test_the_schema_shows_defaults_as_users_write_them() -> None:
    properties = json_schema()["$defs"]["TsOptions"]["properties"]
    assert (properties["margin"]["default"], properties["replica"]["default"]) == ("1s", "source")


def keys(node: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every key that a mapping of the file may have, with its schema; conditions on other keys are none."""
    if isinstance(node, list):
        for item in node:
            yield from keys(item, path)
    if not isinstance(node, dict):
        return
    named = node.get("properties", {})
    if node.get("additionalProperties") is False or path == "/$defs/OtherOptions":
        yield from ((f"{path}: {key}", one) for key, one in named.items())
    for key, item in node.items():
        yield from keys(item, f"{path}/{key}")


def test_every_key_of_the_schema_has_a_description_for_users() -> None:
    found = dict(keys(json_schema()))
    assert [path for path, key in found.items() if not key.get("description", "").endswith(".")] == []
    assert [path for path, key in found.items() if "``" in key["description"] or ":meth:" in key["description"]] == []
    of_all = ("/$defs/VbdOptions: lag", "/$defs/RollConfig: size", "/$defs/DatabaseOptions: schema", ": jobs")
    nested = "/$defs/TsOptions/properties/deletes/anyOf: every"
    assert {*of_all, nested, "/$defs/OtherOptions: type"} <= set(found)


def test_options_of_packages_are_described_by_docstrings_or_fields() -> None:
    class Ours(StrategyConfig):
        """Options of a package.

        Attributes:
            size: Rows of ``one`` piece,
                in thousands.
        """

        type: Literal["ours"] = "ours"
        size: int = 1
        unit: int = Field(default=1, alias="per", description="Pieces of a poll.")
        other: int = 1

    described = {"type": "Name of the strategy.", "size": "Rows of `one` piece, in thousands."}
    assert descriptions(Ours) == {**described, "per": "Pieces of a poll."}


def changed(path: tuple[str | int, ...], value: Any) -> dict[str, Any]:
    data: Any = example()
    target = data
    for part in path[:-1]:
        target = target[part]
    if value is ...:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return dict(data)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("version",), 2),
        (("version",), ...),
        (("spurk",), {}),
        (("sources",), {}),
        (("tables",), []),
        (("sources", "shop", "url"), ...),
        (("sources", "shop", "connections"), 17),
        (("sources", "shop", "jdbc", "fetchsize"), 0),
        (("sources", "shop", "jdbc", "fetchsize"), True),
        (("sinks", "changes", "path"), ...),
        (("sinks", "screen", "limits"), 5),
        (("defaults", "every"), "30 parsecs"),
        (("tables", 0, "strategy"), {"type": "auto", "need": {"delets": True}}),
        (("tables", 0, "strategy"), {"type": "vbd", "variant": "other"}),
        (("tables", 0, "strategy"), "ts"),
        (("tables", 0, "strategy"), {"timestamp": "changed"}),
        (("tables", 0, "strategy"), {"type": "ts"}),
        (("tables", 0, "strategy"), {"type": "tdi", "timestamp": "changed"}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": []}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": "changed", "zone": "Europe/Berlin"}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": "changed", "replica": "elsewhere"}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": "changed", "deletes": {"evry": "1h"}}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": "changed", "deletes": True}),
        (("tables", 0, "strategy"), {"type": "ts", "timestamp": "changed", "counter": "row"}),
        (("tables", 0, "strategy"), {"type": "tdi", "timestamp": "t", "delete_flag": "f", "deleted_value": 0.5}),
        (("tables", 0, "strategy"), {"type": "id", "pages_per_range": 0}),
        (("tables", 0, "strategy"), {"type": "id", "pace": {"per_second": 0}}),
        (("tables", 0, "strategy"), {"type": "id", "pace": {"nice_ratio": -1}}),
        (("tables", 0, "strategy"), {"type": "id", "pace": {"speed": 1}}),
        (("tables", 0, "strategy"), {"type": "tlcs", "checksums": "elsewhere"}),
        (("tables", 0, "key_change"), True),
        (("tables", 0, "strategy"), {"rows_per_range": 5}),
        (("tables", 0, "strategy"), {"type": "mds", "rows_per_range": 5}),
        (("tables", 0, "table"), ...),
        (("tables", 0, "query"), "SELECT 1"),
        (("tables", 0, "exclude"), ["x"]),
        (("tables", 0, "types"), {"amount": "decimal"}),
        (("tables", 0, "types"), {"tags": {"set": "a"}}),
        (("tables", 0, "types"), {"tags": {"set": ",", "multiset": ","}}),
        (("tables", 0, "types"), {"tags": {"list": ","}}),
        (("tables", 0, "baseline"), "loud"),
        (("tables", 0, "key"), []),
        (("tables", 0, "key"), 5),
        (("tables", 0, "sinks"), 5),
        (("tables", 0, "source"), ...),
        (("defaults", "source"), 5),
        (("tables", 1, "guards", "max_delete_fraction"), 1.1),
    ],
)
def test_the_loader_refuses_all_that_the_schema_refuses(path: tuple[str | int, ...], value: Any) -> None:
    schema = json_schema()
    assert not fits(schema, schema, changed(path, value))
    with pytest.raises(ConfigError):
        config_from_dict(changed(path, value))


def test_the_template_loads_and_fits_the_schema(tmp_path: Path) -> None:
    path = write_template(tmp_path / "new" / "folder")
    assert path == tmp_path / "new" / "folder" / "qbcd.yaml"
    config = load_config(path)
    assert config.streams[0].strategy == "id_rcs"
    schema = json_schema()
    assert fits(schema, schema, yaml.safe_load(TEMPLATE))


def test_every_commented_key_of_the_template_loads(tmp_path: Path) -> None:
    built = "|".join(["qbcd: ", "Next", *(f"{name}:" for name in BUILT_STRATEGIES)])
    text = re.sub(rf"^( *)# (?!{built})(?=(?:  )*[a-z_]+:(?: \S|$))", r"\1", TEMPLATE, flags=re.MULTILINE)
    text = text.replace("    password: ${file:/run/secrets/shop}\n", "")
    first, *others = re.findall(r"^    strategy: .*\n", text, flags=re.MULTILINE)
    text = text.replace("".join(others), "")
    for other in others:
        (tmp_path / "other.yaml").write_text(text.replace(first, other))
        assert f"type: {load_config(tmp_path / 'other.yaml').streams[0].strategy}," in other
    assert len(others) == 2
    (tmp_path / "qbcd.yaml").write_text(text)
    config: ProjectConfig = load_config(tmp_path / "qbcd.yaml")
    assert set(config.sinks) == {"changes", "lake", "screen"}
    assert config.streams[0].baseline == "events"
    assert config.streams[0].columns == ("status", "amount")
    assert config.streams[0].key_change == "pair"
    assert config.spark.conf == {"spark.driver.memory": "2g"}


def test_the_query_of_the_template_loads(tmp_path: Path) -> None:
    text, found = re.subn(r"^  # - \{", "  - {", TEMPLATE, flags=re.MULTILINE)
    (tmp_path / "qbcd.yaml").write_text(text)
    [_, stream] = load_config(tmp_path / "qbcd.yaml").streams
    assert (found, stream.name, stream.strategy, stream.subject) == (1, "sales", "vbd", "query")


def test_the_template_explains_every_strategy() -> None:
    explained = re.findall(r"^    # (\w+): +[a-z]", TEMPLATE.partition("strategy: id_rcs")[0], flags=re.MULTILINE)
    assert sorted(set(explained) - {"schema", "connections"}) == sorted(BUILT_STRATEGIES)


def test_the_template_overwrites_nothing(tmp_path: Path) -> None:
    (tmp_path / "qbcd.yaml").write_text("mine")
    with pytest.raises(ConfigError, match="exists and is not overwritten"):
        write_template(tmp_path)
    assert (tmp_path / "qbcd.yaml").read_text() == "mine"
    with pytest.raises(ConfigError, match="cannot be written"):
        write_template(tmp_path / "qbcd.yaml" / "below")
