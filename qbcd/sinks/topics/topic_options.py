"""Options of topic sinks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, SecretStr, model_validator
from typing_extensions import override

from qbcd.config.fields import Filled, Switch, Wait, Whole, pattern_problem, wrong
from qbcd.config.sink_options import BuiltOptions, SecretOption, SinkNeeds
from qbcd.model import BatchHeader
from qbcd.sinks.table.options import TableOptions

PROPERTIES = (
    "client.id",
    "compression.type",
    "linger.ms",
    "sasl.mechanism",
    "sasl.password",
    "sasl.username",
    "security.protocol",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.key.password",
)
_SECRETS = ("sasl.password", "ssl.key.password")
TOPIC = re.compile(r"(?!\.{1,2}$)[A-Za-z0-9._-]{1,249}")


def _properties(value: dict[str, SecretStr]) -> dict[str, SecretStr]:
    for name in value:
        if name not in PROPERTIES:
            raise wrong("this property is not allowed", f"there are {', '.join(PROPERTIES)}", at=name)
    return value


class KafkaOptions(BuiltOptions):
    """A topic per stream, written in transactions.

    Attributes:
        servers: Brokers to connect to first, as ``HOST:9092,HOST:9092``.
        topic: Name of the topic, with ``{stream}``, ``{schema}``, ``{table}`` and ``{source}`` of the stream.
        partitions: Partitions of the topics: of those that are created, and by which others are judged.
        envelope: Form of the messages.
        schemas: Messages of ``debezium`` have their schemas, as with ``schemas.enable``.
        tombstones: A message without a value follows each delete.
        acks_topic: The compacted topic that has the sink's records.
        max_events: Most events of a transaction.
        transaction_timeout: Time after which the broker ends a transaction; half of it is used.
        properties: Settings of librdkafka; those of the page of this sink.
    """

    type: Literal["kafka"]
    servers: Filled
    topic: Filled = "{source}.{schema}.{table}"
    partitions: Annotated[Whole, Field(ge=1, le=100_000)] | None = None
    envelope: Literal["qbcd", "debezium"] = "qbcd"
    schemas: Switch = False
    tombstones: Switch = False
    acks_topic: Filled = "_qbcd_acks"
    max_events: Whole = Field(default=100_000, ge=1, le=10_000_000)
    transaction_timeout: Wait = timedelta(minutes=1)
    properties: Annotated[dict[str, SecretStr], AfterValidator(_properties)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _fits(self) -> KafkaOptions:
        if problem := pattern_problem(self.topic):
            raise wrong(*problem, at="topic")
        for name, text in (("topic", re.sub(r"\{\w+\}", "x", self.topic)), ("acks_topic", self.acks_topic)):
            if not TOPIC.fullmatch(text):
                raise wrong("not the name of a topic", "write one of A-Z a-z 0-9 . _ -", at=name)
        if self.schemas and self.envelope != "debezium":
            raise wrong("`schemas` is for envelope debezium", "remove it", at="schemas")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        plain = {name: value.get_secret_value() for name, value in self.properties.items()}
        return {**super().options, "properties": plain}

    @property
    @override
    def needs(self) -> SinkNeeds:
        return SinkNeeds(every_batch=True)

    @override
    def secrets(self) -> Iterator[SecretOption]:
        for name in _SECRETS:
            if name in self.properties:
                yield SecretOption(("properties", name), self.properties[name].get_secret_value())

    def topic_of(self, header: BatchHeader) -> str:
        """Return the topic of a stream."""
        named = TableOptions(table=self.topic).table_of(header)
        return re.sub(r"\.{2,}", ".", named).strip(".")  # a query has no schema
