"""Poll every stream each 10 minutes from Airflow 3.

qbcd has its own virtual environment on the worker, separate from Airflow's packages. State, workdir and sinks must be
the same folders on every worker that may run the task: see docs/how-to/state-and-workdir.md. In Airflow 2, import DAG
from `airflow` and PythonOperator from `airflow.operators.python`.
"""

from __future__ import annotations

import subprocess
from datetime import datetime, timedelta, timezone

from airflow.exceptions import AirflowFailException
from airflow.providers.standard.operators.python import PythonOperator
from airflow.sdk import DAG

COMMAND = ["/opt/qbcd/bin/qbcd", "-c", "/etc/qbcd/qbcd.yaml", "run", "--once"]


def poll() -> None:
    """Run one poll and copy what it prints to the log of the task."""
    with subprocess.Popen(COMMAND, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            for line in process.stdout or ():
                print(line, end="")
        except BaseException:  # a time limit, or the task was stopped: qbcd finishes its step
            process.terminate()
            raise
    if process.returncode in (2, 3):  # the configuration is wrong, or a person must decide: do not retry
        raise AirflowFailException(f"qbcd ended with {process.returncode}")
    if process.returncode:
        raise RuntimeError(f"qbcd ended with {process.returncode}")


with DAG(
    dag_id="qbcd",
    schedule="*/10 * * * *",
    start_date=datetime(2026, 1, 1, tzinfo=timezone.utc),
    catchup=False,
    max_active_runs=1,  # never two polls at the same time
    default_args={"retries": 2, "retry_delay": timedelta(minutes=1)},
):
    PythonOperator(task_id="poll", python_callable=poll, execution_timeout=timedelta(hours=1))
