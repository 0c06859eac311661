"""Debezium's envelope: its fields, and its values against their schemas."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qbcd.model import Travel
from qbcd.sinks.topics.debezium import DebeziumEnvelope
from tests.support.file_batches import FileBatch, batches
from tests.support.table_batches import FORMS

# Values of events of Debezium's connectors for relational databases: "Change event values".
OPS = {"c", "u", "d", "r"}
CONNECT = {"boolean": bool, "int16": int, "int32": int, "int64": int, "float": float, "double": float}


def events(batch: FileBatch) -> list[Any]:
    return [json.loads(line) for piece in batch.json_lines() for line in piece]


def fits(schema: dict[str, Any], value: Any) -> None:
    """Check a value against a schema as Kafka Connect's JSON converter does, with every field and no other."""
    if value is None:
        assert schema["optional"], schema
    elif schema["type"] == "struct":
        assert [field["field"] for field in schema["fields"]] == list(value)
        for field in schema["fields"]:
            fits(field, value[field["field"]])
    else:
        kind = CONNECT.get(schema["type"], str)
        assert isinstance(value, (int, float) if kind is float else kind), (schema, value)
        assert not (isinstance(value, bool) and kind is not bool)


@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("old", [True, False])
def test_every_event_has_the_envelope(schemas: bool, old: bool) -> None:
    seen = set()
    for batch in batches(12, before=old):
        envelope = DebeziumEnvelope(batch.header, schemas=schemas)
        for event in events(batch):
            event["key"] = {name: (event["after"] or event["before"] or event["key"])[name] for name in ("id", "part")}
            value, key = envelope.value(event), envelope.key(event["key"])
            if schemas:
                assert list(value) == list(key) == ["schema", "payload"]
                fits(value["schema"], value["payload"])
                fits(key["schema"], key["payload"])
                assert value["schema"]["name"] == "shop.public.orders.Envelope"
                assert key["schema"]["name"] == "shop.public.orders.Key"
                value, key = value["payload"], key["payload"]
            assert list(value) == ["before", "after", "source", "transaction", "op", "ts_ms"]
            assert list(key) == ["id", "part"]
            op = value["op"]
            seen.add(op)
            assert (value["after"] is None) == (op == "d")
            assert (value["before"] is None) == (op in "cr" or (op == "u" and not old))
            assert value["source"]["connector"] == "qbcd"
            assert (value["source"]["schema"], value["source"]["table"]) == ("public", "orders")
            assert value["source"]["snapshot"] == ("true" if op == "r" else "false")
            for image in (value["before"], value["after"]):
                assert image is None or list(image) == [name for name, _ in FORMS]
                assert image is None or image["big"] is None or isinstance(image["big"], str)
            if op == "d" and not old:
                assert {name: v for name, v in value["before"].items() if v is not None} == key
    assert seen == OPS


def test_added_fields_are_texts() -> None:
    (batch,) = batches(
        1, added=(("subscriptions", Travel("array", element=Travel("text"))), ("lookup", Travel("text")))
    )
    envelope = DebeziumEnvelope(batch.header, schemas=True)
    event = {**events(batch)[0], "subscriptions": ["a", "b"], "lookup": {"c": {"x": 1}}}
    value = envelope.value(event)
    fits(value["schema"], value["payload"])
    assert value["payload"]["subscriptions"] == '["a", "b"]'
    assert json.loads(value["payload"]["lookup"]) == {"c": {"x": 1}}
