"""The producer of one stream: its transactions, each with the sink's record."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from qbcd.common import hooks
from qbcd.errors import DeliveryError, SinkSilent, Undeliverable
from qbcd.model import BatchHeader
from qbcd.sinks.table.record import TableRecord, verdict
from qbcd.sinks.topics.brokers import Brokers
from qbcd.sinks.topics.debezium import DebeziumEnvelope

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, Message

Fields = list[tuple[str, bytes]]


class TopicWriter:
    """The producer of one stream, and what it committed last.

    It is kept between batches: nobody else can have written without fencing it.

    Args:
        identity: The transactional id of the stream, which is the key of its record too.
    """

    def __init__(self, brokers: Brokers, identity: str, header: BatchHeader) -> None:
        self.brokers, self.options, self.identity = brokers, brokers.options, identity
        self.topic = self.options.topic_of(header)
        self.partitions, longest = brokers.ensured(self.topic, self.options.partitions, {})
        self.producer = brokers.producer(identity, longest)
        self.record = brokers.record(identity)
        self.failed: tuple[str, bytes | None] | None = None

    def begin(self, header: BatchHeader) -> int | None:
        """Return how many events of a batch are committed already; None if all are.

        Raises:
            DeliveryError: The topic has another batch with this number or a later one, or other partitions.
        """
        self.header, self.events = header, 0
        self.envelope = DebeziumEnvelope(header, schemas=self.options.schemas)
        self.fields: Fields = [("qbcd-batch", header.number.encode())]
        found = self.record
        if found is None:
            self._open(0)
            return 0
        last = TableRecord(found["epoch"], found["seq"], found["fingerprint"])
        try:
            judged = verdict(last, header, self.brokers.sink)
        except DeliveryError as error:
            error.what = f"sink {self.brokers.sink}: {error.what.replace('the table', f'topic {self.topic}')}"
            error.remedy = error.remedy.replace("replaces the table's rows", "begins a new epoch")
            raise
        if judged == "done" and found["events"] == found["size"]:
            return None
        if self.partitions not in (found["partitions"], self.options.partitions):
            what = f"sink {self.brokers.sink}: topic {self.topic} has {self.partitions} partitions, and had "
            raise Undeliverable(
                f"{what}{found['partitions']}: later events of a row would be in another partition than earlier ones",
                remedy=f"when consumers have read all, write `partitions: {self.partitions}` in the sink",
                stream=header.stream,
            )
        done = found["events"] if judged == "done" else 0
        self._open(done)
        return int(done)

    def _open(self, done: int) -> None:
        self.events, self.opened_at = done, done
        self.producer.begin_transaction()
        self.until = time.monotonic() + self.brokers.patience / 2

    def add(self, line: str) -> None:
        """Add an event; commit before it if the transaction is full or old."""
        full = self.events - self.opened_at >= self.options.max_events
        if full or time.monotonic() > self.until:
            self.commit(self.header)
            hooks.reach("mid_publish")
            self._open(self.events)
        event = json.loads(line)
        key = None if event["key"] is None else self._bytes_of_key(event["key"])
        fields = [*self.fields, ("qbcd-event-id", event["event_id"].encode())]
        own = self.options.envelope == "qbcd"
        self._produce(key, line.encode() if own else _bytes(self.envelope.value(event)), fields)
        if self.options.tombstones and key is not None:
            old = key if event["op"] == "d" else self._old_key(event)
            if event["op"] == "d" or old != key:  # the same key in another spelling
                self._produce(old, None, fields)
        self.events += 1

    def _old_key(self, event: dict[str, Any]) -> bytes:
        image = event["before"] or event["key"]
        return self._bytes_of_key({name: image[name] for name in self.header.key})

    def _bytes_of_key(self, key: dict[str, Any]) -> bytes:
        return _bytes(key if self.options.envelope == "qbcd" else self.envelope.key(key))

    def _produce(self, key: bytes | None, value: bytes | None, fields: Fields, topic: str = "") -> None:
        """Add a message, of events or with the record; the topic of records has one partition."""
        place = {"topic": topic, "partition": 0} if topic else {"topic": self.topic}
        until = time.monotonic() + self.brokers.patience
        while True:
            try:
                self.producer.produce(value=value, key=key, headers=fields, on_delivery=self._delivered, **place)
                self._served(lambda: self.producer.poll(0))
                break
            except BufferError:
                self._served(lambda: self.producer.poll(0.1))
                if time.monotonic() > until:
                    raise SinkSilent(
                        f"sink {self.brokers.sink}: the brokers take no messages{self.brokers.last_error}",
                        remedy="the batch stays pending",
                    ) from None
            except self.brokers.kafka.KafkaException as error:
                if error.args[0].code() != self.brokers.kafka.KafkaError.MSG_SIZE_TOO_LARGE:
                    raise
                self.failed = ("too long", key)
                break
        self._refuse_failed()

    def _delivered(self, error: KafkaError | None, message: Message) -> None:
        if error is not None and self.failed is None:
            long = error.code() == self.brokers.kafka.KafkaError.MSG_SIZE_TOO_LARGE
            self.failed = ("too long" if long else error.str(), message.key())

    def _refuse_failed(self) -> None:
        """Abort the transaction if a message failed."""
        if self.failed is None:
            return
        why, key = self.failed
        self.brokers.ask(self.producer.abort_transaction)
        where = f"the row with key {(key or b'none').decode()}"
        if why == "too long":
            raise Undeliverable(
                f"sink {self.brokers.sink}: the event of {where} is longer than topic {self.topic} takes",
                remedy="raise max.message.bytes of the topic, or exclude the long column",
                stream=self.header.stream,
            )
        raise SinkSilent(f"sink {self.brokers.sink}: {why} at {where}", remedy="the batch stays pending")

    def commit(self, header: BatchHeader) -> None:
        """Commit the events of the transaction with the sink's record."""
        facts = {"epoch": header.epoch, "seq": header.seq, "fingerprint": header.fingerprint}
        record = {**facts, "events": self.events, "size": header.size, "partitions": self.partitions}
        self._produce(self.identity.encode(), _bytes(record), [], self.options.acks_topic)
        self.brokers.ask(self._flushed)
        hooks.reach("before_commit")
        self.brokers.ask(self.producer.commit_transaction)
        self.record = record

    def _served(self, call: Callable[[], int]) -> int:
        """Return the result of a call that runs callbacks.

        After a fatal error, which callbacks get too, the client fails in words of C; the next step names the error.
        """
        try:
            return call()
        except SystemError:
            return 0

    def _flushed(self, seconds: float) -> None:
        waiting = self._served(lambda: self.producer.flush(seconds))
        self._refuse_failed()
        if waiting:
            raise self.brokers.timed_out()


def _bytes(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
