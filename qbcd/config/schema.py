"""The JSON Schema of the configuration file, for editors and `qbcd schema`."""

from __future__ import annotations

from datetime import timedelta
from types import GenericAlias
from typing import Any

from pydantic import TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from qbcd.config.fields import in_words
from qbcd.config.files import FilesConfig
from qbcd.config.models import ProjectConfig, SourceConfig
from qbcd.config.sink_options import BUILT_SINKS
from qbcd.config.strategy_registry import options_class, strategy_names

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PLACEHOLDER = {"type": "string", "pattern": r"\$\{(env|file):[^{}]+\}"}
_NARROW = ("enum", "pattern")
_FIXED = ("version", "type")  # the value selects the rest of the schema, so it cannot be a placeholder
_NOISE = ("title", "description", "format", "writeOnly")


class _Generator(GenerateJsonSchema):
    """Pydantic's generator, with durations as users write them."""

    def encode_default(self, dft: Any) -> Any:
        return in_words(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """Return the schema, draft 2020-12.

    Every value except `version` and `type` may be a placeholder.
    """
    strategies = {name: options_class(name) for name in strategy_names()}
    # one document for all, so that classes with equal names get different names in it
    everything: Any = GenericAlias(tuple, (ProjectConfig, SourceConfig, FilesConfig, *strategies.values()))
    made = _users(TypeAdapter(everything).json_schema(by_alias=True, schema_generator=_Generator))
    sections, (project, database, files, *refs) = made["$defs"], made["prefixItems"]
    _add_strategies(sections, dict(zip(strategies, refs, strict=True)))
    schema = sections.pop(_section(project))
    sections["FilesConfig"].setdefault("required", ["files"])
    of_files = [name for name in strategies if options_class(name).reads_files]
    schema["properties"]["sources"]["additionalProperties"] = {"oneOf": [database, files]}
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
    sections["OtherSink"] = {
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": list(BUILT_SINKS)}}},
        "required": ["type"],
    }
    # either `defaults` has a source, or each table
    schema["anyOf"] = [
        {"properties": {"defaults": {"required": ["source"]}}, "required": ["defaults"]},
        {"properties": {"tables": {"items": {"required": ["source"]}}}},
    ]
    return {"$schema": DIALECT, "title": "qbcd configuration", "$defs": sections, **schema}


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
    outer = {"default": node.pop("default")} if "default" in node else {}
    return {"anyOf": [node, dict(_PLACEHOLDER)], **outer}
