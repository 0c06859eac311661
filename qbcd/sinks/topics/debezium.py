"""Events as messages in Debezium's envelope, with or without Kafka Connect's schemas.

Decimals, dates and times are texts, as with ``decimal.handling.mode=string``. See docs/reference/kafka.md#debezium.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from qbcd.model import BatchHeader, Travel
from qbcd.version import __version__

Json = dict[str, Any]
_TYPES = {
    "boolean": "boolean",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float32": "float",
    "float64": "double",
    "binary": "bytes",
}
_SOURCE: tuple[tuple[str, str], ...] = (
    ("version", "string"),
    ("connector", "string"),
    ("name", "string"),
    ("ts_ms", "int64"),
    ("snapshot", "string"),
    ("db", "string"),
    ("schema", "string"),
    ("table", "string"),
    ("epoch", "int64"),
    ("batch_seq", "int64"),
)
_BLOCK = [
    {"type": "string", "optional": False, "field": "id"},
    {"type": "int64", "optional": False, "field": "total_order"},
    {"type": "int64", "optional": False, "field": "data_collection_order"},
]


class DebeziumEnvelope:
    """The messages of a batch.

    Args:
        schemas: Each key and value has its schema, as with ``schemas.enable=true``.
    """

    def __init__(self, header: BatchHeader, *, schemas: bool) -> None:
        self._header, self._forms = header, dict(header.columns)
        schema, _, table = header.table.rpartition(".")
        self._source = {
            "version": __version__,
            "connector": "qbcd",
            "name": header.source,
            "ts_ms": header.ts_ms,
            "db": header.source,
            "schema": schema,
            "table": table,
            "epoch": header.epoch,
            "batch_seq": header.seq,
        }
        self._schemas = self._schemas_of(f"{header.source}.{header.table}") if schemas else None

    def key(self, key: Json) -> Json:
        """Return the key of a message."""
        payload = {name: self._value(name, value) for name, value in key.items()}
        return payload if self._schemas is None else {"schema": self._schemas[0], "payload": payload}

    def value(self, event: Json) -> Json:
        """Return the value of a message.

        A delete without old values has those of the key, and NULL in the other columns, as Debezium has for tables
        whose log has the key alone.
        """
        before = event["before"]
        if event["op"] == "d" and before is None and event["key"] is not None:
            before = {name: event["key"].get(name) for name in self._forms}
        snapshot = "true" if event["op"] == "r" else "false"
        added = {name: _text(event[name]) for name, _ in self._header.added if name in event}
        payload = {
            "before": self._row(before),
            "after": self._row(event["after"]),
            "source": {name: self._source.get(name, snapshot) for name, _ in _SOURCE},
            "transaction": None,
            "op": event["op"],
            "ts_ms": event["ts_ms"],
            **added,
        }
        return payload if self._schemas is None else {"schema": self._schemas[1], "payload": payload}

    def _row(self, image: Mapping[str, Any] | None) -> Json | None:
        return None if image is None else {name: self._value(name, image.get(name)) for name in self._forms}

    def _value(self, name: str, value: Any) -> Any:
        form = self._forms[name]
        if value is None:
            return None
        if form.kind == "uint64":  # Connect has no type for it
            return str(value)
        return _text(value) if form.element is not None else value

    def _schemas_of(self, name: str) -> tuple[Json, Json]:
        """Return the schemas of keys and of values."""
        key, name = set(self._header.key), re.sub(r"[^A-Za-z0-9_.]", "_", name)
        row = [_field(column, form, optional=column not in key) for column, form in self._forms.items()]
        source = [{"type": kind, "optional": False, "field": field} for field, kind in _SOURCE]
        fields: list[Json] = [
            {"type": "struct", "fields": row, "optional": True, "name": f"{name}.Value", "field": "before"},
            {"type": "struct", "fields": row, "optional": True, "name": f"{name}.Value", "field": "after"},
            {"type": "struct", "fields": source, "optional": False, "name": "qbcd.Source", "field": "source"},
            {"type": "struct", "fields": _BLOCK, "optional": True, "name": "event.block", "version": 1},
            {"type": "string", "optional": False, "field": "op"},
            {"type": "int64", "optional": True, "field": "ts_ms"},
            *({"type": "string", "optional": True, "field": field} for field, _ in self._header.added),
        ]
        fields[3]["field"] = "transaction"
        of_key = [_field(column, self._forms[column], optional=False) for column in self._header.key]
        return (
            {"type": "struct", "fields": of_key, "optional": False, "name": f"{name}.Key"},
            {"type": "struct", "fields": fields, "optional": False, "name": f"{name}.Envelope", "version": 1},
        )


def _field(column: str, form: Travel, *, optional: bool) -> Json:
    return {"type": _TYPES.get(form.kind, "string"), "optional": optional, "field": column}


def _text(value: Any) -> Any:
    """Return a value that has no type of its own as text."""
    return value if value is None or isinstance(value, str) else json.dumps(value, ensure_ascii=False)
