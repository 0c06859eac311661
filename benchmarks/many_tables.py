"""One schema of many small tables, captured by a pattern: whole processes next to a bare script and other tools.

A round polls every table once, in a new process as cron would start it: seconds, and processor seconds of that process.
The bare script imports the same libraries, and for each table scans its digests and commits to SQLite. The processes
alternate within each repetition. Then the same rounds in one process show what a poll sends, and what `jobs` gain.
With `--delay` a proxy on this machine delays each answer of the server in that part. `--rounds N` measures only the
memory of a new process over N rounds, a tenth of the tables changed before each. `--peers FOLDER` names a folder
with a virtual environment `dlt` (`dlt[filesystem]`, `sqlalchemy`, `psycopg2-binary`), which copies rows by a cursor
column. Sling is not measured: its package downloads its program at the first start.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import event
from sqlalchemy.engine import Engine, make_url

from benchmarks.measure import Options, Table, seconds
from benchmarks.places import Place
from benchmarks.tools import many_tables_bare
from qbcd.api import Project
from tests.support.proxy import Proxy

DATABASES = ("postgresql",)
OPTIONS = ("tables", "delay", "rounds")
STRATEGIES: dict[str, Any] = {"mds": "mds", "id_rcs": "id_rcs", "ts": {"type": "ts", "timestamp": "changed_at"}}
IN_PROCESS = ("mds", "id_rcs")
CHANGED = 30  # tables of a round with changes
TOOLS = Path(__file__).with_name("tools")
TABLE = """
CREATE TABLE app.t{0} (id bigint PRIMARY KEY, a int, v text, changed_at timestamptz NOT NULL DEFAULT now());
INSERT INTO app.t{0} SELECT i, i % 97, md5(i::text), now() - i * interval '1 second' FROM generate_series(1, {1}) AS i;
CREATE INDEX ON app.t{0} (changed_at)"""
LACKS = {"dlt": "finds no deletes, keeps no old values; reads rows with a cursor column past the last value"}


class Spent(NamedTuple):
    """Elapsed seconds, and processor seconds of the measured process."""

    clock: float
    processor: float


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure whole processes, then rounds in this process."""
    place.run("CREATE SCHEMA app;\n" + ";\n".join(TABLE.strip().format(n, options.rows) for n in range(options.tables)))
    place.run("ANALYZE")
    heading = ("who", "step", "seconds", "of the bare script's", "processor", "of the bare script's", "for each table")
    table = Table(heading, place.version())
    if options.rounds:
        for strategy in STRATEGIES:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                of_rounds = pool.submit(_memory, place, folder, strategy, options).result()
            table.rows += [(f"qbcd {strategy}", *one, "", "", "", "") for one in of_rounds]
        return table
    _processes(place, folder, options, table)
    with behind(place.url, options.delay) as url:
        for strategy in IN_PROCESS:
            _in_this_process(place, url, folder, strategy, options, table)
    return table


# -- whole processes ---------------------------------------------------------------------------------------------------
def _processes(place: Place, folder: Path, options: Options, table: Table) -> None:
    bare = [sys.executable, many_tables_bare.__file__, place.url, str(folder / "bare.db"), str(options.tables)]
    names = {f"qbcd {strategy}": _config(place.url, folder, strategy) for strategy in STRATEGIES}
    commands = {who: [sys.executable, "-m", "qbcd", "-c", str(path)] for who, path in names.items()}
    found: dict[tuple[str, str], list[Spent]] = {}

    def note(who: str, step: str, command: Sequence[str]) -> None:
        found.setdefault((who, step), []).append(_run(command, folder))

    note("bare script", "first", bare)  # fills the cache of files
    for who, command in commands.items():
        note(who, "prepare", [*command, "prepare"])
    tools = _tools(place.url, folder, options)
    rounds = {**{who: [*command, "run", "--once"] for who, command in commands.items()}, **tools}
    for who, command in rounds.items():
        note(who, "first", command)
    for _ in range(options.repeats):
        for who, command in {"bare script": bare, **rounds}.items():
            note(who, "unchanged", command)
    for _ in range(options.repeats):
        for number in range(min(CHANGED, options.tables)):
            place.run(f"UPDATE app.t{number} SET a = a + 1, changed_at = now() WHERE id <= 10")
        for who, command in rounds.items():
            note(who, f"{CHANGED} tables changed", command)
    least = _median(found["bare script", "unchanged"])
    for (who, step), all_of_it in found.items():
        spent = _median(all_of_it)
        ratios = [f"{mine / bare:.1f} x" for mine, bare in zip(spent, least, strict=True)]
        each = f"{spent.processor / options.tables * 1000:.1f} ms"
        row = (f"{spent.clock:.2f} s", ratios[0], f"{spent.processor:.2f} s", ratios[1], each)
        if step != "first" or who in tools:
            table.rows.append((who, step, *row))
    for who in tools:
        table.rows.append((who, LACKS[who], "", "", "", "", ""))


def _median(all_of_it: Sequence[Spent]) -> Spent:
    return Spent(*(statistics.median(one[i] for one in all_of_it) for i in (0, 1)))


def _config(url: str, folder: Path, strategy: str) -> Path:
    path = folder / f"{strategy}.yaml"
    path.write_text(json.dumps(_data(url, strategy)))  # JSON is YAML
    return path


def _tools(url: str, folder: Path, options: Options) -> dict[str, list[str]]:
    """Return the command of a round of each other tool that is installed in `options.peers`."""
    found = {}
    for name in LACKS if options.peers else ():
        python = Path(options.peers) / name / "bin" / "python"
        if python.exists():
            script = TOOLS / f"many_tables_{name}.py"
            found[name] = [str(python), str(script), url, str(folder / name), str(options.tables)]
    return found


def _run(command: Sequence[str], folder: Path) -> Spent:
    """Run a process; return its time, with that of its children."""
    began = time.perf_counter()
    with open(folder / "output.txt", "ab") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env={**os.environ, "NO_COLOR": "1"})
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"{command} ended with {process.returncode}: {(folder / 'output.txt').read_text()[-2000:]}")
    return Spent(time.perf_counter() - began, used.ru_utime + used.ru_stime)


# -- in this process ---------------------------------------------------------------------------------------------------
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


def _in_this_process(place: Place, url: str, folder: Path, strategy: str, options: Options, table: Table) -> None:
    who = f"qbcd {strategy}, one process"
    for jobs in (1, 4):
        with Project.from_dict(_data(url, strategy, jobs), base_dir=folder) as project:
            if jobs > 1:
                table.rows.append((who, f"check, {jobs} jobs", *_row(_timed(project.check), options)))
            _round(project)  # fills caches of this process
            spent = _median([_timed(lambda: _round(project)) for _ in range(options.repeats)])
            with counted() as sent:
                _round(project)
            statements = ", ".join(f"{sent[kind] / options.tables:.1f} {kind}" for kind in sorted(sent))
            table.rows.append((who, f"unchanged, {jobs} jobs", *_row(spent, options, statements)))
            for number in range(min(CHANGED, options.tables)):
                place.run(f"UPDATE app.t{number} SET a = a + 1, changed_at = now() WHERE id <= 10")
            changed = _timed(lambda: _round(project))
            table.rows.append((who, f"{CHANGED} tables changed, {jobs} jobs", *_row(changed, options)))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    table.rows.append((who, "most memory so far", f"{most:,.0f} MB", "", "", "", ""))


def _memory(place: Place, folder: Path, strategy: str, options: Options) -> list[tuple[str, str]]:
    """Return the resident memory after a tenth, a half and all of the rounds."""
    found: list[tuple[str, str]] = []
    with Project.from_dict(_data(place.url, strategy), base_dir=folder) as project:
        project.prepare()
        for done in range(1, options.rounds + 1):
            for number in range(done % 10, options.tables, 10):
                place.run(f"UPDATE app.t{number} SET a = a + 1, changed_at = now() WHERE id <= 10")
            _round(project)
            if done in (options.rounds // 10, options.rounds // 2, options.rounds):
                pages = int(Path("/proc/self/statm").read_text().split()[1])
                found.append((f"memory after {done} rounds", f"{pages * resource.getpagesize() / 1e6:.1f} MB"))
    return found


def _row(spent: Spent, options: Options, more: str = "") -> tuple[str, ...]:
    each = f"{spent.processor / options.tables * 1000:.1f} ms"
    return f"{spent.clock:.2f} s", "", f"{spent.processor:.2f} s", "", f"{each}; {more}" if more else each


@contextmanager
def counted() -> Iterator[Counter[str]]:
    """Count in the block statements of state and source, and their commits, of all threads."""
    found, lock = Counter[str](), threading.Lock()

    def note(kind: str) -> Callable[..., None]:
        def noted(conn: Any, *_rest: Any) -> None:
            place = "state" if conn.dialect.name == "sqlite" else "source"
            with lock:
                found[f"{kind} of the {place}"] += 1

        return noted

    listeners = {"before_cursor_execute": note("statements"), "commit": note("commits")}
    for name, listener in listeners.items():
        event.listen(Engine, name, listener)
    try:
        yield found
    finally:
        for name, listener in listeners.items():
            event.remove(Engine, name, listener)


def _data(url: str, strategy: str, jobs: int = 4) -> dict[str, Any]:
    return {
        "version": 1,
        "jobs": jobs,
        "state": f"sqlite:///{strategy}.db",
        "workdir": strategy,
        "sources": {"shop": {"url": url, "schema": f"qbcd_{strategy}", "connections": 4}},
        "sinks": {"changes": {"type": "jsonl", "path": f"out/{strategy}"}},
        "tables": [{"source": "shop", "tables": "app.*", "sinks": "changes", "strategy": STRATEGIES[strategy]}],
    }


def _round(project: Project) -> None:
    report = project.run(once=True)
    assert report.exit_code == 0, [str(one.error) for one in report.outcomes if one.error][:1]


def _timed(action: Callable[[], object]) -> Spent:
    before = time.process_time()
    took = seconds(action)
    return Spent(took, time.process_time() - before)
