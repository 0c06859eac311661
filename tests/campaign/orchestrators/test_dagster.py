"""Dagster itself materializes streams and runs their checks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import qbcd
from tests.support.orchestrated import STREAMS, orchestrated
from tests.support.places import Place, over


@pytest.fixture(name="dg")
def _dagster() -> Any:
    return pytest.importorskip("dagster", reason="pip install dagster")


@pytest.mark.campaign
@over()
def test_streams_are_materialized_and_verified(
    dg: Any, place: Place, workspace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from qbcd.integrations.dagster import qbcd_definitions

    monkeypatch.setenv("DAGSTER_DISABLE_TELEMETRY", "1")
    path = orchestrated(place, workspace)
    definitions = qbcd_definitions(path, retry_policy=dg.RetryPolicy(max_retries=1))
    instance = dg.DagsterInstance.ephemeral(tempdir=str(tmp_path))

    every = [*(definitions.assets or ()), *(definitions.asset_checks or ())]

    def done(selection: Any) -> Any:
        return dg.materialize(every, instance=instance, selection=selection, raise_on_error=False)

    def materialized(*names: str) -> Any:
        return done(dg.AssetSelection.assets(*(["qbcd", name] for name in names)))

    result = materialized("changed", "unchanged")
    assert result.success
    assert {e.asset_key.path[-1]: e.passed for e in result.get_asset_check_evaluations()} == {
        "changed": True,
        "unchanged": True,
    }
    found = {e.asset_key.path[-1]: e.materialization for e in result.get_asset_materialization_events()}
    counts = {
        name: {key: made.metadata[key].value for key in ("inserts", "updates", "deletes", "events", "batches")}
        for name, made in found.items()
    }
    assert counts["changed"] == {"inserts": 0, "updates": 3, "deletes": 1, "events": 4, "batches": 1}
    assert set(counts["unchanged"].values()) == {0}
    versions = {name: made.tags["dagster/data_version"] for name, made in found.items()}
    with qbcd.open(path) as project:
        for name, version in versions.items():
            status = project.status(name)[0]
            assert version == f"{status.epoch}/{status.batches}"
    again = materialized("changed").get_asset_materialization_events()[0].materialization
    assert again.tags["dagster/data_version"] == versions["changed"]

    place.sql("UPDATE changed SET v = 7 WHERE id = 4")
    result = done(dg.AssetSelection.checks_for_assets(dg.AssetKey(["qbcd", "changed"])))
    (check,) = result.get_asset_check_evaluations()
    assert not check.passed
    assert check.metadata["differences"].value == 1

    for name, tries, said in (("refused", 1, "delete"), ("dead_sink", 2, "blocked")):
        result = materialized(name)
        events = [e.event_type_value for e in result.all_events]
        assert not result.success
        assert events.count("STEP_START") + events.count("STEP_RESTARTED") == tries, (name, events)
        assert said in str([e.event_specific_data for e in result.all_events if e.is_step_failure])
    (workspace / "blocked").unlink()
    healed = materialized("dead_sink").get_asset_materialization_events()[0].materialization
    assert healed.metadata["updates"].value == 1  # of the batch that the failed polls found


@pytest.mark.campaign
@pytest.mark.usefixtures("dg")
@over(elsewhere=[])
def test_an_asset_is_fresh_for_three_intervals(place: Place, workspace: Path) -> None:
    from qbcd.integrations.dagster import qbcd_definitions

    definitions = qbcd_definitions(orchestrated(place, workspace), STREAMS[0], key_prefix=["cdc", "shop"])
    (spec,) = [spec for one in definitions.assets or () for spec in one.specs]
    assert spec.key.path == ["cdc", "shop", "changed"]
    assert spec.freshness_policy.fail_window.to_timedelta().total_seconds() >= 60
