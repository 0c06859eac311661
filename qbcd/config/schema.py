"""The JSON Schema of the configuration file, for editors and `qbcd schema`."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from pathlib import Path
from types import GenericAlias
from typing import Any

from pydantic import SecretStr, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core.core_schema import ModelSchema
from typing_extensions import override

from qbcd.config.descriptions import descriptions
from qbcd.config.fields import in_words
from qbcd.config.files import FilesConfig
from qbcd.config.jdbc_source import JdbcSourceConfig
from qbcd.config.models import ProjectConfig, SourceConfig
from qbcd.config.sink_registry import BUILT_SINKS, sink_options
from qbcd.config.strategy_registry import options_class, strategy_names
from qbcd.errors import ConfigError

DIALECT = "https://json-schema.org/draft/2020-12/schema"
TITLE = "qbcd configuration"

_PLACEHOLDER = {"type": "string", "pattern": r"\$\{(env|file):[^{}]+\}"}
_NARROW = ("enum", "pattern")
_FIXED = ("version", "type")  # the value selects the rest of the schema, so it cannot be a placeholder
_NOISE = ("title", "format", "writeOnly")


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with defaults as users write them and descriptions of keys.

    Classes have no descriptions.
    """

    @override
    def model_schema(self, schema: ModelSchema) -> dict[str, Any]:
        made = super().model_schema(schema)
        made.pop("description", None)
        for key, text in descriptions(schema["cls"]).items():
            made["properties"][key]["description"] = text
        return made

    @override
    def encode_default(self, dft: Any) -> Any:
        """See pydantic. A default is in the code, so it is no secret."""
        if isinstance(dft, timedelta):
            return in_words(dft)
        return dft.get_secret_value() if isinstance(dft, SecretStr) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12.

    Every value except `version` and `type` may be a placeholder.
    """
    strategies = {name: options_class(name) for name in strategy_names()}
    sinks = [sink_options(name) for name in BUILT_SINKS]
    # one document for all, so that classes with equal names get different names in it
    models = (ProjectConfig, SourceConfig, FilesConfig, JdbcSourceConfig, *sinks, *strategies.values())
    everything: Any = GenericAlias(tuple, models)
    made = _users(TypeAdapter(everything).json_schema(by_alias=True, schema_generator=_Generator))
    sections, (project, database, files, driver, *refs) = made["$defs"], made["prefixItems"]
    _add_strategies(sections, dict(zip(strategies, refs[len(sinks) :], strict=True)))
    schema = sections.pop(_section(project))
    sections["FilesConfig"].setdefault("required", ["files"])
    of_files = [name for name in strategies if options_class(name).reads_files]
    schema["properties"]["sources"]["additionalProperties"] = {"anyOf": [database, files, driver]}
    schema["properties"]["sinks"]["additionalProperties"] = {
        "oneOf": [*refs[: len(sinks)], {"$ref": "#/$defs/OtherOptions"}]
    }
    no_table = {  # of a source with files
        "required": ["name"],
        "not": {"anyOf": [{"required": [key]} for key in ("table", "query", "tables")]},
        "properties": {
            "strategy": {
                "anyOf": [
                    {"enum": of_files},
                    {"type": "object", "properties": {"type": {"enum": of_files}}, "required": ["type"]},
                ]
            }
        },
    }
    sections["TableConfig"]["oneOf"] = [
        {"required": ["table"]},
        {"required": ["query", "name"]},
        {"required": ["tables"]},
        no_table,
    ]
    # of a pattern, `exclude` has tables
    sections["TableConfig"]["anyOf"] = [{"required": ["tables"]}, {"not": {"required": ["columns", "exclude"]}}]
    sections["OtherOptions"] = {
        "type": "object",
        "properties": {
            "type": {
                "type": "string",
                "not": {"enum": list(BUILT_SINKS)},
                "description": "Sink of an installed package, which checks the other keys.",
            }
        },
        "required": ["type"],
    }
    # either `defaults` has a source, or each table
    schema["anyOf"] = [
        {"properties": {"defaults": {"required": ["source"]}}, "required": ["defaults"]},
        {"properties": {"tables": {"items": {"required": ["source"]}}}},
    ]
    return {"$schema": DIALECT, "title": TITLE, "$defs": sections, **schema}


def write_schema(path: Path) -> Path:
    """Write the schema into a file, for editors; an older schema is replaced. Return the file.

    Raises:
        ConfigError: The file has other content, or it cannot be written.
    """
    new = path.with_name(f".{path.name}.new")
    try:
        if path.exists() and not _is_schema(path):
            remedy = "remove it, or name another file with `qbcd schema -o FILE`"
            raise ConfigError(f"{path} exists, is not a schema of qbcd, and is not overwritten", remedy=remedy)
        new.write_text(json.dumps(json_schema(), indent=1) + "\n", encoding="utf-8")
        os.replace(new, path)
    except OSError as error:
        remedy = "check the folder and its permissions"
        raise ConfigError(f"{path} cannot be written: {type(error).__name__}", remedy=remedy) from None
    return path


def _is_schema(path: Path) -> bool:
    """Return True if a file has a schema of this or another version."""
    try:
        data = json.loads(path.read_bytes())
    except ValueError:
        return False
    return isinstance(data, dict) and data.get("title") == TITLE


def _add_strategies(sections: dict[str, Any], refs: dict[str, dict[str, Any]]) -> None:
    """Add the strategies to tables and `defaults`: by options, or by name if all have defaults.

    Args:
        sections: The definitions of the schema; this function changes them.
        refs: The reference to each strategy's options.
    """
    alone = []
    for name, ref in refs.items():
        section = sections[_section(ref)]
        if not section.get("required"):
            alone.append(name)
        section["required"] = ["type", *section.get("required", ())]
    for holder in ("TableConfig", "DefaultsConfig", "StreamDefaults"):
        choices = sections[holder]["properties"]["strategy"]["anyOf"]
        choices[0] = {"oneOf": list(refs.values())}
        choices.insert(0, {"enum": alone})


def _section(ref: dict[str, Any]) -> str:
    """Return the name of the definition that a reference points to."""
    return str(ref["$ref"]).rpartition("/")[2]


def _users(node: Any, *, fixed: bool = False) -> Any:
    """Return a schema node as users need it.

    It has no additions of pydantic, and scalars may also be placeholders, unless `fixed`.
    """
    if isinstance(node, list):
        return [_users(item) for item in node]
    if not isinstance(node, dict):
        return node
    plain: dict[str, Any] = {}
    for key, item in node.items():
        if key in ("properties", "$defs"):
            plain[key] = {name: _users(child, fixed=name in _FIXED) for name, child in item.items()}
        elif key not in _NOISE or not isinstance(item, (str, bool)):
            plain[key] = item if key in ("discriminator", "enum", "const", "default") else _users(item)
    plain.pop("discriminator", None)
    return plain if fixed else _widened(plain)


def _widened(node: dict[str, Any]) -> dict[str, Any]:
    if "const" in node:
        node = {**node, "enum": [node["const"]]}
        del node["const"]
    narrow = node.get("type") in ("integer", "number", "boolean") or any(key in node for key in _NARROW)
    if not narrow or "properties" in node:
        return node
    outer: dict[str, Any] = {key: node.pop(key) for key in ("description", "default") if key in node}
    return {"anyOf": [node, dict(_PLACEHOLDER)], **outer}
