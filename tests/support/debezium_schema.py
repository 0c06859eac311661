"""JSON Schemas of Debezium's change events, written from its documentation of connectors for relational databases.

`op` and `source` are required, `before`, `after`, `ts_ms` and `transaction` optional: the sections "Change event keys",
"Change event values", "create events", "update events", "delete events" and "Transaction metadata" of the page of the
connector for PostgreSQL, 3.3. With ``schemas.enable`` each message is `schema` and `payload` of Kafka Connect.
"""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]
ROW: Json = {"type": "object", "minProperties": 1}
NULL: Json = {"type": "null"}
SOURCE: Json = {
    "type": "object",
    "required": ["version", "connector", "name", "ts_ms", "snapshot", "db", "table"],
    "properties": {
        **{name: {"type": "string"} for name in ("version", "connector", "name", "db", "schema", "table")},
        "ts_ms": {"type": "integer"},
        "snapshot": {"enum": ["true", "first", "first_in_data_collection", "last", "false", "incremental"]},
    },
}
TRANSACTION: Json = {
    "type": "object",
    "required": ["id", "total_order", "data_collection_order"],
    "properties": {
        "id": {"type": "string"},
        "total_order": {"type": "integer"},
        "data_collection_order": {"type": "integer"},
    },
}


def _if(op: str, before: Json, after: Json) -> Json:
    images = {"properties": {"before": before, "after": after}, "required": ["after" if op != "d" else "before"]}
    return {"if": {"properties": {"op": {"const": op}}}, "then": images}


ENVELOPE: Json = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "required": ["op", "source"],
    "properties": {
        "before": {"anyOf": [ROW, NULL]},
        "after": {"anyOf": [ROW, NULL]},
        "source": SOURCE,
        "transaction": {"anyOf": [TRANSACTION, NULL]},
        "op": {"enum": ["c", "u", "d", "r"]},
        **{name: {"type": ["integer", "null"]} for name in ("ts_ms", "ts_us", "ts_ns")},
    },
    "allOf": [_if("c", NULL, ROW), _if("r", NULL, ROW), _if("u", {"anyOf": [ROW, NULL]}, ROW), _if("d", ROW, NULL)],
}
CONNECT_TYPES = (
    "boolean",
    "int8",
    "int16",
    "int32",
    "int64",
    "float",
    "double",
    "string",
    "bytes",
    "array",
    "map",
    "struct",
)
DEFINITIONS: Json = {
    "field": {
        "type": "object",
        "required": ["type", "optional"],
        "properties": {
            "type": {"enum": list(CONNECT_TYPES)},
            "optional": {"type": "boolean"},
            "field": {"type": "string"},
            "name": {"type": "string", "pattern": r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$"},
            "version": {"type": "integer"},
            "fields": {"type": "array", "items": {"allOf": [{"$ref": "#/$defs/field"}, {"required": ["field"]}]}},
        },
        "if": {"properties": {"type": {"const": "struct"}}},
        "then": {"required": ["fields"]},
    }
}


def message(payload: Json) -> Json:
    """Return the schema of a message with ``schemas.enable``."""
    both = {"schema": {"$ref": "#/$defs/field"}, "payload": payload}
    found = {"type": "object", "required": ["schema", "payload"], "properties": both, "additionalProperties": False}
    return {**found, "$defs": DEFINITIONS}
