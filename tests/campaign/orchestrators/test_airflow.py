"""Airflow itself runs DAGs with the operator, in processes of its own."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support.orchestrated import STREAMS, orchestrated
from tests.support.places import Place, over

pytestmark = pytest.mark.skipif(importlib.util.find_spec("airflow") is None, reason="pip install apache-airflow")

ROOT = Path(__file__).parents[3]
PATIENCE = 240.0  # seconds

DAG = """
import json
import sys
from datetime import datetime, timezone

from airflow.sdk import DAG
from qbcd.integrations.airflow import QbcdPollOperator

with DAG("polls", schedule=None, start_date=datetime(2026, 1, 1, tzinfo=timezone.utc)) as dag:
    tasks = [QbcdPollOperator(task_id=name, stream=name, config={config!r}) for name in {streams!r}]

if __name__ == "__main__":
    from airflow.models.asset import AssetEvent
    from airflow.models.xcom import XComModel
    from airflow.utils.session import create_session
    from sqlalchemy import select

    run = dag.test()
    with create_session() as session:
        states = {{one.task_id: str(one.state) for one in run.get_task_instances(session=session)}}
        rows = session.scalars(select(XComModel).where(XComModel.run_id == run.run_id, XComModel.key == "return_value"))
        xcoms = {{one.task_id: XComModel.deserialize_value(one) for one in rows}}
        events = [[e.asset.name, e.asset.uri, e.extra] for e in session.scalars(select(AssetEvent))]
    print("RESULT", json.dumps({{"states": states, "xcoms": xcoms, "events": events}}))
"""


def ran(folder: Path, *command: str) -> str:
    """Run Python in a process with an Airflow of its own in `folder`."""
    env = {
        **os.environ,
        "AIRFLOW_HOME": str(folder / "airflow"),
        "AIRFLOW__CORE__DAGS_FOLDER": str(folder / "dags"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
    }
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=env, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout + done.stderr


def polled(folder: Path) -> tuple[dict[str, Any], str]:
    """Run the DAG; return what Airflow has recorded and what was printed."""
    text = ran(folder, "dags/polls.py")
    line = next(line for line in text.splitlines() if line.startswith("RESULT "))
    return json.loads(line.removeprefix("RESULT ")), text


@pytest.mark.campaign
@over(elsewhere=[])
def test_outcomes_of_polls_are_states_of_tasks(place: Place, workspace: Path) -> None:
    path = orchestrated(place, workspace)
    (workspace / "dags").mkdir()
    (workspace / "dags" / "polls.py").write_text(DAG.format(config=str(path), streams=STREAMS))
    ran(workspace, "-m", "airflow", "db", "migrate")
    ran(workspace, "-m", "airflow", "dags", "reserialize")

    found, text = polled(workspace)
    assert found["states"] == {"changed": "success", "unchanged": "skipped", "dead_sink": "failed", "refused": "failed"}
    (batch,) = found["xcoms"]["changed"]
    assert (batch["stream"], batch["counts"]) == ("changed", {"u": 3, "d": 1})
    version = f"{batch['epoch']}/{batch['seq']}"
    assert found["events"] == [
        ["qbcd/changed", "qbcd://qbcd/changed", {"version": version, "counts": {"u": 3, "d": 1}}]
    ]
    assert "AirflowFailException" in text
    assert "AirflowSkipException" in text or "Skipping task" in text

    (workspace / "blocked").unlink()
    found, _ = polled(workspace)
    assert found["states"] | {"refused": ""} == {
        "changed": "skipped",
        "unchanged": "skipped",
        "dead_sink": "success",
        "refused": "",
    }
    assert [batch["counts"] for batch in found["xcoms"]["dead_sink"]] == [{"u": 1}]  # found by the poll that failed
    assert [event[0] for event in found["events"]] == ["qbcd/changed", "qbcd/dead_sink"]


@pytest.mark.campaign
@pytest.mark.parametrize(
    ("code", "raised"),
    [(1, "AirflowException"), (2, "AirflowFailException"), (3, "AirflowFailException"), (0, "AirflowSkipException")],
)
def test_only_failures_are_retried(code: int, raised: str) -> None:
    from qbcd.integrations.airflow import changes_of
    from qbcd.integrations.single_poll import SinglePoll

    with pytest.raises(Exception, match=r"orders|no changes") as caught:
        changes_of(SinglePoll("orders", error="stream orders: wrong" if code else "", exit_code=code))
    assert type(caught.value).__name__ == raised
