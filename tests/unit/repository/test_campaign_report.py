"""Files of campaign runs, and the table that is made of them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from itertools import count
from pathlib import Path

import pytest

from tests.campaign import dependencies, parts, results
from tools import campaign_report
from tools.campaign_report import Row, lacks, put, rows_of, table, with_kept


def written(folder: Path, name: str, commit: str, *entries: dict[str, object], **head: str) -> Path:
    """Write the file of a run."""
    first = {"part": "mutants", "engine": "auto", "servers": "", **head, "commit": commit}
    path = folder / f"{name}.jsonl"
    path.write_text("".join(json.dumps(e) + "\n" for e in (first, *entries)))
    return path


def case(name: str, outcome: str = "passed", seconds: float = 30.0) -> dict[str, object]:
    return {"case": name, "outcome": outcome, "seconds": seconds}


def test_runs_of_one_part_on_one_commit_are_one_line(tmp_path: Path) -> None:
    one = written(tmp_path, "1", "aaaa", {"expect": ["a", "b", "c", "d"]}, case("a"), case("b", "failed"))
    two = written(tmp_path, "2", "aaaa", case("b"), case("c", "skipped", 0.0))
    with two.open("a") as file:
        file.write('{"case": "d", "outco')  # killed while it wrote
    (found,) = results.read([one, two])
    assert found.outcomes == {"a": "passed", "b": "failed", "c": "skipped"}
    assert "| `mutants` | auto | 3 | 1 | 1 | 1 | 1 | 1.0 | `aaaa` |\n" in table([Row.of(found)])
    assert {"mutants auto: 1 failed", "mutants auto: not all cases have run", "lake_postgresql spark: missing"} <= set(
        lacks([Row.of(found)])
    )


def test_parts_without_a_file_are_shown_as_missing(tmp_path: Path) -> None:
    made = table(map(Row.of, results.read([written(tmp_path, "1", "aaaa", {"expect": ["a"]}, case("a"))])))
    assert {line.split("`")[1] for line in made.splitlines()[2:]} == set(parts.PARTS)
    assert "| `lake_postgresql` | spark | **missing** |" in made
    assert "| `mutants` | auto | **missing** |" not in made
    assert "| `jdbc` | auto | **missing** |" in made


def test_other_servers_do_not_count_as_the_usual_ones(tmp_path: Path) -> None:
    made = table(map(Row.of, results.read([written(tmp_path, "1", "aaaa", case("a"), servers="mariadbd 11.8.9")])))
    assert "| `mutants` | auto, mariadbd 11.8.9 | 1 | 1 | 0 | 0 | not known |" in made
    assert "| `mutants` | auto | **missing** |" in made


def test_a_whole_campaign_lacks_nothing(tmp_path: Path) -> None:
    files = [
        written(tmp_path, f"{part}-{engine}", "aaaa", {"expect": ["a"]}, case("a"), part=part, engine=engine)
        for part in parts.PARTS
        for engine in parts.PARTS[part].engines
    ]
    assert lacks(map(Row.of, results.read(files))) == []


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Take a file's name and text, change and commit the file; return the commit."""
    root = tmp_path / "repository"
    root.mkdir()
    monkeypatch.setattr(results, "ROOT", root)
    made = count()

    def changed(name: str, text: str = "") -> str:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{text}\n# {next(made)}\n")
        dependencies.module_uses.cache_clear()  # it is per process and folder, and names of folders return
        subprocess.run(["git", "add", "."], cwd=root, check=True)
        author = ("-c", "user.name=x", "-c", "user.email=x@example.org")
        subprocess.run(["git", *author, "commit", "-q", "-m", name], cwd=root, check=True)
        return results.commit()

    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    changed("qbcd/x.py")
    return changed


A, B = "tests/one/test_a.py::one", "tests/one/test_b.py::two"


@pytest.mark.parametrize(
    ("file", "left"),
    [
        ("docs/page.txt", {A, B}),
        ("README.md", {A, B}),
        ("docker/x.yaml", {A, B}),
        ("tests/campaign/kept.py", {A, B}),
        ("tests/one/test_a.py", {B}),
        ("tests/support/imported.py", {B}),
        ("tests/support/started.py", {B}),
        ("tests/support/unused.py", {A, B}),
        ("tests/two/conftest.py", {A, B}),
        ("tests/one/conftest.py", set()),
        ("tests/conftest.py", set()),
        ("tests/golden/one.sql", None),
        ("qbcd/x.py", None),
        ("pyproject.toml", None),
    ],
)
def test_results_hold_until_what_they_depend_on_changes(
    repository: Callable[..., str], tmp_path: Path, file: str, left: set[str] | None
) -> None:
    for name in ("qbcd/x.py", "tests/one/conftest.py", "tests/support/started.py", "tests/one/test_b.py"):
        repository(name)
    repository("tests/support/imported.py", "RUN = ['-m', 'tests.support.started']")
    repository("tests/one/test_a.py", "from tests.support.imported import RUN")
    first = repository("README.md")
    cases = [case(A), case(B), case("tests/one/test_b.py::three", "failed")]
    found = results.read([written(tmp_path, "1", first, *cases)])
    assert results.holding(found, first) == found
    second = repository(file)
    there = results.holding(found, second)
    assert [(r.commit, set(r.outcomes)) for r in there] == ([] if left is None else [(second, left)])


def test_a_case_that_failed_earlier_has_no_result_until_it_runs_again(
    repository: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = repository("README.md")
    expected: dict[str, object] = {"expect": ["tests/test_a.py::one", "tests/test_b.py::two"]}
    written(tmp_path, "1", first, expected, case("tests/test_a.py::one"), case("tests/test_b.py::two", "failed"))
    second = repository("README.md")
    arguments = ["--results", str(tmp_path), "--print"]
    campaign_report.main(arguments)
    assert f"| `mutants` | auto | 1 | 1 | 0 | 0 | 1 | 0.5 | `{second}` |" in capsys.readouterr().out
    campaign_report.main([*arguments, "--commit", first])
    assert f"| `mutants` | auto | 2 | 1 | 1 | 0 | 0 | 1.0 | `{first}` |" in capsys.readouterr().out
    written(tmp_path, "2", second, case("tests/test_b.py::two"))
    campaign_report.main(arguments)
    assert f"| `mutants` | auto | 2 | 2 | 0 | 0 | 0 | 1.0 | `{second}` |" in capsys.readouterr().out
    campaign_report.main([*arguments, "--each-commit"])
    shown = capsys.readouterr().out
    assert f"`{first}` |" in shown
    assert f"`{second}` |" in shown


def test_a_tree_with_changes_has_no_results(
    repository: Callable[..., str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written(tmp_path, "1", repository("README.md") + results.CHANGES, case("a"))
    arguments = ["--results", str(tmp_path), "--print"]
    assert campaign_report.main(arguments) == 1
    assert "| `mutants` | auto | **missing** |" in capsys.readouterr().out
    campaign_report.main([*arguments, "--each-commit"])
    assert "+changes` |" in capsys.readouterr().out


def row(part: str, commit: str, *, failed: int = 0, not_run: int | None = 0, servers: str = "") -> Row:
    return Row(results.Line(part, "auto", servers), 4, 3 - failed, failed, 1, not_run, 2.5, commit)


def test_rows_are_read_as_they_were_written() -> None:
    rows = [row("kill_mysql", "aaaa"), row("mutants", "bbbb", failed=2), row("jdbc", "cccc", servers="mariadbd 11.8.9")]
    assert sorted(rows_of(table(rows)), key=lambda r: r.commit) == rows


@pytest.mark.parametrize(
    ("file", "stay"),
    [
        ("docs/page.txt", {"kill_mysql", "kill_postgresql", "servers_mysql"}),
        ("tests/faults/test_kill.py", {"servers_mysql"}),
        ("tests/unit/test_x.py", {"kill_mysql", "kill_postgresql"}),
        ("tests/campaign/jdbc/test_x.py", {"kill_mysql", "kill_postgresql", "servers_mysql"}),
        ("tests/campaign/kept.py", set()),
        ("qbcd/x.py", set()),
        ("qbcd/connectors/mysql_family/x.py", {"kill_postgresql"}),
    ],
)
def test_whole_rows_of_the_page_stay_while_they_hold(repository: Callable[..., str], file: str, stay: set[str]) -> None:
    first = repository("README.md")
    page = table(
        [
            row("kill_mysql", first),
            row("kill_postgresql", first),
            row("servers_mysql", first),
            row("jdbc", first, failed=1),
            row("files", first, not_run=2),
        ]
    )
    second = repository(file)
    assert {r.line.part: r.commit for r in with_kept([], page, second)} == dict.fromkeys(stay, second)


def test_rows_of_a_part_end_when_it_may_have_other_cases(repository: Callable[..., str]) -> None:
    text = Path(parts.__file__).read_text("utf-8")
    first = repository("tests/campaign/parts.py", text)
    page = table([row(part, first) for part in ("kill_mysql", "files", "sinks_mysql", "servers_mysql")])
    second = repository("tests/campaign/parts.py", text + "# the same parts")
    assert len(with_kept([], page, second)) == 4
    other = text.replace('"files": Part((', '"files": Part(("tests/integration/sinks/test_x.py", ')
    third = repository("tests/campaign/parts.py", other)
    assert [r.line.part for r in with_kept([], page, third)] == ["kill_mysql"]


@pytest.mark.parametrize(
    ("failed", "not_run", "from_files"), [(0, 3, False), (0, None, False), (0, 0, True), (1, 3, True)]
)
def test_files_with_the_whole_part_or_a_failure_replace_the_row(
    repository: Callable[..., str], failed: int, not_run: int | None, from_files: bool
) -> None:
    commit = repository("README.md")
    kept, made = row("jdbc", commit), replace(row("jdbc", commit, failed=failed, not_run=not_run), minutes=9.0)
    assert with_kept([made], table([kept]), commit) == [made if from_files else kept]


def test_the_page_has_the_marks_of_the_table() -> None:
    page = campaign_report.PAGE.read_text("utf-8")
    changed = put("| x |\n", page)
    assert "| x |\n" in changed
    assert put("", changed) == put("", page)


@pytest.mark.campaign
@pytest.mark.parametrize("processes", ["0", "2"])
def test_a_run_writes_its_file_and_continues(tmp_path: Path, processes: str) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests.campaign import results\n"
        "def pytest_addoption(parser):\n    parser.addoption('--remaining', action='store_true')\n"
        "def pytest_configure(config):\n    results.register(config, 'mutants')\n"
        "def pytest_collection_modifyitems(config, items):\n    items[:] = results.chosen(config, 'mutants', items)\n"
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\ntestpaths = tests\nmarkers = campaign\n")
    here = tmp_path / "tests/campaign/mutants"
    here.mkdir(parents=True)
    (tmp_path / "tests/test_y.py").write_text("raise AssertionError('a file of another part')\n")
    (here / "test_x.py").write_text(
        "import os, pytest\npytestmark = pytest.mark.campaign\n"
        "@pytest.fixture\ndef broken():\n    yield\n    assert False\n"
        "def test_good(): pass\n"
        "def test_bad(): assert False\n"
        "def test_skipped(): pytest.skip('no server')\n"
        "def test_teardown(broken): pass\n"
        "def test_last(): os.environ.get('DIE') and os._exit(3)\n"
    )

    def run(*options: str, left: int = 0, **environ: str) -> dict[str, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-n", processes, *options]
        more = {"PYTHONPATH": str(results.ROOT), "QBCD_CAMPAIGN_RESULTS": str(tmp_path / "out"), **environ}
        subprocess.run(command, cwd=tmp_path, env={**os.environ, **more}, capture_output=True, timeout=120, check=False)
        (found,) = results.read((tmp_path / "out").glob("*.jsonl"))
        assert found.commit == results.commit()
        assert found.reasons.get("tests/campaign/mutants/test_x.py::test_skipped", "no server") == "no server"
        assert found.not_run == left
        return {name.partition("::")[2]: outcome for name, outcome in found.outcomes.items()}

    ended = {"test_good": "passed", "test_bad": "failed", "test_skipped": "skipped", "test_teardown": "failed"}
    if processes == "0":
        assert run("-k", "good", left=4) == {"test_good": "passed"}
    died = run(DIE="1", left=1 if processes == "0" else 0)
    assert {k: v for k, v in died.items() if k != "test_last"} == ended
    if processes == "0":  # under pytest-xdist a process that died fails its case
        assert "test_last" not in died
        assert run("--remaining") == {**ended, "test_last": "passed"}
        assert len(list((tmp_path / "out").glob("*.jsonl"))) == 3
