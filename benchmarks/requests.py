"""Page requests of a poll on MariaDB or MySQL, next to the advisor's prediction.

`Innodb_buffer_pool_read_requests` counts a page each time that it is asked for, by the whole server: reads, and writes
of outbox and replica. So the first poll finds nothing, and the second one 1 % of the rows.
"""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.advisor.prediction import predict
from qbcd.api import Project, parts_of
from qbcd.strategies import TableStrategy
from qbcd.strategies.amounts import Amount
from qbcd.strategies.reads import ChangeRate

DATABASES = ("mariadb", "mysql")
SHARE = 0.01
COUNTER = "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'"
MORE = """
ALTER TABLE bench.orders ADD updated_at timestamp(6) NOT NULL DEFAULT '2024-01-01' ON UPDATE current_timestamp(6),
  ADD gone tinyint NOT NULL DEFAULT 0, ADD KEY by_updated (updated_at),
  ADD KEY covering (updated_at, gone, id, quantity);
ANALYZE TABLE bench.orders;
"""
STAMPED = {"timestamp": "updated_at", "margin": "1ms", "lag": "2ms"}
FLAG = {"delete_flag": "gone", "deleted_value": 1}
COLUMNS = {"atdi": ["quantity"]}  # those of the index
STREAMS: dict[str, Any] = {
    "mds": "mds",
    "id": "id",
    "tlcs": "tlcs",
    "id_rcs": {"type": "id_rcs"},
    "ts": {"type": "ts", **STAMPED},
    "tdi": {"type": "tdi", **STAMPED, **FLAG},
    "atdi": {"type": "atdi", **STAMPED, **FLAG},
}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each strategy twice, one after the other."""
    place.create(options.rows)
    place.run(MORE)
    heading = ("strategy", "unchanged: requests", "predicted pages", "newest 1 %: requests", "predicted pages")
    table, changed = Table(heading, place.version()), round(options.rows * SHARE)
    with Project.from_dict(_config(place.url), base_dir=folder) as project:
        for name in STREAMS:
            project.stream(name).prepare()
        quiet = {name: _requests(place, project, name) for name in STREAMS}
        place.run(f"UPDATE bench.orders SET quantity = quantity + 1 WHERE id > {options.rows - changed}")
        place.run("DO sleep(1)")
        for name in STREAMS:
            none, some = (_predicted(project, name, share) for share in (0.0, SHARE))
            busy = _requests(place, project, name)
            table.rows.append((name, f"{quiet[name]:,}", _pages(none), f"{busy:,}", _pages(some)))
    return table


def _config(url: str) -> dict[str, Any]:
    common = {"source": "shop", "table": "bench.orders", "baseline": "silent"}
    tables = [
        {**common, "name": name, "strategy": strategy} | ({"columns": COLUMNS[name]} if name in COLUMNS else {})
        for name, strategy in STREAMS.items()
    ]
    return {"version": 1, "sources": {"shop": {"url": url}}, "tables": tables}


def _requests(place: Place, project: Project, name: str) -> int:
    before = _counter(place)
    [outcome] = project.run([name], once=True).outcomes
    if outcome.error:
        raise outcome.error
    return _counter(place) - before


def _counter(place: Place) -> int:
    with closing(place.connect()) as conn, conn.cursor() as cursor:
        cursor.execute(COUNTER)
        return int(cursor.fetchone()[1])


def _predicted(project: Project, name: str, share: float) -> Amount:
    found = project.stream(name).predict()
    assert found is not None
    strategy = parts_of(project).open_stream(name).site.strategy(project.stream(name).plan())
    assert isinstance(strategy, TableStrategy)
    return predict(strategy, replace(found[1], change=ChangeRate(Amount.of(share), Amount.of(1.0)))).pages


def _pages(amount: Amount) -> str:
    return amount.text("page").removesuffix(" pages")
