"""Kafka Connect with Debezium's JDBC sink, in a process of its own, from jars of Maven."""

from __future__ import annotations

import json
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from tests.support import free_port
from tests.support.kafka_broker import Broker, fetched

VERSION = "3.3.1.Final"
_PACKAGES = (
    f"io.debezium:debezium-connector-jdbc:{VERSION}",
    "org.apache.kafka:connect-runtime:4.1.1",
    "org.apache.kafka:connect-json:4.1.1",
    "org.postgresql:postgresql:42.7.8",
)
_WORKER = """bootstrap.servers={servers}
key.converter=org.apache.kafka.connect.json.JsonConverter
value.converter=org.apache.kafka.connect.json.JsonConverter
key.converter.schemas.enable=true
value.converter.schemas.enable=true
offset.storage.file.filename={folder}/offsets
offset.flush.interval.ms=1000
listeners=http://127.0.0.1:{port}
consumer.isolation.level=read_committed
consumer.auto.offset.reset=earliest
plugin.discovery=hybrid_warn
"""


class JdbcSink:
    """Debezium's sink from a topic into a table of PostgreSQL, which it creates."""

    def __init__(self, process: subprocess.Popen[bytes], port: int, topic: str) -> None:
        self._process, self._status = process, f"http://127.0.0.1:{port}/connectors/{topic}/status"

    def refuse_failed(self) -> None:
        """Raise the error of a task that failed."""
        assert self._process.poll() is None, "Kafka Connect has ended"
        try:
            with urllib.request.urlopen(self._status, timeout=5) as answer:
                tasks = json.load(answer)["tasks"]
        except OSError:  # not started yet
            return
        assert not [one["trace"] for one in tasks if one["state"] == "FAILED"]


@contextmanager
def jdbc_sink(broker: Broker, topic: str, url: str) -> Iterator[JdbcSink]:
    """A running sink into a database within the block."""
    jars, place, port = fetched(f"debezium-jdbc-{VERSION}", *_PACKAGES), urlsplit(url), free_port()
    with tempfile.TemporaryDirectory(prefix="qbcd-connect-", ignore_cleanup_errors=True) as folder:
        worker, connector, out = (Path(folder) / name for name in ("worker.properties", "sink.json", "out"))
        worker.write_text(_WORKER.format(servers=broker.servers, folder=folder, port=port), encoding="utf-8")
        options: dict[str, Any] = {
            "connector.class": "io.debezium.connector.jdbc.JdbcSinkConnector",
            "tasks.max": "1",
            "topics": topic,
            "connection.url": f"jdbc:postgresql://{place.hostname}:{place.port}{place.path}",
            "connection.username": unquote(place.username or ""),
            "connection.password": unquote(place.password or ""),
            "insert.mode": "upsert",
            "delete.enabled": "true",
            "primary.key.mode": "record_key",
            "schema.evolution": "basic",
            "collection.name.format": topic,
            "quote.identifiers": "true",
        }
        connector.write_text(json.dumps({"name": topic, "config": options}), encoding="utf-8")
        command = ["java", "-Xmx300m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", jars]
        command += ["org.apache.kafka.connect.cli.ConnectStandalone", str(worker), str(connector)]
        with out.open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            yield JdbcSink(process, port, topic)
        finally:
            process.kill()
            process.wait()
