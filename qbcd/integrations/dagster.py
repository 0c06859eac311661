"""Streams as assets of Dagster, with `verify` as a check of each."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from qbcd.api import StreamHandle, open
from qbcd.config.document import names_of
from qbcd.errors import QbcdError
from qbcd.integrations.single_poll import missing, poll_once
from qbcd.status import LATE_INTERVALS

try:
    import dagster as dg
except ModuleNotFoundError as error:
    raise missing("dagster", "dagster", error) from error

LEAST_WINDOW = timedelta(minutes=1)  # Dagster's
OPS = {"c": "inserts", "u": "updates", "d": "deletes", "r": "rows_read"}
KEPT_DIFFERENCES = 10  # of a check's result


def qbcd_definitions(
    config: str | os.PathLike[str] = "qbcd.yaml",
    streams: str | Iterable[str] = (),
    *,
    key_prefix: str | Sequence[str] = "qbcd",
    freshness: timedelta | None = None,
    **options: Any,
) -> dg.Definitions:
    """Return an asset and a check for each stream of a configuration.

    Only patterns of tables need the sources for this.

    Args:
        config: Path of the configuration file.
        streams: Names, or one name; none means all.
        key_prefix: The first parts of the assets' keys; the last one is the stream's name.
        freshness: An asset without a successful poll for this long is not fresh; default: three times `every`.
        options: Options of ``dagster.asset``, such as ``retry_policy`` and ``group_name``.
    """
    path = Path(config).absolute()
    prefix = [key_prefix] if isinstance(key_prefix, str) else list(key_prefix)
    named = names_of(streams, "stream")
    with open(path) as project:
        handles = [project.stream(name) for name in named] or project.streams
        made = [_asset(path, handle, prefix, freshness, options) for handle in handles]
        checks = [_check(path, handle.name, [*prefix, handle.name]) for handle in handles]
    return dg.Definitions(assets=made, asset_checks=checks)


def _asset(
    path: Path, handle: StreamHandle, prefix: Sequence[str], freshness: timedelta | None, options: dict[str, Any]
) -> dg.AssetsDefinition:
    window = freshness or max(LATE_INTERVALS * handle.config.every, LEAST_WINDOW)
    stream = handle.name

    @dg.asset(  # type: ignore[untyped-decorator,unused-ignore] # without Dagster
        key=[*prefix, stream],
        **{
            "kinds": {"qbcd"},
            "description": f"Changes that qbcd finds with strategy {handle.config.strategy}.",
            "freshness_policy": dg.FreshnessPolicy.time_window(fail_window=window),
            **options,
        },
    )
    def poll() -> dg.MaterializeResult[Any]:
        polled = poll_once(path, stream)
        if polled.exit_code:
            raise dg.Failure(polled.error, allow_retries=polled.retry)
        counts = polled.counts
        metadata: dict[str, Any] = {word: counts.get(op, 0) for op, word in OPS.items()}
        metadata |= {"events": sum(counts.values()), "batches": len(polled.batches)}
        metadata |= {"pending": sum(polled.pending.values())}
        return dg.MaterializeResult(metadata=metadata, data_version=dg.DataVersion(polled.version))

    return poll


def _check(path: Path, stream: str, key: Sequence[str]) -> dg.AssetChecksDefinition:
    @dg.asset_check(  # type: ignore[untyped-decorator,unused-ignore] # without Dagster
        asset=dg.AssetKey(key), name="verify", description="Compare replica and source in full."
    )
    def verify() -> dg.AssetCheckResult:
        try:
            with open(path) as project:
                found = project.stream(stream).verify()
        except QbcdError as error:
            raise dg.Failure(str(error), allow_retries=error.exit_code == 1) from None
        metadata: dict[str, Any] = {
            "differences": len(found),
            "truncated": found.truncated,
            "keys": [f"{one.op} {one.key}" for one in found[:KEPT_DIFFERENCES]],
        }
        if found.unseen:
            metadata["unseen_deletes"] = found.unseen.keys
        return dg.AssetCheckResult(passed=not found, metadata=metadata)

    return verify
