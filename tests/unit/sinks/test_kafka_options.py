"""Options of the sink `kafka`: allow-list, secrets, names of topics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from qbcd.config import config_from_dict
from qbcd.config.masking import masking_of
from qbcd.errors import ConfigError
from qbcd.model import Travel
from qbcd.sinks import make_sink
from qbcd.sinks.kafka import KafkaSink
from tests.support.project import config
from tests.support.table_batches import planned

pytest.importorskip("confluent_kafka")


def configured(**options: Any) -> dict[str, Any]:
    sink = {"type": "kafka", "servers": "localhost:1", **options}
    table = {"name": "s", "table": "public.t", "strategy": "mds"}
    return config("postgresql://me@localhost/db", table, sinks={"bus": sink})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"servers": None}, "`servers` is missing"),
        ({"topic": "{nothing}"}, "unknown placeholder"),
        ({"schemas": True}, "is for envelope debezium"),
        ({"properties": {"enable.idempotence": "false"}}, "not allowed"),
        ({"properties": {"sasl.password": "canary-4711"}}, "the secret is written in the file"),
        ({"partitions": 0}, "partitions"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        config_from_dict(configured(**options))
    assert "canary" not in str(raised.value)


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PASSWORD", "canary-4711")
    properties = {"sasl.username": "me", "sasl.password": "${env:PASSWORD}", "linger.ms": "5"}
    made = config_from_dict(configured(properties=properties))
    assert "canary" not in repr(made)
    assert "canary" not in masking_of(made).foreign("it said canary-4711")
    sink = make_sink("bus", "kafka", made.sinks["bus"].options)
    assert isinstance(sink, KafkaSink)
    assert sink.brokers._client["sasl.password"] == "canary-4711"
    assert sink.options.transaction_timeout.total_seconds() == 60


def test_names_of_topics() -> None:
    facts = planned({"id": Travel("int64")})
    named = {
        pattern: KafkaSink("b", "x:1", topic=pattern).options.topic_of(facts) for pattern in ("{stream}", "a-{table}")
    }
    assert named == {"{stream}": "orders", "a-{table}": "a-orders"}
    assert KafkaSink("b", "x:1").options.topic_of(facts) == "shop.public.orders"
    query = replace(facts, table="totals")
    assert KafkaSink("b", "x:1").options.topic_of(query) == "shop.totals"
    (problem,) = KafkaSink("b", "x:1", topic="{table}").problems(replace(facts, table="public.ключ"))
    assert "cannot be the name of a topic" in str(problem)


def test_streams_with_one_topic_have_one_place() -> None:
    facts = planned({"id": Travel("int64")})
    one, two = KafkaSink("a", "x:1, Y:2", topic="all"), KafkaSink("b", "y:2,x:1", topic="all")
    assert one.place(facts).key == two.place(replace(facts, stream="other")).key
