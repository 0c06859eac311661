"""Sink `kafka`: one transaction of a topic for a batch, or several for a large one.

The last message of each transaction is the sink's record in a compacted topic: batch, fingerprint, and how many of its
events are committed. A writer first fences all earlier ones of its stream, and then reads the record. So no event is
written twice, and a stale writer commits nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from qbcd.common import waits
from qbcd.errors import DeliveryError
from qbcd.model import PlannedBatch
from qbcd.model.value_limits import ValueLimits
from qbcd.sinks.base import Sink, SinkBatch, SinkPlace
from qbcd.sinks.topics.brokers import Brokers, Fenced
from qbcd.sinks.topics.topic_options import TOPIC, KafkaOptions
from qbcd.sinks.topics.transactions import TopicWriter

CHECK_S = 10.0  # longest wait of a check for the brokers
_MOST_WRITERS = 16  # producers that are kept; each has threads


class KafkaSink(Sink):
    """Writes batches to topics.

    Args:
        options: The other options of :class:`KafkaOptions`.
    """

    options_class = KafkaOptions
    concurrent = takes_resends = True

    def __init__(self, name: str, servers: str, properties: Mapping[str, str] | None = None, **options: Any) -> None:
        super().__init__(name)
        self.options = KafkaOptions.model_validate({"type": "kafka", "servers": servers, **options})
        self.brokers = Brokers(name, self.options, properties or {}, self)
        self._writers: dict[str, TopicWriter] = {}
        if self.options.schemas:
            self.limits = ValueLimits(frozenset({"nan", "infinity"}))  # no JSON numbers

    @override
    def check(self) -> None:
        with waits.at_most(CHECK_S):
            topics = self.brokers.topics()
            if self.options.acks_topic in topics:
                self.brokers.refuse_lossy(self.options.acks_topic)

    @override
    def problems(self, planned: PlannedBatch) -> list[DeliveryError]:
        topic = self.options.topic_of(planned)
        if not TOPIC.fullmatch(topic):
            what = f"sink {self.name}: {topic!r} cannot be the name of a topic"
            return [DeliveryError(what, remedy="write another `topic`, of A-Z a-z 0-9 . _ -")]
        with waits.at_most(CHECK_S):
            found = self.brokers.topics().get(topic)
        wanted = self.options.partitions
        if found is None or wanted is None or len(found.partitions) == wanted:
            return []
        what = f"sink {self.name}: topic {topic} has {len(found.partitions)} partitions, not {wanted}"
        return [DeliveryError(what, remedy="correct `partitions`, or the topic")]

    @override
    def place(self, planned: PlannedBatch) -> SinkPlace:
        topic = self.options.topic_of(planned)
        servers = ",".join(sorted(self.options.servers.replace(" ", "").lower().split(",")))
        return SinkPlace(f"kafka:{servers}/{topic}", f"topic {topic}", "write another `topic`, such as '{stream}'")

    @override
    def write(self, batch: SinkBatch) -> None:
        stream, kept = batch.header.stream, self._writers.pop(batch.header.stream, None)
        try:
            if kept is not None:
                self._apply(kept, batch)
                return
        except self.brokers.kafka.KafkaException as error:
            if not self.brokers.is_fenced(error):
                raise self.brokers.explained(error, stream) from error
        except Fenced:  # another process wrote meanwhile; what it wrote is in the record
            pass
        try:
            self._apply(TopicWriter(self.brokers, self._identity(stream), batch.header), batch)
        except self.brokers.kafka.KafkaException as error:
            raise self.brokers.explained(error, stream) from error

    def _apply(self, writer: TopicWriter, batch: SinkBatch) -> None:
        """Write what a batch lacks, and keep the writer."""
        header, size, done = batch.header, 0, writer.begin(batch.header)
        if done is not None:
            for line in (line for piece in batch.json_lines() for line in piece):
                size += 1
                if size > done:
                    writer.add(line)
            if size != header.size:
                raise self.incomplete(header, "the stage", size)
            writer.commit(header)
        if len(self._writers) < _MOST_WRITERS:
            self._writers[header.stream] = writer

    def _identity(self, stream: str) -> str:
        return f"qbcd:{self.project_id}:{stream}:{self.name}"
