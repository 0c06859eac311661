"""The sink `kafka` against a real broker: exactly once, whoever dies or writes late."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.common import hooks
from qbcd.errors import DeliveryError, SinkConflict, SinkSilent, Undeliverable
from qbcd.sinks.kafka import KafkaSink
from tests.support import wait_until
from tests.support.file_batches import FileBatch, batches
from tests.support.kafka_broker import PASSWORD, Broker, kafka_broker
from tests.support.kafka_connect import jdbc_sink
from tests.support.killing import DyingProcesses, dying_at
from tests.support.places import Place
from tests.support.project import config, opened, poll

pytestmark = pytest.mark.campaign
COUNT = 60  # batches of killed processes


@pytest.fixture(scope="module")
def running() -> Iterator[Broker]:
    with kafka_broker() as made:
        yield made


@pytest.fixture
def broker(running: Broker, request: pytest.FixtureRequest) -> Iterator[Broker]:
    yield running
    for point in hooks.POINTS:
        hooks.register(point, None)


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """Name of the test's topic, and of its project."""
    return f"t{abs(hash(request.node.name)) % 10**9}"


def sink_to(broker: Broker, name: str, **more: Any) -> KafkaSink:
    more.setdefault("transaction_timeout", timedelta(seconds=20))
    sink = KafkaSink("bus", broker.servers, topic=name, **more)
    sink.project_id = name
    return sink


def lines_of(made: list[FileBatch]) -> list[str]:
    return [line for batch in made for piece in batch.json_lines() for line in piece]


def by_key(messages: list[Any]) -> dict[Any, list[str]]:
    """Return the values of messages by their keys, in order."""
    found: dict[Any, list[str]] = {}
    for one in messages:
        found.setdefault(one.key(), []).append(one.value().decode())
    return found


def key_of(line: str) -> bytes:
    return json.dumps(json.loads(line)["key"], ensure_ascii=False, separators=(",", ":")).encode()


def expected(made: list[FileBatch]) -> dict[Any, list[str]]:
    found: dict[Any, list[str]] = {}
    for line in lines_of(made):
        found.setdefault(key_of(line), []).append(line)
    return found


def stop_at(point: str, number: int = 1) -> None:
    left = [number]

    def stop() -> None:
        left[0] -= 1
        if not left[0]:
            hooks.register(point, None)
            raise KeyboardInterrupt

    hooks.register(point, stop)


def murmur2(data: bytes) -> int:
    """Return Kafka's hash of a key (`org.apache.kafka.common.utils.Utils.murmur2`), as an unsigned number."""
    m, whole = 0x5BD1E995, 0xFFFFFFFF
    h = (0x9747B28C ^ len(data)) & whole
    for i in range(0, len(data) // 4 * 4, 4):
        k = int.from_bytes(data[i : i + 4], "little") * m & whole
        k = (k ^ k >> 24) * m & whole
        h = (h * m & whole) ^ k
    rest = data[len(data) // 4 * 4 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * m & whole
    h = (h ^ h >> 13) * m & whole
    return h ^ h >> 15


def test_events_arrive_in_order_in_the_partitions_of_java(broker: Broker, name: str) -> None:
    made = batches(200)
    sink = sink_to(broker, name, partitions=5)
    for batch in made:
        sink.write(batch)
    messages = broker.read(name)
    assert by_key(messages) == expected(made)
    assert all(one.partition() == (murmur2(one.key()) & 0x7FFFFFFF) % 5 for one in messages)
    assert len({one.partition() for one in messages}) > 1
    for one in messages:
        event, headers = json.loads(one.value()), dict(one.headers())
        assert headers["qbcd-event-id"].decode() == event["event_id"]
        assert headers["qbcd-batch"].decode() == "{epoch}/{batch_seq}".format(**event["source"])


def test_a_batch_that_comes_again_is_recognized(broker: Broker, name: str) -> None:
    made = batches(3)
    first, second = sink_to(broker, name), sink_to(broker, name)
    for batch in made:
        first.write(batch)
        first.write(batch)
        second.write(batch)  # fences the first, and writes nothing
    assert by_key(broker.read(name)) == expected(made)
    with pytest.raises(SinkConflict, match="later than"):
        sink_to(broker, name).write(made[0])
    with pytest.raises(DeliveryError, match="is not the next one"):
        sink_to(broker, name).write(batches(5)[4])
    other = FileBatch(batches(3, fingerprint="another")[2].header, made[2].made)
    with pytest.raises(SinkConflict, match="another batch"):
        sink_to(broker, name).write(other)


@pytest.mark.parametrize("number", [1, 2, 3])
@pytest.mark.parametrize("point", ["mid_publish", "before_commit"])
def test_a_batch_in_several_transactions_goes_on_where_it_stopped(
    point: str, number: int, broker: Broker, name: str
) -> None:
    made = batches(3)
    assert made[0].header.size == 4
    sink = sink_to(broker, name, max_events=1)
    stop_at(point, number)
    with pytest.raises(KeyboardInterrupt):
        sink.write(made[0])
    committed = broker.read(name)
    assert len(committed) == (number if point == "mid_publish" else number - 1)
    again = sink_to(broker, name, max_events=3)
    for batch in made:
        again.write(batch)
    assert by_key(broker.read(name)) == expected(made)


def test_a_stale_writer_commits_nothing(broker: Broker, name: str) -> None:
    """It stops before its commit; another process writes this batch and the next; then it goes on."""
    made = batches(2)
    stale, other = sink_to(broker, name), sink_to(broker, name)

    def overtaken() -> None:
        hooks.register("before_commit", None)
        for batch in made:
            other.write(batch)

    hooks.register("before_commit", overtaken)
    with pytest.raises(SinkConflict, match="another writer of the stream has taken over"):
        stale.write(made[0])
    assert by_key(broker.read(name)) == expected(made)
    assert len(broker.read(name, isolation="read_uncommitted")) > len(lines_of(made))
    other.write(batches(3)[2])  # still the writer
    with pytest.raises(SinkConflict, match="later than"):
        stale.write(made[0])


def test_two_writers_at_once(broker: Broker, name: str) -> None:
    made = batches(6)
    errors: list[BaseException] = []

    def write_all() -> None:
        sink, left = sink_to(broker, name), list(made)
        while left:
            try:
                sink.write(left[0])
            except (SinkConflict, SinkSilent) as error:
                errors.append(error)
                if "later than" in str(error):
                    left.pop(0)
                continue
            left.pop(0)

    threads = [threading.Thread(target=write_all) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(200)
        assert not one.is_alive()
    assert by_key(broker.read(name)) == expected(made)


def test_another_number_of_partitions_is_refused(broker: Broker, name: str) -> None:
    made = batches(3)
    sink_to(broker, name).write(made[0])
    broker.topic(name, 6)
    with pytest.raises(Undeliverable, match="has 6 partitions, and had 3") as raised:
        sink_to(broker, name).write(made[1])
    assert "`partitions: 6`" in str(raised.value)
    accepting = sink_to(broker, name, partitions=6)
    accepting.write(made[1])
    sink_to(broker, name).write(made[2])
    assert len(broker.read(name)) == len(lines_of(made))


def test_a_row_that_is_too_long_is_named(broker: Broker, name: str) -> None:
    made = batches(2)
    broker.topic(name, 2, max_message_bytes="5000")
    made[1].made[-1]["long"] = "x" * 5000
    sink = sink_to(broker, name)
    sink.write(made[0])
    with pytest.raises(Undeliverable, match="longer than topic") as raised:
        sink.write(made[1])
    assert key_of(lines_of(made)[-1]).decode() in str(raised.value)
    assert "xxx" not in str(raised.value)
    assert len(broker.read(name)) == made[0].header.size
    del made[1].made[-1]["long"]
    sink.write(made[1])
    assert by_key(broker.read(name)) == expected(made)


def test_records_in_a_topic_that_is_not_compacted_are_refused(broker: Broker, name: str) -> None:
    broker.topic(f"{name}_acks", 1, cleanup_policy="delete")
    sink = sink_to(broker, name, acks_topic=f"{name}_acks")
    for step in (sink.check, lambda: sink.write(batches(1)[0])):
        with pytest.raises(DeliveryError, match="is not compacted"):
            step()


def test_debezium_with_schemas_and_tombstones(broker: Broker, name: str) -> None:
    """The last message of each key is the row, or no value for a deleted one."""
    made = batches(200)
    sink = sink_to(broker, name, envelope="debezium", schemas=True, tombstones=True)
    for batch in made:
        sink.write(batch)
    last: dict[bytes, Any] = {}
    for one in broker.read(name):
        last[one.key()] = one.value()
    rows: dict[str, Any] = {}
    for line in lines_of(made):
        event = json.loads(line)
        rows[json.dumps(event["key"])] = event["after"]
    found = {json.dumps(json.loads(k)["payload"]): v and json.loads(v)["payload"]["after"] for k, v in last.items()}
    assert found.keys() == rows.keys()
    assert None in found.values()
    for key, row in rows.items():
        assert (found[key] is None) == (row is None)
        assert row is None or {n: row[n] for n in ("id", "part", "u", "flag")} == {
            n: found[key][n] for n in ("id", "part", "u", "flag")
        }


def write_and_die(servers: str, first: int, done: Path, point: str, number: int) -> None:
    """Write batches from number `first` on, and note each; die when a point is reached for the `number`th time.

    Args:
        point: `written` is after a batch, before it is noted; an empty one is none.
    """
    reached = dying_at(number)
    if point and point != "written":
        hooks.register(point, reached)
    sink = KafkaSink("bus", servers, topic="orders", max_events=2)
    for batch in batches(COUNT)[first:]:
        sink.write(batch)
        if point == "written":
            reached()
        done.write_text(str(batch.header.seq))


@pytest.mark.parametrize("kills", [50])
def test_killed_processes_write_each_event_once(kills: int, broker: Broker, tmp_path: Path) -> None:
    """Kills at drawn points; each new process begins with the last batch that the one before acknowledged."""
    broker.topic("orders", 3)
    drawn, done = random.Random(7), tmp_path / "done"
    done.write_text("0")
    writers = DyingProcesses("qbcd.sinks.kafka", "confluent_kafka.admin", "tests.support.file_batches")
    while (first := int(done.read_text())) < COUNT:
        point = drawn.choice(["mid_publish", "before_commit", "written"]) if writers.kills < kills else ""
        writers.run(write_and_die, broker.servers, first, done, point, drawn.randint(1, 2))
    assert writers.kills == kills
    assert by_key(broker.read("orders")) == expected(batches(COUNT))


def test_a_killed_broker(tmp_path: Path) -> None:
    """It dies within transactions, five times; each batch comes once."""
    made = batches(6)
    with kafka_broker() as broker:
        sink = sink_to(broker, "orders", max_events=2, transaction_timeout=timedelta(seconds=4))
        sink.write(made[0])
        for batch in made[1:]:
            hooks.register("before_commit", broker.kill)
            with pytest.raises(SinkSilent, match="sink bus: "):
                sink.write(batch)
            hooks.register("before_commit", None)
            broker.start()
            for _ in range(10):
                try:
                    sink.write(batch)
                    break
                except SinkSilent:
                    continue
        assert by_key(broker.read("orders")) == expected(made)


def test_a_stream_reaches_the_topic(place: Place, workspace: Path, broker: Broker) -> None:
    """From a real table, with a resend."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(20))")
    place.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    sinks = {"bus": {"type": "kafka", "servers": broker.servers, "topic": "{stream}-e2e"}}
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds"}, sinks=sinks)
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'deux' WHERE id = 2")
        place.sql("DELETE FROM t WHERE id = 1")
        poll(project)
        place.sql("UPDATE t SET v = 'trois' WHERE id = 3")
        poll(project)
        found = [json.loads(one.value()) for one in broker.read("s-e2e")]
        assert sorted((one["op"], one["key"]["id"]) for one in found) == [("d", 1), ("u", 2), ("u", 3)]
        project.stream("s").resend("bus")
        place.sql("DELETE FROM t WHERE id = 3")
        poll(project)
    found = [json.loads(one.value()) for one in broker.read("s-e2e")]
    rows = {one["key"]["id"]: one["after"]["v"] for one in found if one["op"] == "r"}
    assert rows == {2: "deux", 3: "trois"}
    assert len(found) == 6


def test_debeziums_sink_makes_the_same_table(place: Place, workspace: Path, broker: Broker) -> None:
    """Debezium's JDBC sink, in Kafka Connect, creates it from the schemas of the messages, and upserts and deletes."""
    types = {"id": "int", "part": "text", "amount": "numeric(12,2)", "ratio": "double precision", "flag": "boolean"}
    types |= {"day": "date", "at": "timestamp", "instant": "timestamptz", "raw": "bytea", "note": "varchar(20)"}
    place.sql(f"CREATE TABLE t ({', '.join(map(' '.join, types.items()))}, PRIMARY KEY (id, part))")
    place.sql(
        "INSERT INTO t SELECT i, 'p' || i % 3, i / 7.0, i / 3.0, i % 2 = 0, '2026-01-01'::date + i, "
        "'2026-01-01'::timestamp + i * interval '1.000001 h', now(), decode(md5(i::text), 'hex'), 'ä ' || i "
        "FROM generate_series(1, 200) i"
    )
    bus = {"type": "kafka", "servers": broker.servers, "topic": "shop_t", "envelope": "debezium"}
    sinks = {"bus": {**bus, "schemas": True, "tombstones": True}}
    stream = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events"}

    def rows(table: str) -> list[Any]:
        named = ", ".join(f'"{name}"::{kind}' for name, kind in types.items())
        return place.sql(f"SELECT {named} FROM {table} ORDER BY 1, 2")

    with opened(config(place.url, stream, sinks=sinks), workspace) as project:
        project.stream("s").prepare()
        poll(project)
        place.sql("UPDATE t SET amount = NULL, note = 'changed', at = '2026-05-05 01:02:03.456789' WHERE id % 5 = 0")
        place.sql("DELETE FROM t WHERE id % 7 = 0; INSERT INTO t (id, part) VALUES (901, 'new'), (902, '')")
        poll(project)
        place.sql("UPDATE t SET id = id + 1000 WHERE id % 11 = 0; UPDATE t SET flag = NULL WHERE id % 3 = 0")
        poll(project)

    with jdbc_sink(broker, "shop_t", place.url) as sink:

        def agrees() -> bool:
            sink.refuse_failed()
            there = place.sql("SELECT to_regclass('shop_t')") != [(None,)]
            return there and rows("shop_t") == rows("t")

        wait_until(agrees, timeout=180, what="the last change")


# -- logins and TLS ----------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def secured() -> Iterator[Broker]:
    with kafka_broker(secured=True) as made:
        yield made


def secured_sink(broker: Broker, name: str, protocol: str, **properties: str) -> KafkaSink:
    given = {"security.protocol": protocol, "sasl.username": "qbcd", "sasl.password": PASSWORD}
    servers = f"localhost:{broker.ssl_port}" if protocol == "SASL_SSL" else f"127.0.0.1:{broker.sasl_port}"
    more = {one.replace("_", "."): value for one, value in properties.items()}
    sink = KafkaSink("bus", servers, {**given, **more}, topic=name, transaction_timeout=timedelta(seconds=20))
    sink.project_id = name
    return sink


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL"])
def test_logins_and_tls(protocol: str, mechanism: str, secured: Broker, name: str) -> None:
    made = batches(3)
    tls = {"ssl_ca_location": secured.certificate} if protocol == "SASL_SSL" else {}
    sink = secured_sink(secured, name, protocol, sasl_mechanism=mechanism, **tls)
    sink.check()
    for batch in made:
        sink.write(batch)
    assert by_key(secured.read(name)) == expected(made)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_refused_at_once(mechanism: str, secured: Broker, name: str) -> None:
    sink = secured_sink(secured, name, "SASL_PLAINTEXT", sasl_mechanism=mechanism, sasl_password="canary-4712")
    for step in (sink.check, lambda: sink.write(batches(1)[0])):
        began = time.monotonic()
        with pytest.raises(DeliveryError, match="no login at the brokers") as raised:
            step()
        assert time.monotonic() - began < 15
        assert "correct `properties`" in str(raised.value)
        assert "canary" not in str(raised.value)


@pytest.mark.parametrize(
    ("protocol", "error", "said"),
    [("SASL_SSL", DeliveryError, "ssl.ca.location"), ("PLAINTEXT", SinkSilent, "security.protocol")],
)
def test_an_unknown_certificate_and_a_listener_with_logins(
    protocol: str, error: Any, said: str, secured: Broker, name: str
) -> None:
    sink = secured_sink(secured, name, protocol, sasl_mechanism="PLAIN")
    with pytest.raises(error, match="sink bus: ") as raised:
        sink.check()
    assert said in str(raised.value)
    assert "canary" not in str(raised.value)
