"""The SQL of examples/destinations/postgresql, run by `psql` on batches of the sink `jsonl`."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from qbcd.demo.server import EmbeddedPostgres
from tests.support import sql

POSTGRESQL = Path(__file__).resolve().parents[3] / "examples/destinations/postgresql"
Row = tuple[int, str, str, str | None]


def event(op: str, before: Row | None, after: Row | None) -> dict[str, Any]:
    images = [
        row and dict(zip(("order_id", "customer", "status", "amount"), row, strict=True)) for row in (before, after)
    ]
    key = {"order_id": (after or before or (0,))[0]}
    return {"op": op, "key": key, "before": images[0], "after": images[1]}


def write(folder: Path, epoch: int, number: int, *events: dict[str, Any]) -> None:
    lines = [json.dumps(one | {"source": {"epoch": epoch, "batch_seq": number}}) for one in events]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{epoch}-{number:012d}.jsonl").write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def test_batches_are_applied_once_and_in_order(server: EmbeddedPostgres, database: str, tmp_path: Path) -> None:
    folder, path = tmp_path / "orders", os.pathsep.join((str(server.bin), os.environ["PATH"]))
    sql(database, (POSTGRESQL / "tables.sql").read_text(encoding="utf-8"))

    def load() -> list[Any]:
        command = [str(POSTGRESQL / "load.sh"), database, str(tmp_path)]
        subprocess.run(command, check=True, env={**os.environ, "PATH": path}, timeout=60)
        return sql(database, "SELECT order_id, customer, status, amount::text FROM orders ORDER BY 1")

    ada, edgar = (1, "Ada", "new", "12.50"), (2, 'Ed "E" \\ gar\t', "paid", None)
    write(folder, 1_000_000_000, 1, event("r", None, ada), event("r", None, edgar))
    assert load() == [ada, edgar]

    paid, grace = (1, "Ada", "paid", "14.00"), (3, "Grace", "new", "7.25")
    write(folder, 1_000_000_000, 2, event("d", edgar, None), event("u", ada, paid), event("c", None, grace))
    assert load() == load() == [paid, grace]
    assert sql(database, "SELECT stream, epoch, batch_seq FROM qbcd_applied") == [("orders", 1_000_000_000, 2)]

    first = folder / "1000000000-000000000001.jsonl"
    apply = ["psql", database, "-Xq", "-v", "ON_ERROR_STOP=1", "-f", str(POSTGRESQL / "apply.sql")]
    with first.open() as lines:  # delivered again
        subprocess.run(apply, check=True, env={**os.environ, "PATH": path}, stdin=lines, timeout=60)
    assert load() == [paid, grace]

    # Without old values, and after a reset.
    write(folder, 1_000_000_000, 3, event("u", None, ada), event("u", None, edgar))
    assert load() == [ada, edgar, grace]
    write(folder, 1_000_000_001, 4, event("r", None, grace))
    assert load() == [grace]

    # A file of several batches, named after the last: a key occurs in each.
    rolled = [(5, event("c", None, ada)), (5, event("c", None, edgar)), (6, event("u", ada, paid))]
    rolled += [(6, event("d", grace, None)), (7, event("d", edgar, None)), (8, event("c", None, edgar))]
    made = [json.dumps(one | {"source": {"epoch": 1_000_000_001, "batch_seq": number}}) for number, one in rolled]
    (folder / "1000000001-000000000008.jsonl").write_text("".join(f"{line}\n" for line in reversed(made)))
    assert load() == load() == [paid, edgar]
    assert sql(database, "SELECT batch_seq FROM qbcd_applied") == [(8,)]
