"""Metrics for Prometheus: a page that it scrapes, or a file.

The textfile collector of the node exporter reads the file. The package ``prometheus-client`` writes and reads the
format. It is imported when metrics are wanted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from qbcd.common.durable import replace_text
from qbcd.common.plugins import in_one_line
from qbcd.errors import ConfigError, EnvironmentMissing, QbcdError
from qbcd.monitoring.measured import METRICS, SECONDS, Measured

LOOPBACK = "127.0.0.1"
_ADDRESS = re.compile(r"(?:(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]\s/]*)):)?(?P<port>[0-9]{1,5})")
_EXAMPLE = "write HOST:PORT, such as --metrics 127.0.0.1:9464"


class Address(NamedTuple):
    """The address on which metrics are served; without a host it is this machine's loopback."""

    host: str
    port: int


def address_of(text: str) -> Address:
    """Return the address in ``HOST:PORT``, ``[IPV6]:PORT`` or ``PORT``.

    Raises:
        ConfigError: The text is no such address.
    """
    found = _ADDRESS.fullmatch(text.strip())
    if found is None:
        raise ConfigError(f"--metrics: {text!r} is not an address", remedy=_EXAMPLE)
    if int(found["port"]) > 65535:
        raise ConfigError(f"--metrics: port {found['port']} is above 65535", remedy=_EXAMPLE)
    return Address(found["six"] or found["host"] or LOOPBACK, int(found["port"]))


class Metrics:
    """The metrics of one process, in the form that Prometheus reads.

    Raises:
        EnvironmentMissing: The package is not installed.
    """

    def __init__(self, measured: Measured) -> None:
        self._client = _client()
        self._registry = self._client.CollectorRegistry(auto_describe=False)
        self._registry.register(_Collector(measured, self._client))
        self._measured = measured

    @contextmanager
    def served(self, address: Address) -> Iterator[str]:
        """Serve the metrics within the block; yield the URL. A port of 0 is any free one.

        Raises:
            QbcdError: The address cannot be used.
        """
        self._client.ProcessCollector(registry=self._registry)
        try:
            server, thread = self._client.start_http_server(address.port, address.host, self._registry)
        except OSError as error:
            raise QbcdError(
                f"metrics cannot be served on {address.host}:{address.port}: {error.strerror or error}",
                remedy="name another address or port with --metrics HOST:PORT",
            ) from error
        host = f"[{address.host}]" if ":" in address.host else address.host
        try:
            yield f"http://{host}:{server.server_port}/metrics"
        finally:
            server.shutdown()
            server.server_close()
            thread.join()

    def text(self) -> str:
        """Return the metrics as text."""
        return str(self._client.generate_latest(self._registry).decode())

    def read(self, path: Path) -> None:
        """Continue the counters of an earlier file, since single polls would begin with 0.

        Raises:
            QbcdError: The file cannot be read, or is no file of metrics.
        """
        from prometheus_client.parser import text_string_to_metric_families

        try:
            text = path.read_text(encoding="utf-8")
            samples = [one for family in text_string_to_metric_families(text) for one in family.samples]
        except FileNotFoundError:
            return
        except (OSError, ValueError) as error:
            raise QbcdError(
                f"--metrics-file: {path} cannot be continued: {in_one_line(error)}",
                remedy="name another file, or remove this one: its counters then begin with 0",
            ) from error
        for sample in samples:
            self._measured.restore(sample.name, sample.labels, sample.value)
        self._measured.restored()

    def write(self, path: Path) -> None:
        """Replace the file; a reader sees the old or the new one.

        Raises:
            QbcdError: It cannot be written.
        """
        try:
            replace_text(path, self.text())
        except OSError as error:
            raise QbcdError(
                f"--metrics-file: {path} cannot be written: {error.strerror or error}",
                remedy="check that its folder exists and the account may write there",
            ) from error


class _Collector:
    """The collector that prometheus-client asks at each scrape."""

    def __init__(self, measured: Measured, client: Any) -> None:
        self._measured, self._core = measured, client.core

    def collect(self) -> Iterator[Any]:
        """Yield one family for each metric."""
        metric = METRICS[SECONDS]
        family = self._core.HistogramMetricFamily(SECONDS, metric.help, labels=metric.labels)
        for labels, buckets, total in self._measured.durations():
            family.add_metric(labels, buckets, total)
        yield family
        for name, series in self._measured.values():
            metric = METRICS[name]
            kind = self._core.CounterMetricFamily if metric.kind == "counter" else self._core.GaugeMetricFamily
            family = kind(name, metric.help, labels=metric.labels)
            for labels, value in series:
                family.add_metric(labels, value)
            yield family


def _client() -> Any:
    try:
        import prometheus_client
        import prometheus_client.core
    except ModuleNotFoundError as error:
        raise EnvironmentMissing(
            "metrics need the package prometheus-client", remedy="pip install 'qbcd[metrics]'"
        ) from error
    return prometheus_client
