"""Connections to the brokers of Kafka: topics, the sink's record, and errors."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd.common import waits
from qbcd.errors import DeliveryError, EnvironmentMissing, SinkConflict, SinkSilent
from qbcd.sinks.topics.topic_options import KafkaOptions

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException

T = TypeVar("T")
SLICE_S = 0.5  # of a wait
_log = logging.getLogger("qbcd.kafka")  # of librdkafka, which would write on stderr
_log.propagate = False
_log.addHandler(logging.NullHandler())


class Fenced(SinkConflict):
    """A later writer of the stream has fenced this one."""


class Brokers:
    """The brokers of one sink.

    Args:
        sink: Its name, for messages.
        owner: The owner of waits.
    """

    def __init__(self, sink: str, options: KafkaOptions, properties: Mapping[str, str], owner: object) -> None:
        try:
            import confluent_kafka
        except ImportError:
            raise EnvironmentMissing("package confluent-kafka is missing", remedy="pip install 'qbcd[kafka]'") from None
        self.kafka, self.sink, self.options, self._owner = confluent_kafka, sink, options, owner
        own = {"bootstrap.servers": options.servers, "logger": _log, "error_cb": self._note}
        self._client = {**properties, **own}
        self._said = ""  # the last error of a connection
        self._denied = False  # it was a login or a certificate

    @property
    def patience(self) -> float:
        """Seconds for which one step may wait for the brokers."""
        return self.options.transaction_timeout.total_seconds()

    @cached_property
    def _admin(self) -> Any:
        from confluent_kafka.admin import AdminClient

        return AdminClient(self._client)

    def producer(self, identity: str, longest: int) -> Any:
        """Return a producer that has fenced all others with its identity.

        Args:
            longest: Most bytes of a message.
        """
        own = {
            "transactional.id": identity,
            "partitioner": "murmur2_random",
            "message.max.bytes": longest,
            "transaction.timeout.ms": int(self.patience * 1000),
        }
        made = self.kafka.Producer({**self._client, **own})
        self.ask(made.init_transactions)
        return made

    def ensured(self, topic: str, partitions: int | None, config: Mapping[str, str]) -> tuple[int, int]:
        """Create a missing topic; return the number of its partitions, and its longest message."""
        from confluent_kafka.admin import NewTopic

        admin, until = self._admin, time.monotonic() + self.patience
        while True:
            found = self.topics().get(topic)
            if found is not None and found.error is None and found.partitions:
                return len(found.partitions), int(self._config(topic)["max.message.bytes"].value)
            if time.monotonic() > until:
                raise SinkSilent(f"sink {self.sink}: topic {topic} is not ready", remedy="the batch stays pending")
            new = NewTopic(topic, partitions or -1, -1, config=dict(config))
            try:
                if found is None:
                    admin.create_topics([new])[topic].result(self.patience)
            except self.kafka.KafkaException as error:
                if error.args[0].code() != self.kafka.KafkaError.TOPIC_ALREADY_EXISTS:
                    raise
            time.sleep(0.1)

    def refuse_lossy(self, topic: str) -> None:
        """Refuse a topic of records that would lose them."""
        if self._config(topic)["cleanup.policy"].value != "compact":
            what = f"sink {self.sink}: topic {topic} is not compacted, and would lose the sink's records"
            raise DeliveryError(what, remedy="set its cleanup.policy to compact, or write another `acks_topic`")

    def _config(self, topic: str) -> Any:
        from confluent_kafka.admin import ConfigResource, ResourceType

        resource = ConfigResource(ResourceType.TOPIC, topic)
        return self.ask(lambda s: self._admin.describe_configs([resource], request_timeout=s)[resource].result())

    def record(self, identity: str) -> Mapping[str, Any] | None:
        """Return the record of an identity, whose earlier writers must be fenced.

        All that is committed is read. Transactions of other streams can be open in the topic, and the record can be
        behind them, so wait for their end.
        """
        from confluent_kafka.admin import OffsetSpec

        topic = self.options.acks_topic
        self.ensured(topic, 1, {"cleanup.policy": "compact", "segment.ms": "3600000"})
        self.refuse_lossy(topic)
        place = self.kafka.TopicPartition(topic, 0, self.kafka.OFFSET_BEGINNING)
        latest = {place: OffsetSpec.latest()}
        end = self.ask(lambda s: self._admin.list_offsets(latest, request_timeout=s)[place].result()).offset
        own = {"group.id": "qbcd", "isolation.level": "read_committed", "enable.auto.commit": False}
        reader = self.kafka.Consumer({**self._client, **own, "enable.partition.eof": True, "fetch.wait.max.ms": 50})
        found, began = None, time.monotonic()
        try:
            reader.assign([place])
            while True:
                message = reader.poll(SLICE_S)
                if message is not None and message.error() is None:
                    found = message.value() if message.key() == identity.encode() else found
                elif message is not None and message.error().code() != self.kafka.KafkaError._PARTITION_EOF:
                    raise self.kafka.KafkaException(message.error())
                elif message is not None and message.offset() >= end:
                    return json.loads(found) if found else None
                if time.monotonic() - began > waits.capped(2 * self.patience, self._owner):
                    what = f"sink {self.sink}: topic {topic} cannot be read to its end{self.last_error}"
                    raise SinkSilent(what, remedy="the batch stays pending")
        finally:
            reader.close()

    def ask(self, call: Callable[[float], T]) -> T:
        """Return the result of a call, tried in slices until the time is over."""
        began = time.monotonic()
        while True:
            try:
                return call(SLICE_S)
            except self.kafka.KafkaException as error:
                self._admin.poll(0)  # calls `_note`
                late = time.monotonic() - began > waits.capped(self.patience, self._owner)
                if late or self._denied or not _is_late(error):
                    raise self.explained(error) from error

    def topics(self) -> Mapping[str, Any]:
        """Return the topics by their names."""
        found: Mapping[str, Any] = self.ask(lambda s: self._admin.list_topics(timeout=s)).topics
        return found

    # -- errors ------------------------------------------------------------------------------------------------------
    def _note(self, error: KafkaError) -> None:
        kinds, code, said = self.kafka.KafkaError, error.code(), error.str()
        if code != kinds._ALL_BROKERS_DOWN or not self._said:  # it follows each reason
            self._said = said
        self._denied = self._denied or code == kinds._AUTHENTICATION or (code == kinds._SSL and "certificate" in said)

    @property
    def last_error(self) -> str:
        """The last error of a connection, in brackets; or nothing."""
        return f" ({self._said})" if self._said else ""

    def timed_out(self) -> KafkaException:
        """Return the error of a call that must be tried again."""
        return self.kafka.KafkaException(self.kafka.KafkaError(self.kafka.KafkaError._TIMED_OUT))

    def is_fenced(self, error: KafkaException) -> bool:
        """Return True if a later writer has fenced this one."""
        kinds = self.kafka.KafkaError
        return error.args[0].code() in (kinds._FENCED, kinds.INVALID_PRODUCER_EPOCH, kinds.PRODUCER_FENCED)

    def explained(self, error: KafkaException, stream: str = "") -> DeliveryError:
        """Return the error of the brokers as one of the sink."""
        code, said = error.args[0].code(), error.args[0].str()
        what, kinds = f"sink {self.sink}: {said}", self.kafka.KafkaError
        if self.is_fenced(error):
            what = f"sink {self.sink}: another writer of the stream has taken over ({said})"
            return Fenced(what, remedy="let only one copy of the project poll", stream=stream)
        if self._denied:
            what, self._denied = f"sink {self.sink}: no login at the brokers{self.last_error}", False
            return DeliveryError(what, remedy="correct `properties` of the sink", stream=stream)
        if _is_late(error) or code in (kinds._TRANSPORT, kinds._ALL_BROKERS_DOWN, kinds._TIMED_OUT):
            remedy = "start the brokers, or correct `servers` and `security.protocol`; the batch stays pending"
            return SinkSilent(f"{what}{self.last_error}", remedy=remedy, stream=stream)
        return DeliveryError(what, remedy="the batch stays pending", stream=stream)


def _is_late(error: KafkaException) -> bool:
    """Return True if the same call can succeed later."""
    known = error.args[0]
    return bool(known.retriable() or known.name() in ("_TIMED_OUT", "_TRANSPORT", "_ALL_BROKERS_DOWN", "_WAIT_COORD"))
