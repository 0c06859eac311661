"""Refusals at the command line.

One line on stderr, no traceback, the exit code of the class.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from qbcd.demo.server import EmbeddedPostgres
from tests.support.project import config
from tests.support.refusals import Place, new_place


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("cli") / "project") as made:
        made.sql("CREATE TABLE orders (id int PRIMARY KEY, x text)")
        made.sql("INSERT INTO orders SELECT i, 'x' FROM generate_series(1, 10) i")
        yield made


def qbcd(place: Place, *arguments: str, url: str = "", **table: Any) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr of a command on a file with one stream of mds."""
    data = config(url or place.admin, {"name": "orders", "table": "public.orders", "strategy": "mds", **table})
    del data["defaults"]["guards"]
    (place.folder / "qbcd.yaml").write_text(yaml.safe_dump(data, sort_keys=False))
    done = subprocess.run(
        [sys.executable, "-m", "qbcd", *arguments],
        cwd=place.folder,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert "Traceback" not in done.stdout + done.stderr
    return done.returncode, done.stdout, done.stderr.replace(place.host, "HOST")


def test_each_class_of_refusal_has_its_exit_code(place: Place) -> None:
    assert qbcd(place, "run", "--once") == (3, "", "error: stream orders: is not prepared (qbcd prepare orders)\n")
    assert qbcd(place, "prepare", columns=["y"]) == (
        2,
        "",
        'error: qbcd.yaml:17: tables[0].columns: column "y" does not exist in public.orders (there are id, x)\n',
    )
    code, _, said = qbcd(place, "prepare", where="x = 1; DROP TABLE orders")
    assert code == 2
    assert said.startswith("error: qbcd.yaml:17: tables[0].where: the restriction holds a semicolon (write one ")
    code, _, said = qbcd(place, "prepare", url="postgresql://postgres@127.0.0.1:1/x")
    assert code == 1
    assert said.startswith("error: stream orders: source shop (127.0.0.1:1) cannot be reached: connection to ")
    assert qbcd(place, "run", "ordrs", "--once")[0::2] == (
        2,
        'error: qbcd.yaml: there is no stream "ordrs" (did you mean "orders"?)\n',
    )


def test_a_guard_says_how_to_go_on(place: Place) -> None:
    assert qbcd(place, "prepare")[0] == 0
    place.sql("DELETE FROM orders WHERE id < 8")
    what = "this poll would deliver 7 deletes of 10 rows, more than guards.max_delete_fraction 0.5 allows"
    remedy = "nothing was changed; if this is right: qbcd run orders --once --accept-deletes"
    with place.unmoved():
        code, out, said = qbcd(place, "run", "--once", "--json")
    assert code == 3
    assert said == f"error: stream orders: {what} ({remedy})\n"
    result = json.loads(out)
    assert (result["error"], result["remedy"], result["exit_code"]) == (what, remedy, 3)
    code, out, said = qbcd(place, "check", key=["x"])
    assert code == 3
    assert "error: stream orders: key is fixed at prepare, and was changed in the configuration since: key was " in said
