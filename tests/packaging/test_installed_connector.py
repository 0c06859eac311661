"""A connector of an installed package, which has none of the optional abilities: `examples/connector_duckdb`."""

from __future__ import annotations

import re
import sys
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from typing_extensions import Self

import qbcd
from qbcd.api import Project
from qbcd.connectors import catalog, connector_for, encodings, expressions, queries, ranges, sessions, watermarks
from qbcd.errors import Refused
from tests.packaging.test_packaging import command, lend_dependencies
from tests.support.oracle import events

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "connector_duckdb"
PROBE = """
import sys, duckdb, qbcd
from tests.packaging.test_installed_connector import Shop
Shop(sys.argv[1], {"type": "id_rcs", "rows_per_range": 100}).check()
print("found", qbcd.__file__)
"""


class Shop:
    """A DuckDB file with a table, and a project that captures it.

    Args:
        folder: A folder for both.
        strategy: The strategy of its stream.
    """

    def __init__(self, folder: str | Path, strategy: Any, **more: Any) -> None:
        self.folder = Path(folder)
        self.file = self.folder / "shop.db"
        self.sql(
            "CREATE TABLE orders (id BIGINT, part VARCHAR, amount DECIMAL(12, 2), stamp TIMESTAMP, day DATE, "
            "ratio DOUBLE, yes BOOLEAN, PRIMARY KEY (id, part))",
            "INSERT INTO orders SELECT i, 'n' || i % 7, i * 1.5, TIMESTAMP '2024-01-01' + to_seconds(i), "
            "DATE '2024-01-01', i * 0.1, i % 2 = 0 FROM range(1000) AS t(i)",
        )
        entry = {"table": "main.orders", "source": "shop", "sinks": ["out"], "strategy": strategy, **more}
        self.settings: dict[str, Any] = {
            "version": 1,
            "workdir": str(self.folder / "work"),
            "state": f"sqlite:///{self.folder}/state.db",
            "sources": {"shop": {"url": f"duckdb:///{self.file}"}},
            "sinks": {"out": {"type": "jsonl", "path": str(self.folder / "out")}},
            "tables": [entry],
        }

    def sql(self, *statements: str) -> None:
        """Run statements."""
        with duckdb.connect(str(self.file)) as connection:
            for statement in statements:
                connection.execute(statement)

    def open(self) -> Project:
        """Return the project; the caller closes it."""
        return Project.from_dict(self.settings)

    def check(self) -> Self:
        """Capture changes of each kind, and compare with what was changed."""
        with self.open() as project:
            [prepared] = project.prepare()
            assert prepared.error is None, prepared.error
            self.sql(
                "UPDATE orders SET amount = 0.01 WHERE id IN (3, 900)",
                "UPDATE orders SET stamp = stamp + INTERVAL 1 MICROSECOND WHERE id = 4",
                "UPDATE orders SET yes = NULL WHERE id = 5",
                "DELETE FROM orders WHERE id = 7",
                "INSERT INTO orders (id, part) VALUES (-5, 'ß'), (2000, '')",
            )
            for _ in range(2):
                [outcome] = project.run(once=True).outcomes
                assert outcome.error is None, outcome.error
            [verified] = project.verify()
            assert verified.differences is not None
            assert not list(verified.differences)
        found = {(one["op"], one["key"]["id"], one["key"]["part"]) for one in events(self.folder / "out", "orders")}
        changed = {("u", i, f"n{i % 7}") for i in (3, 900, 4, 5)}
        assert found == {*changed, ("d", 7, "n0"), ("c", -5, "ß"), ("c", 2000, "")}
        return self


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example's module with the metadata that pip writes."""
    info = tmp_path / "site" / "qbcd_duckdb-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: qbcd-duckdb\nVersion: 1.0\n")
    written = (EXAMPLE / "pyproject.toml").read_text()
    groups = re.findall(r'^\[project\.entry-points\."(.+)"\]\n(\w+) = "(.+)"$', written, re.MULTILINE)
    (info / "entry_points.txt").write_text("".join(f"[{group}]\n{name} = {value}\n" for group, name, value in groups))
    (tmp_path / "site" / "qbcd_duckdb.py").write_text((EXAMPLE / "qbcd_duckdb.py").read_text())
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    yield
    sys.modules.pop("qbcd_duckdb", None)


def test_it_has_none_of_the_abilities(installed: None) -> None:
    modules = (catalog, encodings, expressions, queries, ranges, sessions, watermarks)
    abilities = {
        value
        for module in modules
        for name, value in vars(module).items()
        if name.startswith("Supports") and isinstance(value, type)
    }
    assert len(abilities) >= 15
    connector = connector_for("duckdb:///shop.db")
    assert not [one.__name__ for one in abilities if connector.supports(one)]


def test_its_changes_are_found_by_ranges_of_the_key(installed: None, tmp_path: Path) -> None:
    Shop(tmp_path, {"type": "id_rcs", "rows_per_range": 100}).check()


@pytest.mark.campaign
@pytest.mark.parametrize("options", [{"buckets": "hash"}, {"replica": "digest"}, {"consistency": "range"}])
def test_its_changes_are_found_with_options(installed: None, tmp_path: Path, options: dict[str, Any]) -> None:
    Shop(tmp_path, {"type": "id_rcs", "rows_per_range": 100, **options}).check()


def _refused_prepare(shop: Shop) -> str:
    with shop.open() as project:
        [prepared] = project.prepare()
    return str(prepared.error)


@pytest.mark.parametrize(
    ("strategy", "said"),
    [
        ("mds", "the DuckDB connector has no tables of qbcd's own"),
        ("id", "the DuckDB connector has no indexes"),
        ({"type": "ts", "timestamp": "stamp"}, "the DuckDB connector has no|cannot be a watermark|timestamp"),
    ],
)
def test_what_needs_an_ability_is_refused(installed: None, tmp_path: Path, strategy: Any, said: str) -> None:
    assert re.search(said, _refused_prepare(Shop(tmp_path, strategy)))


def test_a_type_that_it_does_not_know_is_refused(installed: None, tmp_path: Path) -> None:
    shop = Shop(tmp_path, "id_rcs")
    shop.sql("ALTER TABLE orders ADD COLUMN more INTEGER[]")
    assert "this connector does not know the type" in _refused_prepare(shop)


def test_a_pattern_of_tables_is_refused(installed: None, tmp_path: Path) -> None:
    shop = Shop(tmp_path, "id_rcs")
    entry = shop.settings["tables"][0]
    entry["tables"] = entry.pop("table").replace("orders", "*")
    with shop.open() as project, pytest.raises(Refused, match="lists no tables") as caught:
        project.prepare()
    assert caught.value.remedy == "name each table in an entry of its own"


def test_two_of_its_tables_are_compared(installed: None, tmp_path: Path) -> None:
    shop = Shop(tmp_path, "id_rcs")
    shop.sql(
        "CREATE TABLE copy AS SELECT * FROM orders",
        "ALTER TABLE copy ADD PRIMARY KEY (id, part)",
        "UPDATE copy SET ratio = -0.0 WHERE id = 0",
        "UPDATE copy SET ratio = 7 WHERE id = 11",
    )
    with qbcd.diff(f"duckdb:///{shop.file}#main.orders", f"duckdb:///{shop.file}#main.copy") as found:
        assert [event["key"]["id"] for event in found] == [11]
        assert found.method == "checksums"


@pytest.mark.campaign
def test_the_package_is_built_and_installed(tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=False, symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    lend_dependencies(python, tmp_path / "lent")
    site = Path(
        command([str(python), "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], tmp_path).strip()
    )
    (site / "checkout.pth").write_text(f"{ROOT}\n")
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--disable-pip-version-check"]
    copied = tmp_path / "connector_duckdb"
    copied.mkdir()
    for name in ("pyproject.toml", "qbcd_duckdb.py"):
        (copied / name).write_text((EXAMPLE / name).read_text())
    command([*pip, "--no-deps", "--no-build-isolation", "--no-index", str(copied)], tmp_path)
    folder = tmp_path / "shop"
    folder.mkdir()
    assert "found" in command([str(python), "-c", PROBE, str(folder)], tmp_path)
