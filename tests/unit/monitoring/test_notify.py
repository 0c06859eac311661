"""Notifications over HTTP: hooks that answer, fail, redirect and hang; what is configured for them; no secret shown."""

from __future__ import annotations

import threading
import time
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from pydantic import SecretStr

from qbcd.config import config_from_dict
from qbcd.config.masking import masking_of, secrets_of
from qbcd.config.notify import NotifyConfig
from qbcd.config.schema import json_schema
from qbcd.errors import ConfigError
from qbcd.monitoring import background
from qbcd.monitoring import notifying as module
from qbcd.monitoring.notices import Notice
from qbcd.monitoring.notifying import Hook, notifying
from qbcd.polling.outcome import Outcome
from qbcd.state import Run
from tests.support import wait_until
from tests.support.config_files import CANARY
from tests.support.hook_server import HookServer, hook_server

TOKEN = "T0KEN-B1g/S3cret.Hook"
LOGIN = "u:p%40ss%2Fw0rd"


def notice(event: Any = "refused") -> Notice:
    return Notice(event, ("orders",), "shop", "ok", 1_795_770_000)


def hook(url: str, **more: Any) -> Hook:
    config = NotifyConfig(url=SecretStr(url), **more)
    return Hook(config, "qbcd.yaml:7: notify[0]", masking_of(configured({"url": url})).foreign)


def configured(*hooks: dict[str, Any], **more: Any) -> Any:
    table = {"source": "shop", "table": "public.orders", "strategy": "mds"}
    source = {"url": "postgresql://reader@localhost/shop"}
    return config_from_dict(
        {"version": 1, "sources": {"shop": source}, "tables": [table], "notify": list(hooks), **more}
    )


@pytest.mark.parametrize(
    ("path", "tries", "lost"),
    [
        ("/ok", 1, ""),
        ("/twice/x", 3, ""),
        ("/500", 3, "the hook answered 500"),
        ("/429", 3, "the hook answered 429"),
        ("/404", 1, "the hook answered 404"),
        ("/302", 1, "the hook answered 302"),  # the address of a hook is for one host
        ("/hang", 1, "timed out"),
    ],
)
def test_a_hook_is_tried_again_where_that_may_help(
    path: str, tries: int, lost: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSES_S", () if path == "/hang" else (0.0, 0.0))
    with hook_server() as server:
        made = hook(f"{server.url.replace('//', f'//{LOGIN}@')}{path}", timeout=timedelta(seconds=1 if lost else 60))
        made.put(notice(), {"text": "hello"})
        made.end()
        made.join(60)
        assert server.at(path) == [{"text": "hello"}] * tries
        assert server.at("/elsewhere") == []
        assert server.got[0][1]["Authorization"] == "Basic dTpwQHNzL3cwcmQ="
    said = [record.getMessage() for record in caplog.records]
    start = "qbcd.yaml:7: notify[0]: a notification is lost (stream orders refused): "
    assert said == ([f"{start}{lost}"] if lost else [])
    assert "127.0.0.1" not in caplog.text
    assert "p@ss" not in caplog.text


def test_a_hook_that_is_not_there_shows_no_address(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PAUSES_S", ())
    made = hook(f"http://127.0.0.1:1/{TOKEN}")
    made.put(notice(), {})
    made.end()
    made.join(60)
    assert "Connection refused" in caplog.text
    assert "S3cret" not in caplog.text


def test_a_full_queue_drops_what_comes_last(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MOST_WAITING", 3)
    with hook_server() as server:
        made = hook(f"{server.url}/hang", timeout=timedelta(seconds=60))
        made.put(notice(), {"n": 0})
        wait_until(lambda: bool(server.got))  # it hangs
        for number in range(1, 6):
            made.put(notice(), {"n": number})
        made.end()
        made.join(0)
    said = [record.getMessage() for record in caplog.records]
    assert sum("3 others wait for the hook" in one for one in said) == 2
    assert any(one.endswith("the hook does not answer; the latest notifications may be lost") for one in said)


def project(server: HookServer, *hooks: dict[str, Any]) -> Any:
    """Return the parts that notifications need."""
    config = configured(*hooks)
    return SimpleNamespace(config=config, masking=masking_of(config))


def stream(name: str) -> Any:
    history = SimpleNamespace(runs=lambda stream, n=20: [])
    return SimpleNamespace(name=name, source=SimpleNamespace(name="shop"), project=history)


def polled(name: str, outcome: Any) -> Outcome:
    return Outcome(name, None, None, "shop", run=Run(name, 1, 2, outcome))


def test_a_hook_that_hangs_delays_neither_polls_nor_other_hooks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "END_S", 0.2)
    before = {thread for thread in threading.enumerate() if thread.name == "qbcd-notify"}
    with hook_server() as server:
        hooks = (
            {"url": f"{server.url}/hang", "timeout": "60s"},
            {"url": f"{server.url}/all"},
            {"url": f"{server.url}/some", "on": "recovered"},
        )
        began = time.monotonic()
        with notifying(project(server, *hooks), [stream("a"), stream("b")]) as notify:
            for _ in range(200):
                for outcome in ("refused", "ok"):
                    notify.add(polled("a", outcome))
            wait_until(lambda: len(server.at("/all")) == 400 and len(server.at("/some")) == 200)
        assert time.monotonic() - began < 50  # seconds; the hook hangs for longer
        assert len(server.at("/hang")) == 1
    events = [one["event"] for one in server.at("/all")]
    assert events == ["refused", "recovered"] * 200  # in order
    assert {one["event"] for one in server.at("/some")} == {"recovered"}
    wait_until(lambda: {t for t in threading.enumerate() if t.name == "qbcd-notify"} <= before)


def test_without_hooks_nothing_is_read_or_started() -> None:
    parts: Any = SimpleNamespace(config=configured())
    with notifying(parts, [SimpleNamespace()]) as notify:  # type: ignore[list-item]
        notify.add(polled("a", "refused"))


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"on": "refusd"}, 'notify[0].on[0]: there is no event "refusd" (did you mean "refused"?)'),
        ({"on": ["failed", "failed"]}, 'notify[0].on[1]: "failed" is listed twice'),
        ({"on": []}, "notify[0].on: the list is empty (name some of refused, failed, recovered, schema_changed)"),
        ({"url": None}, "notify[0].url: `url` is missing (write url: ${env:HOOK}"),
        ({"url": "https://hooks.example/s"}, "notify[0].url: the address of a hook is a secret, and it is written in"),
        ({"timeout": 0}, "notify[0].timeout: a wait needs a limit longer than 0"),
        ({"ur": "x"}, 'notify[0].ur: unknown key "ur" (did you mean "url"?)'),
        *(
            ({"url": url}, "notify[0].url: not the address of a hook (write url: ${env:HOOK}")
            for url in (
                "ftp://localhost/x",
                "file:///etc/passwd",
                "localhost/x",
                "http://",
                "http://localhost:0/",
                "http://a b/",
            )
        ),
    ],
)
def test_mistakes_in_the_configuration(written: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        configured({"url": "http://localhost/x", **written})
    assert str(caught.value).startswith(said)


def test_the_address_is_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "HOOK",
        f"https://u:{CANARY.replace('@', '%40').replace('/', '%2F')}@hooks.example/services/{TOKEN}?key={TOKEN}2",
    )
    config = configured({"url": "${env:HOOK}"})
    assert config.notify[0].on == ["refused", "failed", "recovered", "schema_changed"]
    shown = f"{config!r} {config.notify[0]!r}"
    assert "S3cret" not in shown
    masking = masking_of(config)
    for secret in secrets_of(config):
        if secret:
            assert secret not in masking.foreign(f"cannot open {secret}: refused")
    assert "S3cret" not in masking.foreign(f"GET /services/{TOKEN} failed")
    schema = json_schema()["$defs"]["NotifyConfig"]
    assert schema["required"] == ["url"]
