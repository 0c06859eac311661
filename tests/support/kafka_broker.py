"""A real Kafka broker in a process of its own, from jars of Maven that are fetched once into the user's cache."""

from __future__ import annotations

import signal
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import EnvironmentMissing
from qbcd.spark.drivers import user_cache
from qbcd.spark.java import resolve_packages
from tests.support import free_port, wait_until
from tests.support.receiver import self_signed

VERSION = "4.3.1"
_SETTINGS = """process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={folder}/logs
num.partitions=3
default.replication.factor=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
log.cleaner.backoff.ms=100
auto.create.topics.enable=false
"""


PASSWORD = "canary-4711-password"
_SECURED = """listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl},SASL_SSL://127.0.0.1:{ssl},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port},SASL_PLAINTEXT://127.0.0.1:{sasl},SASL_SSL://localhost:{ssl}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-512
"""
_LOGINS = """listener.name.{listener}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule \
 required user_qbcd="{password}";
listener.name.{listener}.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule \
 required;
"""


def fetched(name: str, *packages: str) -> str:
    """Return the class path of packages of Maven, which are fetched once.

    Without Java, or if nothing can be fetched, the test is skipped.
    """
    folder = user_cache() / "servers" / name
    if not (folder / "done").exists():
        try:
            resolve_packages(packages, folder)
        except (EnvironmentMissing, OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"the jars of {name} cannot be fetched: {error}")
        (folder / "done").touch()
    return f"{folder}/jars/*"


def class_path() -> str:
    """Return the class path of the broker."""
    from pyspark.find_spark_home import _find_spark_home

    jars = fetched(f"kafka-{VERSION}", f"org.apache.kafka:kafka_2.13:{VERSION}")
    scala = next(Path(_find_spark_home()).glob("jars/scala-library-2.13*.jar"))  # which the resolver leaves out
    return f"{jars}:{scala}"


class Broker:
    """A broker with one node, in KRaft mode.

    Attributes:
        port: Of its listener; it stays the same when it is started again.
    """

    def __init__(self, folder: Path, *, secured: bool = False) -> None:
        self._folder, self._process = folder, None
        self.port, controller, self.sasl_port, self.ssl_port = (free_port() for _ in range(4))
        text, self.certificate = _SETTINGS.format(port=self.port, controller=controller, folder=folder), ""
        command = ["format", "-t", str(uuid.uuid4()), "-c", str(folder / "server.properties")]
        if secured:
            self.certificate = str(self_signed(folder))
            text += _SECURED.format(port=self.port, sasl=self.sasl_port, ssl=self.ssl_port, controller=controller)
            text += "".join(_LOGINS.format(listener=one, password=PASSWORD) for one in ("sasl_plaintext", "sasl_ssl"))
            text += f"ssl.keystore.type=PEM\nssl.keystore.location={self.certificate}\n"
            command += ["--add-scram", f"SCRAM-SHA-512=[name=qbcd,password={PASSWORD}]"]
        self._settings = folder / "server.properties"
        self._settings.write_text(text, encoding="utf-8")
        self._java("kafka.tools.StorageTool", *command).wait(60)

    _process: subprocess.Popen[bytes] | None

    @property
    def servers(self) -> str:
        """Its address, as in the option of a sink."""
        return f"127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        from confluent_kafka import KafkaException
        from confluent_kafka.admin import AdminClient

        self._process = self._java("kafka.Kafka", str(self._settings))

        def answers() -> bool:
            assert self._process is not None
            assert self._process.poll() is None, (self._folder / "out").read_text()[-2000:]
            try:
                return bool(AdminClient(self.client).list_topics(timeout=1).brokers)
            except KafkaException:
                return False

        wait_until(answers, timeout=90, what="Kafka broker")

    def kill(self) -> None:
        """End it without warning."""
        if self._process is not None:
            self._process.send_signal(signal.SIGKILL)
            self._process.wait()
            self._process = None

    @property
    def client(self) -> dict[str, Any]:
        """Settings of a client."""
        return {"bootstrap.servers": self.servers, "log_level": 0}

    def read(self, topic: str, *, isolation: str = "read_committed") -> list[Any]:
        """Return all messages of a topic, partition by partition."""
        from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, TopicPartition

        own = {"group.id": "test", "isolation.level": isolation, "enable.auto.commit": False}
        reader = Consumer({**self.client, **own, "enable.partition.eof": True})
        try:
            there = reader.list_topics(topic, timeout=10).topics[topic].partitions
            found: list[Any] = []
            for number in there:
                reader.assign([TopicPartition(topic, number, OFFSET_BEGINNING)])
                while True:
                    message = reader.poll(10)
                    assert message is not None, "no end of the partition"
                    if message.error() is not None:
                        assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
                        break
                    found.append(message)
            return found
        finally:
            reader.close()

    def topic(self, name: str, partitions: int = 3, **config: str) -> None:
        """Create a topic, or add partitions to it."""
        from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic

        admin = AdminClient(self.client)
        settings = {key.replace("_", "."): value for key, value in config.items()}
        if name in admin.list_topics(timeout=10).topics:
            admin.create_partitions([NewPartitions(name, partitions)])[name].result(10)
        else:
            admin.create_topics([NewTopic(name, partitions, 1, config=settings)])[name].result(10)
        wait_until(lambda: len(admin.list_topics(timeout=5).topics[name].partitions) == partitions, timeout=10)

    def _java(self, *command: str) -> subprocess.Popen[bytes]:
        options = ["-Xmx384m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        with (self._folder / "out").open("ab") as out:
            return subprocess.Popen(["java", *options, "-cp", class_path(), *command], stdout=out, stderr=out)


@contextmanager
def kafka_broker(*, secured: bool = False) -> Iterator[Broker]:
    """A broker within the block; a `secured` one has listeners with logins and TLS too."""
    class_path()
    with tempfile.TemporaryDirectory(prefix="qbcd-kafka-", ignore_cleanup_errors=True) as folder:
        made = Broker(Path(folder), secured=secured)
        made.start()
        try:
            yield made
        finally:
            made.kill()
