"""The JSON Schema of the configuration file as users write it, for editors and `qbcd schema`."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from qbcd.config.fields import in_words
from qbcd.config.models import ProjectConfig
from qbcd.config.options import BUILT_SINKS, STRATEGY_OPTIONS

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_PLACEHOLDER = {"type": "string", "pattern": r"\$\{(env|file):[^{}]+\}"}
_NARROW = ("enum", "pattern")
_FIXED = ("version", "type")  # what stands there decides what the rest means, so it is no placeholder
_NOISE = ("title", "description", "format", "writeOnly")


class _Generator(GenerateJsonSchema):
    """Pydantic's, with durations as users write them."""

    def encode_default(self, dft: Any) -> Any:
        return in_words(dft) if isinstance(dft, timedelta) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12; a placeholder is allowed for every value but `version` and `type`."""
    schema = _users(ProjectConfig.model_json_schema(by_alias=True, schema_generator=_Generator))
    sections = schema["$defs"]
    alone = []
    for name, options in STRATEGY_OPTIONS.items():
        section = sections[options.__name__]
        if not section.get("required"):
            alone.append(name)
        section["required"] = ["type", *section.get("required", ())]
    for holder in ("TableConfig", "DefaultsConfig"):
        # the name alone stands for a strategy whose options all have defaults
        sections[holder]["properties"]["strategy"]["anyOf"].insert(0, {"enum": alone})
    sections["TableConfig"]["required"] = ["source"]
    sections["TableConfig"]["oneOf"] = [{"required": ["table"]}, {"required": ["query", "name"]}]
    sections["TableConfig"]["not"] = {"required": ["columns", "exclude"]}
    sections["OtherSink"] = {
        "type": "object",
        "properties": {"type": {"type": "string", "not": {"enum": list(BUILT_SINKS)}}},
        "required": ["type"],
    }
    return {"$schema": DIALECT, "title": "qbcd configuration", **schema}


def _users(node: Any, *, fixed: bool = False) -> Any:
    """A schema node without what pydantic adds for itself, narrow scalars widened by placeholders unless `fixed`."""
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
