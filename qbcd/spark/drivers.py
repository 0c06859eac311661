"""Search for the jar of a JDBC driver.

Places, in this order: the configured path, the user's cache, the system's Java folder, Maven, the system's package. A
jar from Maven is kept in the cache, so that the next run needs no network.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import subprocess
import uuid
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from qbcd.connectors.base import JdbcDriver
from qbcd.errors import ConfigError, EnvironmentMissing
from qbcd.spark.java import Surroundings, last_line, one_line, resolve_maven

Origin = Literal["configured", "cache", "system", "maven", "package"]
MANIFEST = "META-INF/MANIFEST.MF"


class Wanted(NamedTuple):
    """A JDBC driver that sources need.

    Attributes:
        place: File, line and key of the configuration that names the jar.
    """

    driver: JdbcDriver
    jar: Path | None = None
    place: str = ""


@dataclass(frozen=True)
class DriverSource:
    """A usable jar.

    Attributes:
        jar: Its local path.
        passed_over: Jars that were found and not used, each with the reason.
    """

    jar: Path
    origin: Origin
    passed_over: tuple[str, ...] = ()


def user_cache(environ: Mapping[str, str] | None = None) -> Path:
    """Return qbcd's cache of the user: ``$XDG_CACHE_HOME/qbcd``, by default ``~/.cache/qbcd``."""
    variables = os.environ if environ is None else environ
    named = variables.get("XDG_CACHE_HOME", "")
    # By the XDG standard a relative path in this variable is ignored.
    base = Path(named) if os.path.isabs(named) else Path(variables.get("HOME") or Path.home()) / ".cache"
    return base / "qbcd"


def find_driver(
    driver: JdbcDriver, *, configured: Path | None, cache: Path, around: Surroundings | None = None, place: str = ""
) -> DriverSource:
    """Return the jar of `driver` from the first place that has a usable one.

    Args:
        configured: The configured path; if set, no other place is tried.
        cache: The user's cache; jars are in its folder ``jars``, Maven's own files in ``ivy``.
        around: The machine; tests pass another.
        place: File, line and key of the configuration that names the path.

    Raises:
        ConfigError: The configured path is not a usable jar.
        EnvironmentMissing: No step found a jar; the message has one line per step.
    """
    if configured is not None:
        problem = jar_problem(configured, driver) or (checksum_problem(configured, driver) if driver.pinned else "")
        if problem:
            raise ConfigError(f"the JDBC driver jar {configured} {problem}", where=place, remedy=_remedy_of(problem))
        return DriverSource(configured, "configured")
    search = _Search(driver, cache, around or Surroundings())
    steps: tuple[tuple[Origin, Callable[[], Path | None]], ...] = (
        ("cache", search.in_cache),
        ("system", search.in_system),
        ("maven", search.at_maven),
        ("package", search.by_package),
    )
    for origin, step in steps:
        jar = step()
        if jar is not None:
            return DriverSource(jar, origin, tuple(search.passed_over))
    lines = "".join(f"\n  - {line}" for line in ["configured path: none is set", *search.tried])
    raise EnvironmentMissing(
        f"no usable jar of the JDBC driver {driver.driver_class} was found; tried:{lines}\n",
        remedy=f"one of these is enough; by hand: put {driver.maven or 'the jar'} from Maven into {cache / 'jars'}"
        if driver.maven
        else f"write `driver_jar` under `jdbc` of the source, or put the jar into {cache / 'jars'}",
    )


def _remedy_of(problem: str) -> str:
    """Return what to do about a configured jar."""
    if "SHA-256" in problem:
        return "download the jar again, or correct `sha256` if you know that this is the right jar"
    if "does not contain" in problem:
        return "correct the path, or the class in `driver` of a profile of your own; or remove the path"
    return "correct the path, or remove it to have qbcd search"


def driver_in(jar: Path, drivers: Sequence[JdbcDriver]) -> JdbcDriver | None:
    """Return the first of `drivers` whose class is in `jar`; None if there is none.

    None also if the jar cannot be read.
    """
    try:
        with zipfile.ZipFile(jar) as archive:
            names = set(archive.namelist())
    except (OSError, zipfile.BadZipFile):
        return None
    return next((d for d in drivers if _class_file(d) in names), None)


def _class_file(driver: JdbcDriver) -> str:
    return driver.driver_class.replace(".", "/") + ".class"


def jar_problem(jar: Path, driver: JdbcDriver) -> str:
    """Return the reason why `jar` cannot be used, as the end of a sentence, or an empty string."""
    try:
        with zipfile.ZipFile(jar) as archive:
            names = set(archive.namelist())
            manifest = archive.read(MANIFEST).decode("utf-8", "replace") if MANIFEST in names else ""
    except (FileNotFoundError, NotADirectoryError):
        return "does not exist"
    except (OSError, zipfile.BadZipFile) as error:
        return f"cannot be read as a jar: {error}"
    if _class_file(driver) not in names:
        return f"does not contain {driver.driver_class}"
    version = _version(manifest, jar.resolve().name)
    if version is not None and not _is_safe(version, driver.safe_from):
        text = ".".join(map(str, version))
        return f"is version {text}, which has a known security hole (safe from {', '.join(driver.safe_from)})"
    return ""


def checksum_problem(jar: Path, driver: JdbcDriver) -> str:
    """Return the reason why the content of `jar` is not the driver's, or an empty string.

    Without a pinned checksum, it is known of the jar with the coordinates' name alone.
    """
    if not driver.sha256 or not (driver.pinned or jar.name == _own_name(driver)):
        return ""
    found = _sha256(jar)
    return "" if found == driver.sha256 else f"has the SHA-256 {found} and not {driver.sha256}"


def _own_name(driver: JdbcDriver) -> str:
    """Return the name of the jar of the driver's coordinates."""
    artifact, _, version = driver.maven.partition(":")[2].partition(":")
    return f"{artifact}-{version}.jar"


class _Search:
    """One search: each step returns a jar, or returns None and adds a line to `tried`."""

    def __init__(self, driver: JdbcDriver, cache: Path, around: Surroundings) -> None:
        self.driver = driver
        self.cache = cache
        self.around = around
        self.tried: list[str] = []
        self.passed_over: list[str] = []

    def in_cache(self) -> Path | None:
        """Search the cache for a jar of an earlier run, or one that the user put there."""
        return self._in_folder(self.cache / "jars", f"copy the driver's jar into {self.cache / 'jars'}")

    def in_system(self) -> Path | None:
        """Search the system's folders for a jar of an installed package."""
        for folder in self.around.system_folders:
            install = f"install the package {self.driver.debian}" if self.driver.debian else "copy the jar into it"
            jar = self._in_folder(folder, install)
            if jar is not None:
                return jar
        return None

    def at_maven(self) -> Path | None:
        """Download the jar at the driver's Maven coordinates into the cache."""
        remedy = "allow access to a Maven repository"
        if not self.driver.maven:
            self.tried.append(
                "Maven: no coordinates are known; write `maven` and `sha256`, or `driver_jar`, under `jdbc`"
            )
            return None
        try:
            jars = resolve_maven(self.driver.maven, self.cache / "ivy", around=self.around)
            if self.driver.sha256:  # the jars that it depends on have no known checksum
                jars = [jar for jar in jars if jar.name.endswith(_own_name(self.driver))]
                if wrong := next((jar for jar in jars if _sha256(jar) != self.driver.sha256), None):
                    self.tried.append(f"Maven {self.driver.maven}: SHA-256 of {wrong} is not {self.driver.sha256}")
                    return None
            kept = [_keep(jar, self.cache / "jars", self.driver.maven) for jar in jars]
        except (EnvironmentMissing, OSError, subprocess.TimeoutExpired) as error:
            self.tried.append(f"Maven {self.driver.maven}: {one_line(error)}; {remedy}")
            return None
        for jar in kept:
            problem = jar_problem(jar, self.driver)
            if not problem:
                return jar
            self.passed_over.append(f"{jar} {problem}")
        problem = self.passed_over[-1] if kept else "no jar was downloaded"
        self.tried.append(f"Maven {self.driver.maven}: {problem}")
        return None

    def by_package(self) -> Path | None:
        """Install the system's package if this process may, and return its jar."""
        if not self.driver.debian:
            return None
        command = ["apt-get", "install", "-y", "--no-install-recommends", self.driver.debian]
        path = self.around.environ.get("PATH", "")
        if not self.around.may_install() or shutil.which(command[0], path=path) is None:
            self.tried.append(
                f"package {self.driver.debian}: not root on Debian; run: sudo {' '.join(command[:2])} {command[-1]}"
            )
            return None
        variables = {**self.around.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C"}
        try:
            done = self.around.run(command, variables, 300)
            if done.returncode and "Unable to locate" in done.stderr + done.stdout:
                self.around.run(["apt-get", "update"], variables, 300)
                done = self.around.run(command, variables, 300)
        except (OSError, subprocess.TimeoutExpired) as error:
            self.tried.append(f"package {self.driver.debian}: {one_line(error)}")
            return None
        if done.returncode:
            self.tried.append(f"package {self.driver.debian}: {' '.join(command)} failed: {last_line(done.stderr)}")
            return None
        return self.in_system()

    def _in_folder(self, folder: Path, remedy: str) -> Path | None:
        passed: list[str] = []
        for pattern in self.driver.jar_names:
            for jar in sorted(folder.glob(pattern), key=_newest_first):
                problem = jar_problem(jar, self.driver) or checksum_problem(jar, self.driver)
                if not problem:
                    return jar
                passed.append(f"{jar} {problem}")
                self.passed_over += [line for line in passed[-1:] if line not in self.passed_over]
        found = "; ".join(dict.fromkeys(passed)) or f"no {' or '.join(self.driver.jar_names)}"
        self.tried.append(f"{folder}: {found}; {remedy}")
        return None


def _sha256(jar: Path) -> str:
    return hashlib.sha256(jar.read_bytes()).hexdigest()


def _keep(jar: Path, folder: Path, coordinates: str) -> Path:
    """Copy `jar` into the cache by an atomic rename, under the artifact's own name."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    group = coordinates.split(":")[0]
    kept = folder / jar.name.removeprefix(f"{group}_")
    attempt = folder / f".{kept.name}.{uuid.uuid4().hex}.tmp"
    try:
        shutil.copyfile(jar, attempt)
        os.replace(attempt, kept)
    finally:
        attempt.unlink(missing_ok=True)
    return kept


def _version(manifest: str, name: str) -> tuple[int, ...] | None:
    """Return the version in a jar's manifest, or else in its name; None if neither has one."""
    for entry in ("Bundle-Version", "Implementation-Version"):
        match = re.search(rf"^{entry}:\s*(\d+(?:\.\d+)+)", manifest, re.MULTILINE)
        if match:
            return _numbers(match.group(1))
    match = re.search(r"-(\d+(?:\.\d+)+)", name)
    return _numbers(match.group(1)) if match else None


def _is_safe(version: tuple[int, ...], safe_from: Sequence[str]) -> bool:
    """Return True if `version` is at least its line's first safe release, or of a later line."""
    floors = {_numbers(floor)[:2]: _numbers(floor) for floor in safe_from}
    if not floors:
        return True
    own = floors.get(version[:2])
    return version >= own if own is not None else version > max(floors.values())


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))


def _newest_first(jar: Path) -> tuple[tuple[int, ...], str]:
    version = _version("", jar.name) or ()
    return tuple(-part for part in version), jar.name
