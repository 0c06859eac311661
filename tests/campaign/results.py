"""Files with the results of campaign runs: one per run with `--part`, written while it runs.

A file is JSON lines. The first line describes the run, `expect` lists the cases of the part in full, and each further
line is a case that has ended. So a run that is killed keeps what it has shown, and `--remaining` continues it.

A result holds for a later commit too, until a file that it can depend on changes: changed pages and files of
`docker` end no result, a changed file of `tests` ends those of the test files that use it, and any other file ends all.
But the connector of MariaDB and MySQL ends none of the parts whose cases all run on PostgreSQL alone.

The folder is `.campaign`, or the one of `QBCD_CAMPAIGN_RESULTS`. `python -m tools.campaign_report` reads it.
"""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO, Any

import pytest

from tests.campaign.dependencies import dependent_files
from tests.campaign.parts import PARTS

ROOT = Path(__file__).resolve().parents[2]
FOLDER_VARIABLE = "QBCD_CAMPAIGN_RESULTS"
ENGINE_VARIABLE = "QBCD_TEST_ENGINE"
SERVER_VARIABLES = {"QBCD_TEST_POSTGRESQL_BIN": "postgres", "QBCD_TEST_MARIADB_BIN": "mariadbd"}
_EXPECTED = "campaign_cases"
_PARTS_FILE = "tests/campaign/parts.py"
CHANGES = "+changes"  # after a commit: files of the working tree differed
# Files that no case depends on: pages, the image, benchmarks, and what chooses cases and reports results.
_NO_CASE = re.compile(
    r".*\.md|docs/.*|docker/.*|benchmarks/.*|zensical\.toml|tools/campaign_report\.py|tests/unit/repository/.*"
    r"|tests/campaign/(kept|parts|results|dependencies)\.py"
)
# Folders of a connector, with the parts that do not use it. `servers_postgresql` and `histories_postgresql` are not
# among them: some of their cases, whose ids name no database, use several.
_UNUSED: Mapping[str, Sequence[str]] = {
    "qbcd/connectors/mysql_family/": [
        f"{wing}_postgresql"
        for wing in ("kill", "kill_database", "kill_lake", "property", "protocol", "tables", "lake")
    ]
}
_RANK = {"skipped": 0, "passed": 1, "failed": 2}  # of several runs of a case the worst counts; a skip is no result


@dataclass(frozen=True)
class Line:
    """The part, the engine and the servers of a run: a line of the report."""

    part: str
    engine: str  # as in the configuration: auto, local or spark
    servers: str  # versions of servers that the environment names; empty: the usual ones


@dataclass
class Results:
    """All results of one line on one commit.

    Attributes:
        expected: Cases of the whole part; None if every run collected only some files.
        outcomes: Worst outcome of each case that has ended: passed, failed or skipped.
        seconds: Of each case, how long its last run took.
        reasons: Why cases were skipped.
    """

    line: Line
    commit: str
    expected: set[str] | None = None
    outcomes: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)

    def number(self, outcome: str) -> int:
        """Return how many cases have this outcome."""
        return sum(o == outcome for o in self.outcomes.values())

    @property
    def not_run(self) -> int | None:
        """Number of cases of the part that have not ended in any run; None if not known."""
        return None if self.expected is None else len(self.expected - set(self.outcomes))


def folder() -> Path:
    """Return the folder of the results."""
    return Path(os.environ.get(FOLDER_VARIABLE) or ROOT / ".campaign")


def named(commit: str) -> str:
    """Return a commit of this repository as results name it."""
    return _git("rev-parse", "--short=8", commit)


def commit() -> str:
    """Return the commit of the working tree; `+changes` follows if files other than the page of the report differ."""
    head = named("HEAD")
    return head + CHANGES if _git("status", "--porcelain", "--", ".", ":!tests/campaign/README.md") else head


def line_of(part: str) -> Line:
    """Return the line of a run of `part` in this environment."""
    servers = [_version(Path(os.environ[v]), program) for v, program in SERVER_VARIABLES.items() if os.environ.get(v)]
    return Line(part, os.environ.get(ENGINE_VARIABLE) or "auto", ", ".join(servers))


def read(files: Iterable[Path]) -> list[Results]:
    """Return the results of all files, by line and commit, in the order of the runs.

    If a case ran more than once on one commit, its worst outcome counts: a failure is not outdone by a later run.
    """
    found: dict[tuple[Line, str], Results] = {}
    for path in sorted(files):
        head, *entries = (json.loads(text) for text in path.read_text("utf-8").splitlines() if text.endswith("}"))
        line = Line(head["part"], head["engine"], head["servers"])
        of = found.setdefault((line, head["commit"]), Results(line, head["commit"]))
        for entry in entries:
            if "expect" in entry:
                of.expected = set(entry["expect"]) | (of.expected or set())
                continue
            case, outcome = entry["case"], entry["outcome"]
            of.outcomes[case] = max(outcome, of.outcomes.get(case, outcome), key=_RANK.__getitem__)
            of.seconds[case] = entry["seconds"]
            of.reasons[case] = entry.get("reason", "")
    return list(found.values())


def holding(found: Iterable[Results], head: str) -> list[Results]:
    """Return the results that hold for the commit `head`, those of earlier commits as its own.

    A failure does not hold: what made the case fail may be in a file of which it knows nothing. It must run again.
    """
    made: dict[Line, Results] = {}
    for r in found:
        if (changed := _changed_tests(r.line.part, r.commit, head)) is None:
            continue
        kept = {c for c, o in r.outcomes.items() if c.partition("::")[0] not in changed}
        if r.commit != head:
            kept = {c for c in kept if r.outcomes[c] != "failed"}
        of = made.setdefault(r.line, replace(r, commit=head, expected=None, outcomes={}, seconds={}, reasons={}))
        if r.expected is not None and (of.expected is None or r.commit == head):
            of.expected = r.expected
        for case in kept:
            of.outcomes[case] = max(r.outcomes[case], of.outcomes.get(case, "skipped"), key=_RANK.__getitem__)
            of.seconds[case], of.reasons[case] = r.seconds[case], r.reasons[case]
    return list(made.values())


def whole_part_holds(part: str, commit: str, head: str) -> bool:
    """Return True if `part` has the same cases in both commits, and none can depend on what changed between them."""
    changed = _changed_tests(part, commit, head)
    if changed is None or _differ(commit, head, "tests/campaign/kept.py"):
        return False
    if _differ(commit, head, _PARTS_FILE) and _claims(part, commit) != _claims(part, head):
        return False
    families = {next((p.places for p in PARTS.values() if file.startswith(p.places)), ()) for file in changed}
    return PARTS[part].places not in families


def _claims(part: str, commit: str) -> list[tuple[tuple[str, ...], str]]:
    """Return what decides which cases a part has: its places and database, and those of parts that come first."""
    with NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(_git("show", f"{commit}:{_PARTS_FILE}"))
        file.flush()
        parts: Mapping[str, Any] = runpy.run_path(file.name)["PARTS"]
    if part not in parts:
        return []
    own, names = parts[part].places, list(parts)
    first = [parts[name] for name in names[: names.index(part)]]
    shared = [p for p in first if any(a.startswith(p.places) for a in own) or any(b.startswith(own) for b in p.places)]
    return [(p.places, p.database) for p in (*shared, parts[part])]


def _changed_tests(part: str, commit: str, head: str) -> set[str] | None:
    """Return the test files that changed from one commit to the other, or use a file that did.

    None: any case of the part may depend on what changed.
    """
    if CHANGES in commit + head:
        return None
    if commit == head:
        return set()
    try:
        names = _differ(commit, head)
    except subprocess.CalledProcessError:  # a commit that this repository does not have
        return None
    unused = tuple(place for place, parts in _UNUSED.items() if part in parts)
    names = [n for n in names if not _NO_CASE.fullmatch(n) and not n.startswith(unused)]
    if not all(n.startswith("tests/") and n.endswith(".py") for n in names):
        return None
    return dependent_files(names, ROOT)


class Recorder:
    """A pytest plugin that writes the file of one run; under pytest-xdist it works in the process that prints."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._running: dict[str, dict[str, Any]] = {}
        self._file: IO[str] | None = None
        self._expected = False

    def expect(self, cases: Sequence[str]) -> None:
        """Write the cases of the whole part, once."""
        if not self._expected:
            self._expected = True
            self._write({"expect": sorted(cases)})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note a phase of a case; write the case after its teardown."""
        case = self._running.setdefault(report.nodeid, {"case": report.nodeid, "outcome": "passed", "seconds": 0.0})
        if report.failed or (report.skipped and case["outcome"] == "passed"):
            case["outcome"] = report.outcome
        if report.skipped and isinstance(report.longrepr, tuple):
            case["reason"] = report.longrepr[2].removeprefix("Skipped: ")
        case["seconds"] = round(case["seconds"] + report.duration, 3)
        if report.when == "teardown":
            self._write(self._running.pop(report.nodeid))

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take the cases of the part from a process of pytest-xdist."""
        if cases := getattr(node, "workeroutput", {}).get(_EXPECTED):
            self.expect(cases)

    def pytest_sessionfinish(self) -> None:
        """Write cases that did not reach their teardown: they failed. Close the file."""
        for case in self._running.values():
            self._write({**case, "outcome": "failed"})
        if self._file is not None:
            self._file.close()

    def _write(self, entry: Mapping[str, object]) -> None:
        if self._file is None:
            began = datetime.now(timezone.utc).strftime("%Y%m%dT%H%M%SZ")
            folder().mkdir(parents=True, exist_ok=True)
            path = folder() / f"{self._line.part}-{self._line.engine}-{began}-{os.getpid()}.jsonl"
            self._file = path.open("w", encoding="utf-8")
            self._write({**vars(self._line), "commit": commit(), "began": began})
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()


class PartFiles:
    """A pytest plugin that reads no test file in which `part` has no case."""

    def __init__(self, part: str, root: Path) -> None:
        self._places, self._root = PARTS[part].places, root

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Return True for a file of another part."""
        if collection_path.suffix != ".py":
            return None
        return None if collection_path.relative_to(self._root).as_posix().startswith(self._places) else True


def register(config: pytest.Config, part: str) -> None:
    """Let a run of `part` read only its files and write the file of its results."""
    config.pluginmanager.register(PartFiles(part, config.rootpath), "campaign-files")
    if not _is_worker(config) and not config.getoption("collectonly"):
        config.pluginmanager.register(Recorder(line_of(part)), "campaign-results")


def chosen(config: pytest.Config, part: str, items: list[pytest.Item]) -> list[pytest.Item]:
    """Note the cases of `part`, given as `items`. Return those to run: with `--remaining` only those without a result.

    They are the whole part only if the run was given no files of its own.
    """
    cases = [item.nodeid for item in items if item.get_closest_marker("campaign")]
    if config.args == config.getini("testpaths"):
        if _is_worker(config):
            config.workeroutput[_EXPECTED] = cases  # type: ignore[attr-defined]
        elif recorder := config.pluginmanager.get_plugin("campaign-results"):
            recorder.expect(cases)
    if not config.getoption("--remaining"):
        return items
    line, there = line_of(part), holding(read(folder().glob(f"{part}-*.jsonl")), commit())
    ended = {c for r in there if r.line == line for c in r.outcomes}
    return [item for item in items if item.nodeid not in ended]


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _differ(commit: str, head: str, *paths: str) -> list[str]:
    """Return the files, of all or of `paths`, that differ between two commits."""
    return _git("diff", "--name-only", "--no-renames", commit, head, "--", *paths).splitlines()


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _version(folders: Path, program: str) -> str:
    """Return product and version of a server program, as it prints them: `mariadbd 11.8.9`."""
    for place in str(folders).split(os.pathsep):
        if (Path(place) / program).exists():
            printed = subprocess.run([f"{place}/{program}", "--version"], check=True, capture_output=True, text=True)
            number = next(w for w in printed.stdout.split() if w[0].isdigit())
            return f"{program} {number.partition('-')[0]}"
    raise FileNotFoundError(f"{program} is not in {folders}")
