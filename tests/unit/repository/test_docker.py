"""Consistency of `docker/`: every name that one file uses is defined by another.

The names are files, secrets, volumes, hosts and paths.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from qbcd.config import ProjectConfig, load_config

ROOT = Path(__file__).resolve().parents[3]
DOCKER = ROOT / "docker"
SECRETS = "/run/secrets/"
CLIENTS = ("prepare", "qbcd")


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    with (DOCKER / "compose.yaml").open() as file:
        return dict(yaml.safe_load(file))


@pytest.fixture(scope="module")
def services(compose: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return dict(compose["services"])


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with secrets, as `secrets.sh` makes it."""
    folder = tmp_path_factory.mktemp("docker")
    shutil.copy(DOCKER / "secrets.sh", folder)
    subprocess.run([folder / "secrets.sh"], check=True)
    return folder / "secrets"


@pytest.fixture(scope="module")
def config(made: Path) -> ProjectConfig:
    """`docker/qbcd.yaml` as the container reads it, except for the place of the secrets."""
    file = made.parent / "qbcd.yaml"
    file.write_text((DOCKER / "qbcd.yaml").read_text().replace(SECRETS, f"{made}/"))
    return load_config(file)


def mounts(service: dict[str, Any]) -> dict[str, str]:
    """Return the source of each mount by its place in the container."""
    parts = [mount.split(":") for mount in service.get("volumes", [])]
    return {target: source for source, target, *_ in parts}


def compose_command() -> list[str] | None:
    """Return the command of Compose 2, a plugin of docker or a program; skip without one."""
    for command in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(command[0]):
            done = subprocess.run([*command, "version"], capture_output=True, text=True)
            if done.returncode == 0 and "Docker Compose version" in done.stdout:
                return command
    return None


def test_compose_takes_the_file() -> None:
    command = compose_command()
    if command is None:
        pytest.skip("Docker Compose 2 is not installed: docker/compose.yaml is only read as YAML")
    done = subprocess.run(
        [*command, "--file", DOCKER / "compose.yaml", "config", "--quiet"], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_files_that_are_named_are_there(services: dict[str, dict[str, Any]]) -> None:
    built = [service["build"] for service in services.values() if "build" in service]
    assert built
    for build in built:
        context = (DOCKER / build["context"]).resolve()
        assert context == ROOT
        assert (context / build["dockerfile"]).is_file()
    for service in services.values():
        for source in mounts(service).values():
            assert not source.startswith(".") or (DOCKER / source).is_file(), source


def test_the_image_is_made_of_files_that_are_there_and_not_left_out() -> None:
    kept = {line[1:] for line in (DOCKER / "Dockerfile.dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = re.findall(r"^COPY (.+) \S+$", (DOCKER / "Dockerfile").read_text(), re.MULTILINE)
    names = [name for line in copied for name in line.split()]
    assert "pyproject.toml" in names
    assert set(names) == kept
    assert all((ROOT / name).exists() for name in names)


def test_volumes_hosts_and_conditions_are_declared(
    compose: dict[str, Any], services: dict[str, dict[str, Any]]
) -> None:
    named = {s for service in services.values() for s in mounts(service).values() if not s.startswith(".")}
    assert named == set(compose["volumes"])
    for name, service in services.items():
        for other, wanted in service.get("depends_on", {}).items():
            healthy = wanted["condition"] == "service_healthy"
            assert ("healthcheck" in services[other]) == healthy, f"{name} on {other}"
    assert {name for name, service in services.items() if "healthcheck" not in service} == {"prepare"}


def test_secrets_are_made_by_the_script_and_given_to_who_reads_them(
    compose: dict[str, Any], services: dict[str, dict[str, Any]], made: Path
) -> None:
    files = {name: secret["file"] for name, secret in compose["secrets"].items()}
    assert files == {file.name: f"./secrets/{file.name}" for file in made.iterdir()}
    for service in services.values():
        texts = [str(value) for value in service.get("environment", {}).values()]
        texts += [(DOCKER / f).read_text() for f in mounts(service).values() if f.startswith(".")]
        wanted = set(re.findall(rf"{SECRETS}(\w+)", "\n".join(texts)))
        assert wanted == set(service.get("secrets", []))


def test_secrets_are_random_and_stay(made: Path) -> None:
    before = {file.name: file.read_text() for file in made.iterdir()}
    assert len(set(before.values())) == len(before)
    assert all(re.fullmatch("[0-9a-f]{48}", text) for text in before.values())
    assert stat.S_IMODE(made.stat().st_mode) == 0o700
    subprocess.run([made.parent / "secrets.sh"], check=True)
    assert {file.name: file.read_text() for file in made.iterdir()} == before
    ignored = (DOCKER / ".gitignore").read_text().splitlines()
    assert "/secrets/" in ignored


def test_no_password_is_written_out(services: dict[str, dict[str, Any]]) -> None:
    for service in services.values():
        for name, value in service.get("environment", {}).items():
            assert "PASSWORD" not in name or (name.endswith("_FILE") and value.startswith(SECRETS)), name


def test_the_configuration_names_what_compose_has(services: dict[str, dict[str, Any]], config: ProjectConfig) -> None:
    hosts = {name: source.sqlalchemy_url().host for name, source in config.databases.items()}
    assert set(hosts.values()) == {"postgresql", "mariadb"} <= set(services)
    for name, source in config.databases.items():
        environment = services[str(hosts[name])]["environment"]
        assert source.sqlalchemy_url().database in environment.values()
        assert source.password is not None
    assert config.spark.master == "spark://spark-master:7077"
    assert services["spark-master"]["command"][:4] == ["--host", "spark-master", "--port", "7077"]
    assert config.spark.master in services["spark-worker"]["command"]


def test_a_table_of_each_database_by_a_strategy_of_its_own(config: ProjectConfig) -> None:
    streams = config.streams
    assert {stream.source for stream in streams} == set(config.sources)
    assert len({stream.strategy for stream in streams}) == len(streams) == 2
    for stream in streams:
        database = config.databases[stream.source].sqlalchemy_url().host
        made_there = (DOCKER / "init" / f"{database}.sh").read_text()
        assert f"CREATE TABLE {stream.table_schema}.{stream.table_name} (" in made_there


def test_an_image_that_is_built_here_is_not_looked_for_in_a_registry(services: dict[str, dict[str, Any]]) -> None:
    built = {service["image"] for service in services.values() if "build" in service}
    pulled = {service["image"] for service in services.values() if service.get("pull_policy") != "never"}
    assert built
    assert not built & pulled


def test_qbcd_and_the_executors_see_the_same_files(services: dict[str, dict[str, Any]], config: ProjectConfig) -> None:
    image = services["spark-worker"]["image"]
    for name in CLIENTS:
        assert services[name]["image"] == image
        assert mounts(services[name])["/etc/qbcd/qbcd.yaml"] == "./qbcd.yaml"
        assert mounts(services[name])["/var/lib/qbcd"] == mounts(services["spark-worker"])["/var/lib/qbcd"]
    paths = [str(config.workdir), str(config.state_url().database)]
    paths += [str(sink.options["path"]) for sink in config.sinks.values()]
    assert [os.path.commonpath([path, "/var/lib/qbcd"]) for path in paths] == ["/var/lib/qbcd"] * 3
