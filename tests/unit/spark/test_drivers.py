"""The search for a JDBC driver and for Java: each step alone, and the one error if all fail."""

from __future__ import annotations

import hashlib
import stat
import subprocess
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from qbcd.connectors.base import JdbcDriver
from qbcd.errors import ConfigError, EnvironmentMissing
from qbcd.spark.drivers import find_driver, jar_problem, user_cache
from qbcd.spark.java import Surroundings, require_java, resolve_maven
from qbcd.spark.session import FIRST_COMPILER, FIXED, SHORT_ROWS, session_settings

DRIVER = JdbcDriver(
    driver_class="org.example.Driver",
    maven="org.example:exdb:42.7.7",
    jar_names=("exdb-*.jar", "exdb.jar"),
    debian="libexdb-java",
    safe_from=("42.5.5", "42.7.2"),
)
Answer = Callable[[Sequence[str]], "subprocess.CompletedProcess[str]"]


@dataclass
class Machine:
    """A machine made of folders; its commands answer as the test says and are recorded."""

    root: Path
    answers: dict[str, Answer] = field(default_factory=dict)
    commands: list[list[str]] = field(default_factory=list)
    root_on_debian: bool = False

    def __post_init__(self) -> None:
        for name in ("bin", "java", "cache"):
            (self.root / name).mkdir()

    @property
    def cache(self) -> Path:
        return self.root / "cache"

    @property
    def around(self) -> Surroundings:
        return Surroundings(
            environ={"PATH": str(self.root / "bin")},
            system_folders=(self.root / "java",),
            run=self.run,
            may_install=lambda: self.root_on_debian,
        )

    def program(self, name: str, answer: Answer) -> None:
        path = self.root / "bin" / name
        path.write_text("#!/bin/sh\n")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        self.answers[name] = answer

    def run(
        self, command: Sequence[str], environ: Mapping[str, str], timeout: float
    ) -> subprocess.CompletedProcess[str]:
        self.commands.append(list(command))
        answer = self.answers.get(Path(command[0]).name)
        if answer is None:
            raise FileNotFoundError(f"no {command[0]}")
        return answer(command)

    def find(self, configured: Path | None = None, driver: JdbcDriver = DRIVER) -> tuple[str, str]:
        source = find_driver(driver, configured=configured, cache=self.cache, around=self.around)
        return source.jar.name, source.origin


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def done(code: int = 0, stdout: str = "", stderr: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.CompletedProcess([], code, stdout, stderr)


def make_jar(path: Path, *, version: str = "", driver_class: str = DRIVER.driver_class) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as jar:
        if version:
            jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\nBundle-Version: {version}\r\n")
        jar.writestr(driver_class.replace(".", "/") + ".class", b"\xca\xfe\xba\xbe")
    return path


def offer_maven(machine: Machine, **jar: str) -> None:
    """Make a resolver that leaves the artifact, and a dependency of it, where Spark's does."""

    def submit(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        settings = dict(text.split("=", 1) for text in command if text.startswith("spark."))
        assert settings["spark.jars.packages"] == DRIVER.maven
        folder = Path(settings["spark.jars.ivy"]) / "jars"
        make_jar(folder / "org.example_exdb-42.7.7.jar", **jar)
        make_jar(folder / "org.other_checker-1.0.jar", driver_class="org.other.Checker")
        return done()

    machine.program("java", lambda _: done(stderr='openjdk version "17.0.15" 2025-04-15'))
    machine.answers["spark-submit"] = submit


def test_configured_path_comes_first(machine: Machine) -> None:
    make_jar(machine.cache / "jars" / "exdb-42.7.7.jar")
    assert machine.find(make_jar(machine.root / "mine.jar")) == ("mine.jar", "configured")


@pytest.mark.parametrize(("content", "says"), [(None, "does not exist"), (b"no zip", "cannot be read as a jar")])
def test_configured_path_must_be_a_jar_of_the_driver(machine: Machine, content: bytes | None, says: str) -> None:
    make_jar(machine.cache / "jars" / "exdb-42.7.7.jar")
    path = machine.root / "mine.jar"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ConfigError, match=f"mine.jar {says}.*correct the path"):
        machine.find(path)


def test_configured_jar_of_another_driver_is_refused(machine: Machine) -> None:
    with pytest.raises(ConfigError, match=r"does not contain org\.example\.Driver"):
        machine.find(make_jar(machine.root / "mine.jar", driver_class="org.other.Driver"))


def test_cache_comes_before_the_system(machine: Machine) -> None:
    make_jar(machine.cache / "jars" / "exdb-42.7.7.jar")
    make_jar(machine.root / "java" / "exdb.jar")
    assert machine.find() == ("exdb-42.7.7.jar", "cache")


def test_system_folder_works_without_cache_and_network(machine: Machine) -> None:
    make_jar(machine.root / "java" / "exdb.jar", version="42.5.5")
    assert machine.find() == ("exdb.jar", "system")
    assert not machine.commands


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a_changed_jar_in_the_cache_is_passed_over(machine: Machine) -> None:
    cached = make_jar(machine.cache / "jars" / "exdb-42.7.7.jar")
    driver = replace(DRIVER, sha256=sha256(cached))
    assert machine.find(driver=driver) == ("exdb-42.7.7.jar", "cache")
    make_jar(cached, version="42.7.7")
    make_jar(machine.root / "java" / "exdb.jar", version="42.8.1")
    assert machine.find(driver=driver) == ("exdb.jar", "system"), "a jar of another name is of the administrator"
    with pytest.raises(EnvironmentMissing, match=r"exdb-42\.7\.7\.jar has the SHA-256 .* and not") as caught:
        machine.find(driver=replace(driver, pinned=True))
    assert "exdb.jar has the SHA-256" in str(caught.value)


def test_the_checksum_of_the_configuration_is_that_of_any_jar(machine: Machine) -> None:
    jar = make_jar(machine.root / "mine.jar")
    pinned = replace(DRIVER, sha256=sha256(jar), pinned=True)
    assert machine.find(jar, pinned) == ("mine.jar", "configured")
    with pytest.raises(ConfigError, match=r"mine\.jar has the SHA-256 .*download the jar again"):
        machine.find(make_jar(jar, version="42.9.0"), pinned)


def test_a_jar_of_maven_with_another_checksum_is_not_kept(machine: Machine) -> None:
    offer_maven(machine)
    with pytest.raises(EnvironmentMissing, match=r"Maven org\.example:exdb:42\.7\.7: SHA-256 of .* is not 00"):
        machine.find(driver=replace(DRIVER, sha256="00" * 32))
    assert not list(machine.cache.rglob("exdb-42.7.7.jar"))
    wanted = sha256(make_jar(machine.root / "same.jar"))
    assert machine.find(driver=replace(DRIVER, sha256=wanted)) == ("exdb-42.7.7.jar", "maven")


def test_newest_jar_of_a_folder_is_taken(machine: Machine) -> None:
    for version in ("42.7.9", "42.7.10", "42.7.2"):
        make_jar(machine.cache / "jars" / f"exdb-{version}.jar")
    assert machine.find() == ("exdb-42.7.10.jar", "cache")


def test_unsafe_and_torn_jars_are_passed_over_and_named(machine: Machine) -> None:
    make_jar(machine.cache / "jars" / "exdb-42.7.1.jar")
    (machine.cache / "jars" / "exdb-43.0.0.jar").write_bytes(b"torn")
    make_jar(machine.root / "java" / "exdb.jar", version="42.5.5")
    source = find_driver(DRIVER, configured=None, cache=machine.cache, around=machine.around)
    assert source.origin == "system"
    assert any("exdb-42.7.1.jar is version 42.7.1, which has a known security hole" in p for p in source.passed_over)
    assert any("exdb-43.0.0.jar cannot be read as a jar" in p for p in source.passed_over)


@pytest.mark.parametrize(
    ("version", "safe"),
    [
        ("42.5.4", False),
        ("42.5.5", True),
        ("42.6.0", False),  # a line without a safe release, between two that have one
        ("42.7.1", False),
        ("42.7.2", True),
        ("42.7.10", True),
        ("42.8.0", True),
        ("9.4.1212", False),
        ("43.0", True),
    ],
)
def test_safe_versions(tmp_path: Path, version: str, safe: bool) -> None:
    by_name = make_jar(tmp_path / f"exdb-{version}.jar")
    by_manifest = make_jar(tmp_path / "exdb.jar", version=version)
    assert [not jar_problem(jar, DRIVER) for jar in (by_name, by_manifest)] == [safe, safe]


def test_unknown_version_is_accepted(tmp_path: Path) -> None:
    assert jar_problem(make_jar(tmp_path / "exdb.jar"), DRIVER) == ""


def test_jars_of_maven_are_kept_for_the_next_run(machine: Machine) -> None:
    offer_maven(machine)
    assert machine.find() == ("exdb-42.7.7.jar", "maven")
    machine.answers.clear()  # no network, no Java
    assert machine.find() == ("exdb-42.7.7.jar", "cache")
    assert [path.name for path in (machine.cache / "jars").iterdir()] == ["exdb-42.7.7.jar"]


def test_maven_settings_of_the_user_reach_the_resolver(machine: Machine) -> None:
    offer_maven(machine)
    conf = {"spark.jars.repositories": "https://mirror.example/m2", "spark.executor.memory": "1g"}
    resolve_maven(DRIVER.maven, machine.cache / "ivy", around=replace(machine.around, spark_conf=conf))
    command = machine.commands[-1]
    assert "spark.jars.repositories=https://mirror.example/m2" in command
    assert not any("spark.executor.memory" in part for part in command)


def test_package_is_installed_when_root_on_debian(machine: Machine) -> None:
    machine.root_on_debian = True

    def apt(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        if command[1] == "update":
            return done()
        if ["apt-get", "update"] not in machine.commands:
            return done(100, stderr="E: Unable to locate package libexdb-java")
        make_jar(machine.root / "java" / "exdb.jar", version="42.5.5")
        return done()

    machine.program("apt-get", apt)
    assert machine.find() == ("exdb.jar", "package")
    assert [command[1] for command in machine.commands if command[0] == "apt-get"] == ["install", "update", "install"]


def test_no_package_is_installed_for_others(machine: Machine) -> None:
    machine.program("apt-get", lambda _: done())
    with pytest.raises(EnvironmentMissing, match="run: sudo apt-get install libexdb-java"):
        machine.find()
    assert not [command for command in machine.commands if command[0] == "apt-get"]


def test_one_error_names_every_step(machine: Machine) -> None:
    machine.root_on_debian = True
    machine.program("java", lambda _: done(stderr='openjdk version "17.0.15" 2025-04-15'))
    said = "::::\n:: UNRESOLVED DEPENDENCIES ::\n:: org.example#exdb;42.7.7: not found\n::::\n\tat org.apache.spark"
    machine.answers["spark-submit"] = lambda _: done(1, stderr=said)
    machine.program("apt-get", lambda _: done(100, stderr="E: Could not get lock\n"))
    make_jar(machine.root / "java" / "exdb-42.5.4.jar")
    with pytest.raises(EnvironmentMissing) as caught:
        machine.find()
    text = str(caught.value)
    assert text.startswith("no usable jar of the JDBC driver org.example.Driver was found; tried:")
    lines = [line for line in text.splitlines() if line.startswith("  - ")]
    assert len(lines) == 5
    for line, parts in zip(
        lines,
        [
            ("configured path", "none is set"),
            (str(machine.cache / "jars"), "no exdb-*.jar or exdb.jar", "copy the driver's jar"),
            (str(machine.root / "java"), "exdb-42.5.4.jar is version 42.5.4", "install the package libexdb-java"),
            ("Maven org.example:exdb:42.7.7", "org.example#exdb;42.7.7: not found", "allow access"),
            ("package libexdb-java", "Could not get lock"),
        ],
        strict=True,
    ):
        assert all(part in line for part in parts), line


def test_maven_step_without_java_leaves_a_line(machine: Machine) -> None:
    with pytest.raises(EnvironmentMissing, match=r"Maven org\.example:exdb:42\.7\.7: there is no Java"):
        machine.find()


def test_real_resolver_failure_is_one_line(machine: Machine, tmp_path: Path) -> None:
    """Spark's own resolver, at a repository that is an empty folder."""
    (tmp_path / "m2").mkdir()
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        "<ivysettings><settings defaultResolver='here'/><resolvers><ibiblio name='here' m2compatible='true' "
        f"root='{(tmp_path / 'm2').as_uri()}/'/></resolvers></ivysettings>"
    )
    around = Surroundings(spark_conf={"spark.jars.ivySettings": str(settings)})
    with pytest.raises(EnvironmentMissing, match="could not be resolved") as caught:
        resolve_maven(DRIVER.maven, machine.cache / "ivy", around=around)
    assert "exdb" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_real_resolver_brings_an_artifact(machine: Machine, tmp_path: Path) -> None:
    """Spark's own resolver, at a repository of one artifact on this disk."""
    folder = tmp_path / "m2" / "org" / "example" / "exdb" / "42.7.7"
    make_jar(folder / "exdb-42.7.7.jar", version="42.7.7")
    (folder / "exdb-42.7.7.pom").write_text(
        "<project><modelVersion>4.0.0</modelVersion><groupId>org.example</groupId><artifactId>exdb</artifactId>"
        "<version>42.7.7</version></project>"
    )
    settings = tmp_path / "ivysettings.xml"
    settings.write_text(
        "<ivysettings><settings defaultResolver='here'/><resolvers><ibiblio name='here' m2compatible='true' "
        f"root='{(tmp_path / 'm2').as_uri()}/'/></resolvers></ivysettings>"
    )
    around = Surroundings(system_folders=(), spark_conf={"spark.jars.ivySettings": str(settings)})
    source = find_driver(DRIVER, configured=None, cache=machine.cache, around=around)
    assert (source.origin, source.jar) == ("maven", machine.cache / "jars" / "exdb-42.7.7.jar")


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"XDG_CACHE_HOME": "/c", "HOME": "/h"}, "/c/qbcd"),
        ({"XDG_CACHE_HOME": "relative", "HOME": "/h"}, "/h/.cache/qbcd"),
        ({"HOME": "/h"}, "/h/.cache/qbcd"),
    ],
)
def test_user_cache_follows_xdg(environ: dict[str, str], expected: str) -> None:
    assert user_cache(environ) == Path(expected)


def test_missing_java_names_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=r"no Java.*install Java 17 or later.*JAVA_HOME"):
        require_java(Surroundings(environ={"PATH": str(tmp_path)}))


def test_java_home_without_java_is_named(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentMissing, match=r"JAVA_HOME is .*no bin/java"):
        require_java(Surroundings(environ={"PATH": "/usr/bin", "JAVA_HOME": str(tmp_path)}))


@pytest.mark.parametrize(
    ("said", "fails"),
    [
        ('openjdk version "17.0.15"', ""),
        ('java version "21"', ""),
        ('java version "1.8.0_402"', "is Java 8"),
        ('openjdk version "11.0.2"', "is Java 11"),
        ("segmentation fault", "-version failed"),
    ],
)
def test_java_version(machine: Machine, said: str, fails: str) -> None:
    machine.program("java", lambda _: done(stderr=said))
    if not fails:
        assert require_java(machine.around).name == "java"
        return
    with pytest.raises(EnvironmentMissing, match=fails):
        require_java(machine.around)


@dataclass
class Settings:
    master: str = "local[2]"
    conf: dict[str, str] = field(default_factory=dict)


def test_session_settings_keep_the_users_and_fix_ours() -> None:
    conf = {"spark.ui.enabled": "true", "spark.jars": "/a.jar", "spark.driver.extraJavaOptions": "-Xss4m"}
    made = session_settings(Settings(conf=conf), [Path("/b.jar"), Path("/a.jar")], cores=2)
    assert made["spark.ui.enabled"] == "true"
    assert made["spark.jars"] == "/a.jar,/b.jar"
    assert made["spark.driver.extraJavaOptions"].startswith("-Duser.timezone=UTC ")
    assert made["spark.driver.extraJavaOptions"].endswith(" -Xss4m")
    assert made["spark.sql.shuffle.partitions"] == "2"
    assert "spark.sql.shuffle.partitions" not in session_settings(Settings("spark://host:7077"), [], cores=2)
    assert made.items() >= FIXED.items()


def test_a_collector_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)

    def options(conf: dict[str, str]) -> str:
        return session_settings(Settings(conf=conf), [])["spark.driver.extraJavaOptions"]

    assert "-XX:+UseParallelGC" in options({"spark.driver.extraJavaOptions": "-XX:+UseStringDeduplication"})
    for name in ("spark.driver.extraJavaOptions", "spark.driver.defaultJavaOptions"):
        assert "Parallel" not in options({name: "-Xss4m -XX:+UseG1GC"})
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:+UseSerialGC")
    assert "Parallel" not in options({})


def test_short_work_takes_javas_first_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)

    def options(rows: int | None, master: str = "local[2]", **conf: str) -> str:
        settings = Settings(master, {f"spark.driver.{name}": value for name, value in conf.items()})
        return session_settings(settings, [], rows=rows)["spark.driver.extraJavaOptions"]

    assert FIRST_COMPILER in options(1000)
    assert FIRST_COMPILER in options(SHORT_ROWS)
    assert FIRST_COMPILER not in options(SHORT_ROWS + 1)
    assert FIRST_COMPILER not in options(None)
    of_cluster = session_settings(Settings("spark://host:7077", {}), [], rows=1000)
    assert all(FIRST_COMPILER in of_cluster[f"spark.{side}.extraJavaOptions"] for side in ("driver", "executor"))
    assert options(1000, extraJavaOptions="-XX:TieredStopAtLevel=3").count("TieredStopAtLevel") == 1
    for users in ("-XX:-TieredCompilation", "-XX:Tier4InvocationThreshold=9", "-Xint", "-XX:+UseJVMCICompiler"):
        assert FIRST_COMPILER not in options(1000, defaultJavaOptions=users)
    assert options(1000, extraJavaOptions="-XX:MetaspaceSize=64m").count("MetaspaceSize") == 1
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-XX:TieredStopAtLevel=4")
    assert FIRST_COMPILER not in options(1000)


def test_session_settings_that_would_break_us_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"timeZone is Europe/Paris, but qbcd needs UTC \(remove"):
        session_settings(Settings(conf={"spark.sql.session.timeZone": "Europe/Paris"}), [])
