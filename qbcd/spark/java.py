"""Requirements of Spark on this machine: Java, and a way to fetch jars."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from qbcd.config.masking import credentials_masked
from qbcd.errors import EnvironmentMissing

JAVA_FLOOR = 17
SYSTEM_FOLDER = Path("/usr/share/java")
RESOLVER_SETTINGS = frozenset({"spark.jars.repositories", "spark.jars.ivySettings"})
Run = Callable[[Sequence[str], Mapping[str, str], float], "subprocess.CompletedProcess[str]"]
_CAUSE = re.compile("unresolved dependency|not found|UnknownHost|Exception|ERRORS")


def run_command(command: Sequence[str], environ: Mapping[str, str], timeout: float) -> subprocess.CompletedProcess[str]:
    """Run `command` to its end and capture its output.

    Raises:
        OSError, subprocess.TimeoutExpired: The command did not run or did not end.
    """
    return subprocess.run(
        list(command), env=dict(environ), timeout=timeout, capture_output=True, text=True, errors="replace", check=False
    )


@dataclass(frozen=True)
class Surroundings:
    """Everything outside the process that the search uses; tests pass their own.

    Attributes:
        system_folders: The folders of the system's packages for jars.
        may_install: Returns True if the system's package may be installed: root on a Debian system.
        spark_conf: The user's Spark settings; those of the resolver (mirrors, ``spark.jars.ivySettings``) apply.
    """

    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    system_folders: tuple[Path, ...] = (SYSTEM_FOLDER,)
    run: Run = run_command
    may_install: Callable[[], bool] = lambda: os.geteuid() == 0 and Path("/etc/debian_version").exists()
    spark_conf: Mapping[str, str] = field(default_factory=dict)


def resolve_maven(coordinates: str, ivy: Path, *, around: Surroundings | None = None) -> list[Path]:
    """Download `coordinates` (``group:artifact:version``) with Spark's own resolver.

    Args:
        ivy: Folder for the resolver's own files.
        around: The machine; tests pass another.

    Returns:
        Local paths of the artifact's jars, without its dependencies.

    Raises:
        EnvironmentMissing: There is no Java, or the resolver failed.
        OSError, subprocess.TimeoutExpired: The command did not run or did not end.
    """
    group, artifact, version = coordinates.split(":")
    name = f"{group}_{artifact}-{version}"
    return [jar for jar in resolve_packages([coordinates], ivy, around=around) if jar.name.startswith(name)]


def resolve_packages(
    packages: Sequence[str], ivy: Path, *, around: Surroundings | None = None, left_out: Sequence[str] = ()
) -> list[Path]:
    """Download packages and what they depend on with Spark's own resolver.

    It runs a short spark-submit with ``spark.jars.packages`` before the session exists, so that a failure ends a step
    of the search and not the session. Spark's defaults file, with its mirrors, applies.

    Args:
        packages: Coordinates, ``group:artifact:version``.
        ivy: Folder for the resolver's own files.
        around: The machine; tests pass another.
        left_out: ``group:artifact`` of dependencies that are not wanted.

    Returns:
        All jars in the folder, also those of earlier calls.

    Raises:
        EnvironmentMissing: There is no Java, or the resolver failed.
        OSError, subprocess.TimeoutExpired: The command did not run or did not end.
    """
    from pyspark.find_spark_home import _find_spark_home

    around = around or Surroundings()
    require_java(around)
    home = Path(_find_spark_home())
    ivy.mkdir(parents=True, exist_ok=True, mode=0o700)
    # Spark's script calls PYSPARK_PYTHON to run the program.
    variables = {**around.environ, "SPARK_HOME": str(home), "PYSPARK_PYTHON": sys.executable}
    with tempfile.TemporaryDirectory(prefix="qbcd-") as folder:
        program = Path(folder) / "nothing.py"
        program.write_text("# The packages are resolved before this runs.\n", encoding="utf-8")
        mirrors = {name: value for name, value in around.spark_conf.items() if name in RESOLVER_SETTINGS}
        settings = mirrors | {
            "spark.jars.packages": ",".join(packages),
            "spark.jars.ivy": str(ivy),
            "spark.master": "local[1]",
        }
        if left_out:
            settings["spark.jars.excludes"] = ",".join(left_out)
        command = [str(home / "bin" / "spark-submit")]
        for name, value in settings.items():
            command += ["--conf", f"{name}={value}"]
        done = around.run([*command, str(program)], variables, 180)
    group, artifact, version = packages[0].split(":")
    if done.returncode or not list((ivy / "jars").glob(f"{group}_{artifact}-{version}*.jar")):
        raise EnvironmentMissing(f"could not be resolved: {_cause(done.stderr + done.stdout)}")
    return sorted((ivy / "jars").glob("*.jar"))


def require_java(around: Surroundings | None = None) -> Path:
    """Return the path of the ``java`` that Spark will run.

    Raises:
        EnvironmentMissing: There is none, it does not run, or it is older than Java 17.
    """
    around = around or Surroundings()
    remedy = f"install Java {JAVA_FLOOR} or later, on Debian: apt-get install openjdk-17-jre-headless, or set JAVA_HOME"
    home = around.environ.get("JAVA_HOME", "")
    if home:
        java: Path | None = Path(home) / "bin" / "java"
        if java is not None and not os.access(java, os.X_OK):
            raise EnvironmentMissing(f"JAVA_HOME is {home}, but there is no bin/java in it", remedy=remedy)
    else:
        found = shutil.which("java", path=around.environ.get("PATH", ""))
        java = Path(found) if found else None
    if java is None:
        raise EnvironmentMissing("there is no Java: JAVA_HOME is not set and java is not on the PATH", remedy=remedy)
    try:
        done = around.run([str(java), "-version"], around.environ, 60)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentMissing(f"{java} does not run: {one_line(error)}", remedy=remedy) from error
    version = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    if done.returncode or version is None:
        raise EnvironmentMissing(f"{java} -version failed: {last_line(done.stderr)}", remedy=remedy)
    if int(version.group(1)) < JAVA_FLOOR:
        raise EnvironmentMissing(f"{java} is Java {version.group(1)}, Spark needs {JAVA_FLOOR} or later", remedy=remedy)
    return java


def one_line(error: BaseException) -> str:
    """Return an error's text on one line."""
    return " ".join(str(error).split())


def last_line(text: str) -> str:
    """Return the last line of a command's output that is not empty."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "it printed nothing")


def _cause(output: str) -> str:
    """Return the most informative line of a failed download's output, with passwords masked."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    causes = [line for line in lines if _CAUSE.search(line)]
    return credentials_masked((causes or lines or ["it printed nothing"])[-1].strip(":; "))
