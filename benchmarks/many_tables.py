"""One schema of many small tables, captured by a pattern: check, prepare, and rounds of polls.

Each figure is one call of the Python API, which the command line makes too; the start of the process is not included. A
round polls every stream once. With `--delay` a proxy on this machine delays each answer of the server.
"""

from __future__ import annotations

import resource
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place
from qbcd.api import Project
from tests.support.proxy import Proxy

DATABASES = ("postgresql",)
OPTIONS = ("tables", "delay")
STRATEGIES = ("mds", "id_rcs")
CHANGED = 30  # tables of a round with changes
TABLE = """
CREATE TABLE app.t{0} (id bigint PRIMARY KEY, a int, v text);
INSERT INTO app.t{0} SELECT i, i % 97, md5(i::text) FROM generate_series(1, {1}) AS i"""


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each strategy with 1 and with 4 jobs."""
    place.run("CREATE SCHEMA app;\n" + ";\n".join(TABLE.strip().format(n, options.rows) for n in range(options.tables)))
    place.run("ANALYZE")
    with behind(place.url, options.delay) as url:
        return _measured(place, url, folder, options)


@contextmanager
def behind(url: str, delay: int) -> Iterator[str]:
    """Return the URL of the server, or of a proxy that delays its answers by `delay` milliseconds."""
    if not delay:
        yield url
        return
    server = make_url(url)
    proxy = Proxy(server.port or 0, b"COMMIT")
    proxy.delay = delay / 1000
    try:
        yield server.set(port=proxy.port).render_as_string(hide_password=False)
    finally:
        proxy.close()


def _measured(place: Place, url: str, folder: Path, options: Options) -> Table:
    table = Table(("strategy", "step", "1 job", "4 jobs", "processor, 4 jobs"), place.version())
    for strategy in STRATEGIES:
        prepared = False
        found: dict[str, dict[int, tuple[float, float]]] = {}
        for jobs in (4, 1):
            with _project(url, folder, strategy, jobs) as project:
                steps = _steps(place, project, options, prepared=prepared)
            for step, figures in steps.items():
                found.setdefault(step, {})[jobs] = figures
            prepared = True
        for step, by_jobs in found.items():
            one = f"{by_jobs[1][0]:.1f} s" if 1 in by_jobs else ""
            table.rows.append((strategy, step, one, f"{by_jobs[4][0]:.1f} s", f"{by_jobs[4][1]:.1f} s"))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table.rows.append(("", "most memory of the process", "", f"{most:,.0f} MB", ""))
    return table


def _project(url: str, folder: Path, strategy: str, jobs: int) -> Project:
    data: dict[str, Any] = {
        "version": 1,
        "jobs": jobs,
        "state": f"sqlite:///{strategy}.db",
        "workdir": strategy,
        "sources": {"shop": {"url": url, "schema": f"qbcd_{strategy}", "connections": 4}},
        "sinks": {"changes": {"type": "jsonl", "path": f"out/{strategy}"}},
        "tables": [{"source": "shop", "tables": "app.*", "sinks": "changes", "strategy": strategy}],
    }
    return Project.from_dict(data, base_dir=folder)


def _steps(place: Place, project: Project, options: Options, *, prepared: bool) -> dict[str, tuple[float, float]]:
    """Return seconds and processor seconds of this process, by step."""
    found = {"check": _timed(project.check)}
    if not prepared:
        found["prepare"] = _timed(lambda: _prepare(project))
    _round(project)  # fills caches of the server
    rounds = [_timed(lambda: _round(project)) for _ in range(options.repeats)]
    found["round, unchanged"] = (statistics.median(r[0] for r in rounds), statistics.median(r[1] for r in rounds))
    for number in range(min(CHANGED, options.tables)):
        place.run(f"UPDATE app.t{number} SET a = a + 1 WHERE id <= 10")
    found[f"round, {CHANGED} tables changed"] = _timed(lambda: _round(project))
    return found


def _prepare(project: Project) -> None:
    errors = [str(one.error) for one in project.prepare() if one.error]
    assert not errors, errors[:1]


def _round(project: Project) -> None:
    report = project.run(once=True)
    assert report.exit_code == 0, [str(one.error) for one in report.outcomes if one.error][:1]


def _timed(action: Any) -> tuple[float, float]:
    before = time.process_time()
    took = seconds(action)
    return took, time.process_time() - before
