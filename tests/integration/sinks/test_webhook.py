"""The sink `webhook` against a real HTTP server: order, keys, signatures, and a server that fails in every way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import ssl
import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.common import hooks
from qbcd.config import config_from_dict
from qbcd.config.masking import masking_of
from qbcd.errors import ConfigError, DeliveryError, SinkSilent, Undeliverable
from qbcd.sinks import webhook
from qbcd.sinks.webhook import WebhookSink
from tests.support.file_batches import FileBatch, batches
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.receiver import Receiver, receiver, self_signed
from tests.support.table_batches import EPOCH

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()


def campaign(*values: Any) -> list[Any]:
    """Return cases of the campaign."""
    cases = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*case, marks=pytest.mark.campaign) for case in cases]


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as running:
        yield running


def sink_to(hook: Receiver, **more: Any) -> WebhookSink:
    short = {"timeout": timedelta(seconds=0.5), "connect_timeout": timedelta(seconds=5)}
    return WebhookSink("hook", hook.url, more.pop("secret", None), more.pop("headers", None), **short | more)


def made_events(made: list[FileBatch]) -> list[Any]:
    return [json.loads(line) for batch in made for piece in batch.json_lines() for line in piece]


class Noted:
    """A progress in memory."""

    def __init__(self) -> None:
        self._last = ("", 0)

    def events(self, fingerprint: str) -> int:
        return self._last[1] if self._last[0] == fingerprint else 0

    def note(self, fingerprint: str, events: int) -> None:
        self._last = (fingerprint, events)


def stop_once(point: str) -> None:
    def stop() -> None:
        hooks.register(point, None)
        raise KeyboardInterrupt

    hooks.register(point, stop)


def test_requests_have_consecutive_events_in_order(hook: Receiver) -> None:
    made = batches(3)
    sink = sink_to(hook, max_events=3)
    for batch in made:
        sink.write(batch)
    assert hook.events() == made_events(made)
    sizes = [len(json.loads(one.body)) for one in hook.got]
    assert max(sizes) == 3
    assert [one.headers["qbcd-events"] for one in hook.got[:2]] == ["0-2/4", "3-3/4"]
    assert [one.key for one in hook.got[:2]] == [f"orders:{EPOCH}:1:0-2", f"orders:{EPOCH}:1:3-3"]
    first = hook.got[0]
    assert first.path == "/in?tenant=7"
    assert first.headers["content-type"] == "application/json"
    assert (first.headers["qbcd-stream"], first.headers["qbcd-batch"]) == ("orders", f"{EPOCH}/1")
    assert "webhook-signature" not in first.headers


@pytest.mark.campaign
@pytest.mark.parametrize("form", ["array", "lines", "cloudevents"])
def test_many_batches_arrive_in_order(form: str, hook: Receiver) -> None:
    made, found = batches(200), list[Any]()
    sink = sink_to(hook, max_events=3, format=form)
    for batch in made:
        sink.write(batch)
    for body in (one.body.decode() for one in hook.got):
        found += json.loads(body) if form != "lines" else [json.loads(line) for line in body.splitlines()]
    assert [one.get("data", one) for one in found] == made_events(made)


@pytest.mark.campaign
def test_bodies_stay_within_their_limit(hook: Receiver) -> None:
    made = batches(2)
    limit = max(len(json.dumps(event)) for event in made_events(made)) * 2
    sink_to(hook, max_bytes=limit).write(made[0])
    sink_to(hook, max_bytes=10).write(made[1])  # each event alone is larger
    assert hook.events() == made_events(made)
    assert all(len(one.body) <= limit for one in hook.got)
    assert len(hook.got) < made[0].header.size + made[1].header.size
    assert len(hook.got[-1].body) > 10


@pytest.mark.campaign
def test_lines_and_cloud_events(hook: Receiver) -> None:
    (batch,) = batches(1)
    sink_to(hook, format="lines").write(batch)
    sink_to(hook, format="cloudevents").write(batch)
    lines, cloud = hook.got
    assert lines.headers["content-type"] == "application/x-ndjson"
    events = made_events([batch])
    assert [json.loads(line) for line in lines.body.decode().splitlines()] == events
    assert cloud.headers["content-type"] == "application/cloudevents-batch+json"
    found = json.loads(cloud.body)
    assert [one.pop("data") for one in found] == events
    assert [one.pop("id") for one in found] == [event["event_id"] for event in events]
    times = [datetime.fromisoformat(one.pop("time")).timestamp() * 1000 for one in found]
    assert times == [batch.header.ts_ms] * len(events)
    same = {"specversion": "1.0", "source": "/qbcd/shop/public.orders", "datacontenttype": "application/json"}
    assert found == [{**same, "type": "qbcd.row"}] * len(events)


def test_the_signature_is_that_of_standard_webhooks(hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    sink_to(hook, secret=SECRET, headers={"Authorization": "Bearer x"}).write(batches(1)[0])
    (one,) = hook.got
    assert one.headers["authorization"] == "Bearer x"
    assert one.headers["webhook-id"] == one.key
    signed = b".".join((one.headers["webhook-id"].encode(), one.headers["webhook-timestamp"].encode(), one.body))
    expected = base64.b64encode(hmac.new(bytes(range(32)), signed, hashlib.sha256).digest()).decode()
    assert one.headers["webhook-signature"] == f"v1,{expected}"
    # The example of the implementations of Standard Webhooks.
    monkeypatch.setattr(time, "time", lambda: 1614265330.5)
    sink = sink_to(hook, secret="whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    request = webhook.Request("msg_p5jXN8AQM9LWM0D4loKWxJek", range(1), b'{"test": 2432232314}')
    fields = sink._fields(request, batches(1)[0].header)
    assert fields["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("answer", [503, "drop", *campaign(500, 429, 409, 408, "hang")])
def test_a_server_that_fails_gets_the_rest_of_the_batch_later(answer: Any, hook: Receiver) -> None:
    """Parts that were accepted are not sent again; a lost answer is, with the same key."""
    made = batches(1)
    made[0].progress = Noted()
    sink = sink_to(hook, max_events=1)
    hook.answers = [200, answer]
    with pytest.raises(SinkSilent, match="sink hook: "):
        sink.write(made[0])
    sink.write(made[0])
    assert hook.events() == made_events(made)
    assert [one.key.rpartition(":")[2] for one in hook.got] == ["0-0", "1-1", "1-1", "2-2", "3-3"]
    assert hook.got[1].body == hook.got[2].body


@pytest.mark.parametrize(("noted", "keys"), [(True, ["0-1", "2-3"]), (False, ["0-1", "0-1", "2-3"])])
def test_a_new_process_goes_on_where_the_batch_stopped(noted: bool, keys: list[str], hook: Receiver) -> None:
    """Without a note, whose write the process did not survive, it repeats the request with the same key."""
    made = batches(1)
    made[0].progress = Noted() if noted else None
    stop_once("mid_publish")
    with pytest.raises(KeyboardInterrupt):
        sink_to(hook, max_events=2).write(made[0])
    sink_to(hook, max_events=2).write(made[0])
    assert [one.key.rpartition(":")[2] for one in hook.got] == keys
    assert hook.events() == made_events(made)


@pytest.mark.campaign
def test_other_limits_of_a_new_process_repeat_no_event(hook: Receiver) -> None:
    made = batches(1)
    made[0].progress = Noted()
    stop_once("mid_publish")
    with pytest.raises(KeyboardInterrupt):
        sink_to(hook, max_events=1).write(made[0])
    sink_to(hook, max_events=2).write(made[0])
    assert [one.key.rpartition(":")[2] for one in hook.got] == ["0-0", "1-2", "3-3"]
    assert hook.events() == made_events(made)


@pytest.mark.parametrize(
    ("after", "least"), [("120", 120.0), *campaign(("Wed, 21 Oct 2099 07:28:00 GMT", 1e9), ("soon", 0.0), ("-5", 0.0))]
)
def test_retry_after_lengthens_the_rest(after: str, least: float, hook: Receiver) -> None:
    hook.answers = [(429, ("Retry-After", after))]
    sink = sink_to(hook)
    with pytest.raises(SinkSilent) as raised, sink.rest.after_silence():
        sink.write(batches(1)[0])
    assert raised.value.least_rest >= least
    rests = sink.rest._until - time.monotonic()
    assert (100 < rests <= 300) == (least > 0)


@pytest.mark.parametrize(
    ("answer", "remedy"),
    [
        (401, "credential"),
        *campaign((400, "log of the receiver"), (404, "path of `url`"), (413, "max_bytes"), (207, "log of")),
    ],
)
def test_a_refusal_stops_the_sink(answer: int, remedy: str, hook: Receiver) -> None:
    made = batches(1)
    sink = sink_to(hook, headers={"X-Token": "canary-4711-token"})
    hook.answers = [answer]
    with pytest.raises(Undeliverable, match=f"answered {answer} to 4 events of batch") as raised:
        sink.write(made[0])
    assert remedy in str(raised.value)
    assert "tenant" not in str(raised.value)
    assert "canary" not in str(raised.value)
    sink.write(made[0])
    assert hook.events() == made_events(made)


@pytest.mark.parametrize("status", [302, *campaign(301, 303, 307, 308)])
def test_no_redirect_is_followed(status: int, hook: Receiver) -> None:
    with receiver() as elsewhere:
        hook.answers = [(status, ("Location", elsewhere.url))]
        with pytest.raises(Undeliverable, match="redirects are not followed"):
            sink_to(hook).write(batches(1)[0])
        assert not elsewhere.got


def test_a_second_answer_counts_for_no_other_request(hook: Receiver) -> None:
    """The request after two answers is refused; its events must not count as accepted."""
    made = batches(1)
    made[0].progress = Noted()
    hook.answers = ["twice", 500]
    sink = sink_to(hook, max_events=1)
    with pytest.raises(SinkSilent, match="answered 500"):
        sink.write(made[0])
    assert hook.events() == made_events(made)[:1]
    sink.write(made[0])
    assert hook.events() == made_events(made)


@pytest.mark.campaign
def test_an_incomplete_batch_sends_no_last_request(hook: Receiver) -> None:
    (batch,) = batches(1)
    short = FileBatch(batch.header, batch.made[:-1])
    with pytest.raises(DeliveryError, match="has 3 events of batch"):
        sink_to(hook).write(short)
    assert not hook.got


@pytest.mark.campaign
def test_a_certificate_is_verified(hook: Receiver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    hook.server.socket = context.wrap_socket(hook.server.socket, server_side=True)
    sink = WebhookSink("hook", f"https://localhost:{hook.server.server_port}/in")
    with pytest.raises(DeliveryError, match="certificate of the receiver is not valid"):
        sink.check()
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    sink.check()
    sink.write(batches(1)[0])
    assert len(hook.accepted) == 1


def test_no_server(hook: Receiver) -> None:
    sink = sink_to(hook)
    hook.close()
    with pytest.raises(SinkSilent, match="sink hook: no connection: Connection refused"):
        sink.check()


# -- configuration -----------------------------------------------------------------------------------------------------
def configured(**options: Any) -> dict[str, Any]:
    sink = {"type": "webhook", "url": "https://example.com/in", **options}
    return config(
        "postgresql://me@localhost/db", {"name": "s", "table": "public.t", "strategy": "mds"}, sinks={"hook": sink}
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "ftp://example.com"}, "not the address of a receiver"),
        ({"url": "https://me:pw@example.com"}, "has no user"),
        ({"url": None}, "`url` is missing"),
        ({"secret": "x" * 32}, "the secret is written in the file"),
        ({"headers": {"Authorization": "Bearer x"}}, "the secret is written in the file"),
        ({"secret": "${env:SHORT}"}, "at least 24 bytes"),
        ({"secret": "${env:ODD}"}, "base64"),
        ({"headers": {"Content-Length": "${env:SHORT}"}}, "cannot be set"),
        ({"headers": {"X": "${env:LINES}"}}, "printable ASCII"),
        ({"max_events": 0}, "max_events"),
        ({"format": "xml"}, "format"),
    ],
)
def test_wrong_options(options: dict[str, Any], message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHORT", "canary-4711")
    monkeypatch.setenv("ODD", "whsec_canary-4711")
    monkeypatch.setenv("LINES", "canary-4711\r\nX-Other: y")
    with pytest.raises(ConfigError, match=message) as raised:
        config_from_dict(configured(**options))
    assert "canary" not in str(raised.value)


def test_secrets_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY", SECRET)
    monkeypatch.setenv("HEADER", "canary-4711-token")
    made = config_from_dict(configured(secret="${env:KEY}", headers={"X-Tenant": "${env:HEADER}"}))
    text = masking_of(made).foreign(f"it said {SECRET} and canary-4711-token")
    assert SECRET not in text
    assert "canary" not in text
    assert "canary" not in repr(made)
    assert SECRET not in repr(made)


def test_a_stream_reaches_the_server(place: Place, workspace: Path, hook: Receiver) -> None:
    """From a real table to the server, with one failure and a resend."""
    place.sql("CREATE TABLE t (id int PRIMARY KEY, v varchar(20))")
    place.sql("INSERT INTO t VALUES (1, 'one'), (2, 'two'), (3, 'three')")
    sinks = {"hook": {"type": "webhook", "url": hook.url, "max_events": 1}}
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds"}, sinks=sinks)
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'deux' WHERE id = 2")
        place.sql("DELETE FROM t WHERE id = 1")
        hook.answers = [200, 500]
        with pytest.raises(DeliveryError, match="answered 500 to 1 event"):
            poll(project)
    with opened(data, workspace) as project:  # which knows how far the batch came
        poll(project)
        assert [one.key[-4:] for one in hook.got] == [":0-0", ":1-1", ":1-1"]
        changes = hook.events()
        assert [(one["op"], one["key"]["id"]) for one in changes] == [("d", 1), ("u", 2)]
        project.stream("s").resend("hook")
    rows = {one["key"]["id"]: one["after"]["v"] for one in hook.events() if one["op"] == "r"}
    assert rows == {2: "deux", 3: "three"}
    assert hook.got[-1].key == f"{changes[0]['event_id'].rpartition(':')[0]}.resend-1:1-1"
