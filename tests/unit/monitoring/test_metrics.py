"""Metrics: their numbers from outcomes of polls, the page, the file, and the dashboard over them."""

from __future__ import annotations

import json
import re
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import pytest
import yaml

from qbcd.errors import ConfigError, EnvironmentMissing, QbcdError
from qbcd.monitoring.measured import METRICS, Measured
from qbcd.monitoring.metrics import Address, Metrics, address_of
from qbcd.polling.outcome import Outcome
from qbcd.state import DeliveryFailure, Run
from qbcd.stream import Report
from tests.support.cli import Cli

ROOT = Path(__file__).resolve().parents[3]
NOW = 1_795_770_000.0
EPOCH = int(NOW) - 500


def begun(*names: str, runs: tuple[Run, ...] = (), success: float | None = None) -> Measured:
    """Return numbers that begin with the given history."""
    made = Measured()
    history: Any = SimpleNamespace(
        runs=lambda stream, n: list(runs),
        last_success=lambda stream: success,
        delivery_failures=lambda stream: {"gone": DeliveryFailure(NOW, "down", 3)} if runs else {},
    )
    config: Any = SimpleNamespace(every=timedelta(seconds=30))
    streams: list[Any] = [SimpleNamespace(name=name, config=config, project=history) for name in names]
    made.begin(streams)
    return made


def polled(outcome: Any, at: float = NOW, stream: str = "orders", failed: int = 0, **pending: int) -> Outcome:
    """Return the outcome of a poll of two seconds."""
    cost = {"rows_scanned": 400, "rows_shipped": 3, "bytes_shipped": 90, "ranges": 8, "dirty": 1}
    counts = {"c": 2, "d": 1} if outcome == "ok" else {}
    run = Run(stream, at - 2, at, outcome, counts=counts, cost=cost)
    attempts = {sink: failed * (sink == "gone") for sink in pending}
    facts: Any = {"source": "shop", "run": run, "pending": pending, "attempts": attempts, "epoch": EPOCH}
    return Outcome(stream, Report(stream), phases={"commit": 0.5}, **facts)


def values(measured: Measured, now: float = NOW) -> dict[str, float]:
    return {
        f"{name}{':'.join(('', *labels))}": value for name, series in measured.values(now) for labels, value in series
    }


def test_numbers_follow_outcomes() -> None:
    measured = begun("orders", "idle")
    for outcome in (polled("ok", changes=0), polled("empty", NOW + 10, changes=0), polled("refused", NOW + 20)):
        measured.add(outcome)
    measured.add(Outcome("orders"))  # another process works on it
    measured.add(polled("ok", stream="of another job"))
    found = values(measured, NOW + 25)
    assert {o: found[f"qbcd_polls_total:orders:{o}"] for o in ("ok", "empty", "failed", "refused")} == {
        "ok": 1,
        "empty": 1,
        "failed": 0,
        "refused": 1,
    }
    assert [found[f"qbcd_events_total:orders:{op}"] for op in "cudr"] == [2, 0, 1, 0]
    names = ("rows_scanned_total", "rows_shipped_total", "bytes_shipped_total", "ranges_total", "dirty_ranges_total")
    assert [found[f"qbcd_{name}:orders"] for name in names] == [1200, 9, 270, 24, 3]
    assert (found["qbcd_lag_seconds:orders"], found["qbcd_refused:orders"], found["qbcd_failed:orders"]) == (15, 1, 0)
    assert found["qbcd_last_success_timestamp_seconds:orders"] == NOW + 10
    assert (
        found["qbcd_poll_phase_seconds_total:orders:commit"],
        found["qbcd_poll_phase_seconds_total:idle:fetch"],
    ) == (1.5, 0)
    assert found["qbcd_pending_batches:orders:changes"] == 0
    assert found["qbcd_polls_total:idle:ok"] == 0  # an increase from 0 can be seen
    assert "qbcd_lag_seconds:idle" not in found
    assert not any("another" in name for name in found)


def test_a_dead_sink_shows_its_batches_and_attempts() -> None:
    measured = begun("orders", runs=(Run("orders", NOW - 60, NOW - 59, "failed"),), success=NOW - 200)
    assert values(measured)["qbcd_delivery_failures:orders:gone"] == 3  # of earlier processes
    measured.add(polled("failed", failed=5, changes=0, gone=2))
    down = values(measured)
    measured.add(polled("failed"))  # the source is down: nothing is known about the sinks
    same = values(measured)
    measured.add(polled("empty", changes=0, gone=0))
    up = values(measured)
    assert [v["qbcd_delivery_failures:orders:gone"] for v in (down, same, up)] == [5, 5, 0]
    assert [v["qbcd_pending_batches:orders:gone"] for v in (down, same, up)] == [2, 2, 0]
    assert [v["qbcd_failed:orders"] for v in (down, same, up)] == [1, 1, 0]
    assert [v["qbcd_lag_seconds:orders"] for v in (down, up)] == [200, 0]


@pytest.mark.parametrize(
    ("success", "epoch", "lag"),
    [
        (None, EPOCH, 500),
        (NOW - 700, EPOCH, 500),
        (NOW - 100, EPOCH, 100),
        (NOW - 100, int(NOW) + 900, 100),
        (None, 0, None),
    ],
)
def test_the_lag_is_that_of_status(success: float | None, epoch: int, lag: float | None) -> None:
    measured = begun("orders", success=success)
    refused = polled("refused")
    refused.epoch = epoch
    measured.add(refused)
    assert values(measured).get("qbcd_lag_seconds:orders") == lag


def test_the_page_has_every_metric() -> None:
    measured = begun("orders")
    measured.add(polled("ok", changes=1))
    measured.add(polled("failed", changes=1))
    metrics = Metrics(measured)
    with metrics.served(Address("127.0.0.1", 0)) as url, urlopen(url, timeout=60) as answer:
        text = answer.read().decode()
        taken = address_of(url.removeprefix("http://").removesuffix("/metrics"))
        with pytest.raises(QbcdError, match=r"cannot be served on 127\.0\.0\.1:"), Metrics(measured).served(taken):
            pass
    assert {name for name in METRICS if not re.search(rf"^{name}(_bucket)?{{", text, re.MULTILINE)} == set()
    assert 'qbcd_poll_seconds_bucket{le="5.0",stream="orders"} 2.0' in text
    assert 'qbcd_poll_seconds_bucket{le="1.0",stream="orders"} 0.0' in text
    assert "process_open_fds" in text


def test_a_file_continues_the_counters_of_the_last_run(tmp_path: Path) -> None:
    file = tmp_path / "qbcd.prom"
    for number in (1, 2, 3):
        measured = begun("orders", *["customers"] * (number == 1))
        metrics = Metrics(measured)
        metrics.read(file)
        measured.add(polled("ok", changes=number))
        metrics.write(file)
    text = file.read_text()
    for line in (
        'qbcd_polls_total{outcome="ok",stream="orders"} 3.0',
        'qbcd_poll_seconds_bucket{le="1.0",stream="orders"} 0.0',
        'qbcd_poll_seconds_bucket{le="5.0",stream="orders"} 3.0',
        'qbcd_poll_seconds_bucket{le="+Inf",stream="orders"} 3.0',
        'qbcd_poll_seconds_sum{stream="orders"} 6.0',
        'qbcd_pending_batches{sink="changes",stream="orders"} 3.0',
    ):
        assert f"{line}\n" in text
    assert "customers" not in text
    assert [path.name for path in tmp_path.iterdir()] == ["qbcd.prom"]
    file.write_text("tables:\n  - {source: shop}\n")  # a mistyped name
    with pytest.raises(QbcdError, match="cannot be continued"):
        Metrics(measured).read(file)
    with pytest.raises(QbcdError, match="cannot be written"):
        Metrics(measured).write(tmp_path / "missing" / "qbcd.prom")


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9464", ("127.0.0.1", 9464)),
        ("9464", ("127.0.0.1", 9464)),
        (":9464", ("127.0.0.1", 9464)),  # other hosts only if one is named
        ("0.0.0.0:9464", ("0.0.0.0", 9464)),
        ("[::1]:9464", ("::1", 9464)),
        ("metrics.example:0", ("metrics.example", 0)),
        *((wrong, None) for wrong in ("", "localhost", "localhost:", "::1:9464", "http://h:1/", "h:123456", "h:70000")),
    ],
)
def test_addresses(text: str, address: tuple[str, int] | None) -> None:
    if address is not None:
        assert address_of(text) == address
        return
    with pytest.raises(ConfigError, match="--metrics: "):
        address_of(text)


def test_mistakes_and_a_missing_package_end_before_any_poll(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path
) -> None:
    monkeypatch.chdir(workspace)
    cli = Cli(capsys)
    for options, said in (
        ("--metrics 9464 --once", "write --metrics-file FILE"),
        ("--metrics-file m.prom", "--metrics-file needs --once"),
        ("--once --metrics-file no/m.prom", "the folder of 'no/m.prom' does not exist"),
        ("--metrics here", "'here' is not an address"),
    ):
        ran = cli("run", *options.split())
        assert (ran.code, said in ran.err) == (2, True), ran.err
    monkeypatch.setitem(sys.modules, "prometheus_client", None)
    with pytest.raises(EnvironmentMissing, match="pip install 'qbcd\\[metrics\\]'") as caught:
        Metrics(Measured())
    assert caught.value.exit_code == 2


def queries() -> list[str]:
    """Return the queries of the dashboard and of the alerts."""
    board = json.loads((ROOT / "examples/monitoring/grafana.json").read_text())
    alerts = yaml.safe_load((ROOT / "examples/monitoring/alerts.yaml").read_text())
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    found += [variable["query"]["query"] for variable in board["templating"]["list"] if variable["type"] == "query"]
    return found + [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]


def test_the_dashboard_asks_only_for_metrics_that_exist() -> None:
    asked = [(name, query) for query in queries() for name in re.findall(r"\bqbcd_\w+", query)]
    assert len(asked) > 20
    for name, query in asked:
        base = name.removesuffix("_bucket")
        assert base in METRICS, query
        assert (base != name) == (METRICS[base].kind == "histogram")
        labels = {one for part in re.findall(r"(?:by \(([^)]*)\)|\{\{(\w+)\}\})", query) for one in part[0].split(", ")}
        assert labels - {"", "le"} <= {*METRICS[base].labels}, query
    page = (ROOT / "docs/how-to/collect-metrics.md").read_text()
    assert [name for name in METRICS if f"`{name}`" not in page and f"`{name}{{" not in page] == []
