"""Debezium's envelope: every event of a drawn history against JSON Schemas written from its documentation."""

from __future__ import annotations

import json
from typing import Any

import pytest

from qbcd.sinks.topics.debezium import DebeziumEnvelope
from tests.support.debezium_schema import ENVELOPE, ROW, message
from tests.support.file_batches import FileBatch, batches

pytestmark = pytest.mark.campaign
jsonschema = pytest.importorskip("jsonschema", reason="pip install jsonschema")


def refused(schema: dict[str, Any], value: Any) -> list[str]:
    """Return what a schema refuses in a value."""
    return [one.message for one in jsonschema.Draft202012Validator(schema).iter_errors(value)]


def events(batch: FileBatch) -> list[Any]:
    return [json.loads(line) for piece in batch.json_lines() for line in piece]


@pytest.mark.parametrize("schemas", [False, True])
@pytest.mark.parametrize("old", [True, False])
def test_every_event_of_a_history_fits(schemas: bool, old: bool) -> None:
    ops: dict[str, int] = {}
    for batch in batches(200, before=old):
        envelope = DebeziumEnvelope(batch.header, schemas=schemas)
        for event in events(batch):
            event["key"] = {name: (event["after"] or event["before"] or event["key"])[name] for name in ("id", "part")}
            value, key = envelope.value(event), envelope.key(event["key"])
            assert refused(message(ENVELOPE) if schemas else ENVELOPE, value) == []
            assert refused(message(ROW) if schemas else ROW, key) == []
            ops[event["op"]] = ops.get(event["op"], 0) + 1
    assert set(ops) == {"c", "u", "d", "r"}
    assert sum(ops.values()) > 400


@pytest.mark.parametrize(
    "broken",
    [{"op": "x"}, {"op": "d"}, {"op": "c", "before": {"id": 1}}, {"source": {}}, {"after": None}, {"ts_ms": "1"}],
)
def test_the_schema_refuses_what_debezium_does_not_write(broken: dict[str, Any]) -> None:
    (batch,) = batches(1)
    value = DebeziumEnvelope(batch.header, schemas=False).value(events(batch)[0])
    assert refused(ENVELOPE, value) == []
    assert refused(ENVELOPE, {**value, **broken})


def test_names_of_schemas_are_those_of_avro() -> None:
    (batch,) = batches(1, source="my shop", table="public.order-items")
    value = DebeziumEnvelope(batch.header, schemas=True).value(events(batch)[0])
    assert refused(message(ENVELOPE), value) == []
    assert value["schema"]["name"] == "my_shop.public.order_items.Envelope"
