"""Polls as tasks of Airflow 3; changed, unchanged, refused, failed are four task states."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from qbcd.integrations.single_poll import SinglePoll, missing, poll_once

try:
    from airflow.sdk import Asset, AssetAlias, BaseOperator
    from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException
except ModuleNotFoundError as error:
    raise missing("airflow", "airflow", error) from error


def stream_asset(stream: str, namespace: str = "qbcd") -> Asset:
    """Return the asset of a stream.

    ``DAG(schedule=stream_asset("orders"))`` runs after each change of it.

    Args:
        namespace: That of the operator; it keeps streams of several projects apart.
    """
    return Asset(name=f"{namespace}/{stream}", uri=f"qbcd://{quote(namespace, safe='')}/{quote(stream, safe='')}")


class QbcdPollOperator(BaseOperator):  # type: ignore[misc,unused-ignore] # Any without Airflow
    """Poll one stream once, and deliver.

    If there were changes, the task succeeds, returns its batches, and its asset gets an event. If there were none, it
    is skipped. If the poll was refused or the configuration is wrong, it fails without a retry. Otherwise, such as
    when source or sink is down, it fails and may be retried.

    One task polls one stream, so that each has a state of its own. For several:
    ``QbcdPollOperator.partial(task_id="poll", config="..").expand(stream=["orders", "customers"])``.

    Args:
        stream: The stream; a template.
        config: Path of the configuration file; a template.
        namespace: The first part of the name of the asset.
        options: Those of every operator, such as ``task_id``.
    """

    template_fields: Sequence[str] = ("stream", "config")

    def __init__(
        self, *, stream: str, config: str | os.PathLike[str] = "qbcd.yaml", namespace: str = "qbcd", **options: Any
    ) -> None:
        self.alias = AssetAlias(namespace)  # unlike an outlet that is an asset, it has an event only if one is added
        super().__init__(**{**options, "outlets": [*options.get("outlets", ()), self.alias]})
        self.stream, self.config, self.namespace = stream, os.fspath(config), namespace
        self._stop: threading.Event | None = None

    def execute(self, context: Any) -> list[dict[str, Any]]:
        """Poll; return the batches with changes, oldest first."""
        self._stop = threading.Event()
        try:
            polled = poll_once(self.config, self.stream, self._stop)
        finally:
            self._stop = None
        batches = changes_of(polled)
        extra = {"version": polled.version, "counts": polled.counts}
        context["outlet_events"][self.alias].add(stream_asset(self.stream, self.namespace), extra=extra)
        return batches

    def on_kill(self) -> None:
        """End the poll after its current step; the next one continues."""
        if self._stop is not None:
            self._stop.set()


def changes_of(polled: SinglePoll) -> list[dict[str, Any]]:
    """Return the batches of a poll.

    Raises:
        AirflowSkipException: There are none.
        AirflowFailException: A person must act; a retry does not help.
        AirflowException: The poll failed; a retry may help.
    """
    if polled.exit_code and polled.retry:
        raise AirflowException(polled.error)
    if polled.exit_code:
        raise AirflowFailException(polled.error)
    if not polled.batches:
        raise AirflowSkipException(f"stream {polled.stream}: no changes")
    return [dict(batch) for batch in polled.batches]
