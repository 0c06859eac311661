"""Refusals at the command line.

One line on stderr, no traceback, the exit code of the class.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from qbcd.demo.server import EmbeddedPostgres
from tests.support.cli import Cli, Ran, finished, spawn
from tests.support.project import config
from tests.support.refusals import Place, new_place


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("cli") / "project") as made:
        made.sql("CREATE TABLE orders (id int PRIMARY KEY, x text)")
        made.sql("INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 10) i")
        yield made


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, place: Place) -> Cli:
    monkeypatch.chdir(place.folder)
    return Cli(capsys)


def configure(place: Place, url: str = "", **table: Any) -> None:
    """Write a file with one stream of mds."""
    data = config(url or place.admin, {"name": "orders", "table": "public.orders", "strategy": "mds", **table})
    del data["defaults"]["guards"]
    (place.folder / "qbcd.yaml").write_text(yaml.safe_dump(data, sort_keys=False))


def test_each_class_of_refusal_has_its_exit_code(place: Place, cli: Cli) -> None:
    configure(place)
    unprepared = Ran(3, "", "error: stream orders: is not prepared (qbcd prepare orders)\n")
    assert cli("run", "--once") == unprepared
    assert finished(spawn(place.folder, "run", "--once")) == unprepared, "so does a process of its own"
    ran = cli("run", "ordrs", "--once")
    assert (ran.code, ran.err) == (2, 'error: qbcd.yaml: there is no stream "ordrs" (did you mean "orders"?)\n')
    configure(place, columns=["y"])
    missing = 'error: qbcd.yaml:17: tables[0].columns: column "y" does not exist in public.orders (there are id, x)\n'
    assert cli("prepare") == Ran(2, "", missing)
    configure(place, where="x = 1; DROP TABLE orders")
    ran = cli("prepare")
    assert ran.code == 2
    assert ran.err.startswith("error: qbcd.yaml:17: tables[0].where: the restriction holds a semicolon (write one ")
    configure(place, url="postgresql://postgres@127.0.0.1:1/x")
    ran = cli("prepare")
    assert ran.code == 1
    assert ran.err.startswith("error: stream orders: source shop (127.0.0.1:1) cannot be reached: connection to ")


def test_a_guard_says_how_to_go_on(place: Place, cli: Cli) -> None:
    configure(place)
    assert cli("prepare").code == 0
    place.sql("DELETE FROM orders WHERE id < 8")
    what = "this poll would deliver 7 deletes of 10 rows, more than guards.max_delete_fraction 0.5 allows"
    remedy = "nothing was changed; if this is right: qbcd run orders --once --accept-deletes"
    with place.unmoved():
        ran = cli("run", "--once", "--json")
    assert ran.code == 3
    assert ran.err == f"error: stream orders: {what} ({remedy})\n"
    assert (ran.data["error"], ran.data["remedy"], ran.data["exit_code"]) == (what, remedy, 3)
    configure(place, key=["x"])
    ran = cli("check")
    assert ran.code == 3
    changed = "error: stream orders: key is fixed at prepare, and was changed in the configuration since: key was "
    assert changed in ran.err
