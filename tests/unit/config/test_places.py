"""Positions in the file of errors that loading finds only when it combines parts."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.api import Project, parts_of
from qbcd.config import load_config
from qbcd.errors import ConfigError
from tests.support.cli import Cli

CONFIG = """\
version: 1
sources:
  shop: {url: "postgresql://reader@127.0.0.1:1/shop"}
sinks:
  changes: {type: jsonl, path: out}
tables:
  - {source: shop, table: public.orders, strategy: id_rcs}
"""
LISTED = """\
[qbcd.sinks]
folder = packaged_sinks:Folder
strict = packaged_sinks:Strict
bad = packaged_sinks:NAME
gone = no_such_module:Sink
"""
PACKAGE = """\
from qbcd.sinks import Sink

NAME = "x"


class Folder(Sink):
    def __init__(self, name, path, depth=1):
        super().__init__(name)
        self.path = path

    def write(self, batch): pass
    def check(self): pass


class Strict(Folder):
    def __init__(self, name, **settings):
        raise TypeError("unsupported operand\\nand more")
"""


@pytest.fixture(autouse=True)
def no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Return no session, as in a process that runs no Spark yet."""
    monkeypatch.setattr("qbcd.spark.provider.running_session", lambda: None)


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A distribution on the path, as pip would have installed it.

    An empty folder for the configuration.
    """
    info = tmp_path / "site" / "other-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(LISTED)
    (tmp_path / "site" / "packaged_sinks.py").write_text(PACKAGE)
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def opened(folder: Path, sink: str, more: str = "") -> Project:
    """Open a project whose sink ``changes`` is `sink`, in another working directory."""
    lines = CONFIG.replace("{type: jsonl, path: out}", sink).replace("tables:", f"{more}tables:")
    (folder / "qbcd.yaml").write_text(lines)
    return Project(load_config(folder / "qbcd.yaml"))


def test_the_path_of_a_packages_sink_starts_from_the_file(package: Path) -> None:
    project = opened(package, "{type: folder, path: out/x}")
    assert getattr(parts_of(project).sink("changes"), "path") == package / "out" / "x"  # noqa: B009 -- a class of no types


@pytest.mark.parametrize("kind", ["jsonl", "folder"])
def test_a_packages_sink_shares_its_path_with_none(package: Path, kind: str) -> None:
    with pytest.raises(ConfigError, match=r"qbcd.yaml:6: sinks\.second\.path: sink changes has the same path"):
        opened(package, "{type: folder, path: out}", f"  second: {{type: {kind}, path: ./out}}\n")


@pytest.mark.parametrize(
    ("sink", "said"),
    [
        ("{type: folder, path: 's3://b/x'}", "changes.path: paths with a scheme (scheme://) are not built yet (use a"),
        ("{type: folder, path: [a]}", "changes.path: not a path (write a folder"),
        ("{type: folder}", 'changes: sink type folder needs the setting "path" (add it)'),
        ("{type: folder, path: x, dept: 2}", 'changes: sink type folder has no setting "dept" (did you mean "depth"?)'),
        ("{type: folder, path: x, name: y}", 'changes: sink type folder has no setting "name" (there are path, depth)'),
        (
            "{type: strict}",
            "changes: sink type strict does not accept its settings: TypeError: unsupported operand (corr",
        ),
        (
            "{type: bad}",
            "changes: the entry point packaged_sinks:NAME of sink type bad is not a Sink class (update or remove",
        ),
        ("{type: gone}", "changes: sink type gone (no_such_module:Sink) cannot be loaded: ModuleNotFoundError: No mod"),
    ],
)
def test_wrong_settings_of_a_packages_sink_have_their_place(package: Path, sink: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parts_of(opened(package, sink)).sink("changes")
    assert f"qbcd.yaml:5: sinks.{said}" in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ("sinks:\n", "spark: {driver_jar: none.jar}\nsinks:\n", "4: spark.driver_jar"),
        ('/shop"}', '/shop", jdbc: {driver_jar: none.jar}}', "3: sources.shop.jdbc.driver_jar"),
    ],
)
def test_a_missing_driver_has_its_place(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, old: str, new: str, place: str
) -> None:
    file = tmp_path / "qbcd.yaml"
    file.write_text(CONFIG.replace(old, new, 1))
    said = f"{file}:{place}: the JDBC driver jar {tmp_path / 'none.jar'} does not exist (correct the path"
    assert said in Cli(capsys)("check", "-c", str(file)).err
    with pytest.raises(ConfigError) as caught:
        parts_of(Project(load_config(file))).spark.get()
    assert said in str(caught.value)


def test_a_setting_of_spark_that_is_refused_has_its_place(tmp_path: Path) -> None:
    setting = "spark:\n  conf:\n    spark.app.name: x\n    spark.speculation: true\n"
    (tmp_path / "qbcd.yaml").write_text(CONFIG.replace("sinks:\n", f"{setting}sinks:\n", 1))
    with pytest.raises(ConfigError) as caught:
        parts_of(Project(load_config(tmp_path / "qbcd.yaml"))).spark.get()
    assert 'qbcd.yaml:7: spark.conf."spark.speculation": spark.speculation is true, but' in str(caught.value)
