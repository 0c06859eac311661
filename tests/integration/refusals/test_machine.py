"""A machine without driver or Java, or with an unfit Spark session: one message, no change."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import qbcd
import qbcd.project.engines
import qbcd.spark.session
from qbcd.api import parts_of
from qbcd.connectors.postgresql import PostgreSQL
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import ConfigError, EnvironmentMissing, Refused
from qbcd.spark.java import Surroundings
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JAVA = "(install Java 17 or later, on Debian: apt-get install openjdk-17-jre-headless, or set JAVA_HOME)"


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("machine") / "project") as made:
        made.sql("CREATE TABLE orders (id int PRIMARY KEY, x text); INSERT INTO orders VALUES (1, 'a')")
        yield made


def opened(place: Place, session: SparkSession | None = None, **more: Any) -> qbcd.Project:
    table = {"name": "id_rcs", "table": "public.orders", "strategy": "id_rcs", "engine": "spark"}
    written = config(place.admin, table, **more)
    return qbcd.Project.from_dict(written, spark=session, base_dir=place.folder)


def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the run's Spark session, and prevent the start of one."""
    monkeypatch.setattr(qbcd.spark.provider, "running_session", lambda: None)
    monkeypatch.setattr(qbcd.spark.provider, "create_session", lambda settings, drivers: pytest.fail("started"))


def test_no_driver_jar_anywhere(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_session(monkeypatch)
    around = partial(
        Surroundings, environ={"PATH": str(tmp_path)}, system_folders=(tmp_path / "java",), may_install=lambda: False
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(qbcd.project.engines, "Surroundings", around)
    with opened(place) as project:
        assert parts_of(project).state.project_id
        message = place.refused(project.stream("id_rcs").prepare, EnvironmentMissing, 2)
    driver = PostgreSQL.driver
    lines = message.replace(str(tmp_path), "TMP").splitlines()
    assert lines[0] == "no usable jar of the JDBC driver org.postgresql.Driver was found; tried:"
    assert [line.partition(": ")[0] for line in lines[1:-1]] == [
        "  - configured path",
        "  - TMP/cache/qbcd/jars",
        "  - TMP/java",
        f"  - Maven {driver.maven}",
        "  - package libpostgresql-jdbc-java",
    ]
    assert lines[-1] == (f" (one of these is enough; by hand: put {driver.maven} from Maven into TMP/cache/qbcd/jars)")


def test_a_configured_jar_that_is_not_a_jar(place: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_session(monkeypatch)
    jar = tmp_path / "driver.jar"
    jar.write_text("no jar")
    with opened(place, spark={"driver_jar": str(jar)}) as project:
        assert parts_of(project).state.project_id
        assert place.refused(project.stream("id_rcs").prepare, ConfigError, 2) == (
            f"spark.driver_jar: the JDBC driver jar {jar} cannot be read as a jar: File is not a zip file "
            "(correct the path, or remove it to have qbcd search)"
        )


SCRIPT = """
import sys, qbcd
try:
    with qbcd.open("qbcd.yaml") as project:
        project.stream(sys.argv[1]).prepare()
except qbcd.QbcdError as error:
    print(type(error).__name__, error.exit_code, error)
"""


@pytest.mark.parametrize("home", ["", "/no/such/home"])
def test_no_java(place: Place, home: str) -> None:
    """In a process of its own: mds prepares without Java, id_rcs is refused."""
    tables = [{"name": s, "table": "public.orders", "strategy": s, "engine": "spark"} for s in STRATEGIES]
    (place.folder / "qbcd.yaml").write_text(yaml.safe_dump(config(place.admin, *tables)))
    variables = {**os.environ, "PATH": str(place.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    variables.pop("JAVA_HOME", None)
    if home:
        variables["JAVA_HOME"] = home

    def run(strategy: str) -> None:
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, strategy],
            cwd=place.folder,
            env=variables,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.stderr == ""
        said.append(done.stdout.strip())

    said: list[str] = []
    run("mds")
    assert said == [""]
    with place.unmoved():
        run("id_rcs")
    what = (
        f"JAVA_HOME is {home}, but there is no bin/java in it"
        if home
        else "there is no Java: JAVA_HOME is not set and java is not on the PATH"
    )
    assert said[1] == f"EnvironmentMissing 2 {what} {JAVA}"


def checked(project: qbcd.Project) -> list[str]:
    """Return the errors that `check` finds about Spark."""
    return [str(finding.error) for finding in project.check() if finding.subject == "Spark"]


def test_a_folder_of_one_stream_that_cannot_be_written(place: Place) -> None:
    """Check that `check` names a stream folder that cannot be written in a writable workdir."""
    with opened(place, None) as project:
        (stream,) = (one for one in project.streams if one.name == "id_rcs")
        folder = parts_of(project).open_stream(stream.name).site.context.folder
        assert folder is not None
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.write_text("")
        try:
            found = [finding for finding in project.check() if finding.subject == "workdir"]
        finally:
            folder.unlink()
        assert [(finding.level, finding.stream) for finding in found] == [("ok", ""), ("error", "id_rcs")]
        said = "cannot be written: Not a directory (check its owner, rights and free space)"
        assert str(found[1].error) == f"stream id_rcs: workdir {folder} {said}"


def test_a_session_in_another_time_zone(place: Place, spark: SparkSession) -> None:
    other = spark.newSession()
    other.conf.set("spark.sql.session.timeZone", "Europe/Berlin")
    with opened(place, other) as project:
        assert parts_of(project).state.project_id
        message = (
            "the Spark session passed to qbcd has spark.sql.session.timeZone Europe/Berlin, not UTC: timestamps would "
            'shift (spark.conf.set("spark.sql.session.timeZone", "UTC"))'
        )
        assert place.refused(project.stream("id_rcs").prepare, Refused, 3) == message
        assert checked(project) == [message]


def test_a_session_without_the_driver(place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qbcd.spark.session.has_class", lambda session, name: False)
    with opened(place, spark) as project:
        assert parts_of(project).state.project_id
        message = (
            "the Spark session passed to qbcd cannot load the JDBC driver org.postgresql.Driver "
            "(start it with the driver in spark.jars or spark.jars.packages)"
        )
        assert place.refused(project.stream("id_rcs").prepare, Refused, 3) == message
        assert checked(project) == [message]


def test_a_fit_session_and_none_at_all_are_no_finding(place: Place, spark: SparkSession) -> None:
    for session in (spark, None):
        with opened(place, session) as project:
            assert checked(project) == []


def test_an_error_while_spark_is_needed_leaves_the_stream_as_it_was(
    place: Place, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver is missing only when rows must travel; the next poll finds the same change."""
    with opened(place, spark) as project:
        project.stream("id_rcs").prepare()
        place.sql("UPDATE orders SET x = 'changed' WHERE id = 1")
    with monkeypatch.context() as patched, opened(place, spark) as project:
        patched.setattr("qbcd.spark.session.has_class", lambda session, name: False)
        place.refused(lambda: polled(project, "id_rcs"), Refused, 3)
    with opened(place, spark) as project:
        assert polled(project, "id_rcs") == [{"u": 1}]
