"""The Java process of qbcd.

No secret on its command line, classes from an archive if there is one.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import qbcd
from qbcd.spark.class_data_sharing import archive_of, options
from qbcd.spark.drivers import user_cache
from qbcd.spark.java import require_java
from tests.support import sql
from tests.support.project import config

SECRET = "tok3n = a:b #! \\ \N{LATIN SMALL LETTER E WITH ACUTE} 'x' \"y\""
SCRIPT = """
import os, sys
from pathlib import Path
import qbcd
from qbcd.api import parts_of
with qbcd.open() as project:
    stream = project.stream("t")
    stream.prepare()
    project.run(once=True)
    context = parts_of(project).spark.get().sparkContext
    java = Path("/proc") / str(context._jvm.java.lang.ProcessHandle.current().pid())
    assert context._jsc.hadoopConfiguration().get("own.secret.key") == os.environ["SECRET"]
    assert context._jvm.java.lang.System.getProperty("own") == "1"
    assert "tok3n" not in (java / "cmdline").read_text()
    print(sys.argv[1] in (java / "maps").read_text())
"""


@pytest.mark.parametrize("keeps", [False, pytest.param(True, marks=pytest.mark.campaign)])
def test_arguments_and_archive_of_java(keeps: bool, database: str, workspace: Path) -> None:
    """Making the archive takes as long as all the rest; on a path with a blank there is none."""
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
    conf = {"spark.hadoop.own.secret.key": "${env:SECRET}", "spark.driver.extraJavaOptions": "-Down=1"}
    written = config(database, {"table": "public.t", "name": "t", "strategy": "id_rcs"}, spark={"conf": conf})
    (workspace / "qbcd.yaml").write_text(yaml.safe_dump(written))
    cache = workspace.parent / ("cache" if keeps else "no archive")
    (cache / "qbcd").mkdir(parents=True)
    (cache / "qbcd" / "jars").symlink_to(user_cache() / "jars")
    archive = archive_of(require_java(), cache / "qbcd")
    root = str(Path(qbcd.__file__).resolve().parents[1])
    variables = {**os.environ, "XDG_CACHE_HOME": str(cache), "SECRET": SECRET, "PYTHONPATH": root}

    def run() -> str:
        command = [sys.executable, "-c", SCRIPT, str(archive)]
        done = subprocess.run(command, cwd=workspace, env=variables, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert run() == "False\n"  # and nothing from Java
    if not keeps:
        assert not archive.exists()
        return
    assert [path.name for path in archive.parent.iterdir()] == [archive.name]
    sql(database, "UPDATE t SET v = 1")
    assert run() == "True\n"


def test_options_of_an_archive(tmp_path: Path) -> None:
    assert options(tmp_path / "with space" / "a.jsa", ()) == "", "Java's command takes it for two words"
    archive = tmp_path / "cache" / "a.jsa"
    assert f'"-Dqbcd.classes={archive}"' in options(archive, ())
    archive.parent.mkdir()
    archive.touch()
    assert f'"-XX:SharedArchiveFile={archive}"' in options(archive, ("-Xmx2g", ""))
    for said in ("-Xshare:off", "-XX:SharedArchiveFile=/own.jsa", "-XX:ArchiveClassesAtExit=/own.jsa"):
        assert options(archive, ("", said)) == ""


STARTS = """
import os, time
from qbcd.config.models import SparkConfig
from qbcd.spark.session import launch

os.register_at_fork(after_in_child=lambda: time.sleep(3600))  # as a library whose threads did not come along
launch(SparkConfig(master="local[1]"), [])
print("started")
"""


def test_no_code_runs_between_fork_and_exec() -> None:
    ran = subprocess.run([sys.executable, "-c", STARTS], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout == "started\n", ran.stderr
