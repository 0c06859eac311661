"""The structure checks of `make lint`: each one finds its kind of fault in a small tree."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tools import check_structure
from tools.check_structure import changed_files, check, import_graph, main, modules

with_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

CLEAN = {
    "qbcd/__init__.py": '"""Of the package."""\n',
    "qbcd/low.py": "class Low:\n    pass\n",
    "qbcd/high.py": "from qbcd.low import Low\n\n\ndef high() -> Low:\n    return Low()\n",
    "qbcd/code.py": "".join(f"x{n} = {n}\n" for n in range(60)),  # the docstrings of a test are few next to it
}


def tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in {**CLEAN, **files}.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    return root


def problems(root: Path, *changed: str) -> list[str]:
    found = check(root, {Path(path) for path in changed})
    assert all(finding.fix for finding in found)
    return [f"{finding.path}:{finding.line}: {finding.problem}" for finding in found]


def commit(root: Path) -> None:
    git = ["git", "-C", str(root), "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "--quiet", "--message", "state"], check=True)


def repository(root: Path, files: dict[str, str]) -> Path:
    subprocess.run(["git", "init", "--quiet", "--initial-branch=main", str(root)], check=True)
    commit(tree(root, files))
    return root


def test_a_sound_tree_has_no_findings(tmp_path: Path) -> None:
    assert problems(tree(tmp_path, {}), *CLEAN) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("import qbcd.high\n", 1),
        ("from qbcd import high\n", 1),
        ("from . import high\n", 1),
        ("from .high import high\n", 1),
        ("from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from qbcd.high import high\n", 4),
        ("def low() -> None:\n    from qbcd.high import high\n\n    high()\n", 2),
    ],
    ids=["module", "member", "relative", "relative_name", "type_only", "in_a_function"],
)
def test_every_kind_of_import_closes_a_cycle(tmp_path: Path, text: str, line: int) -> None:
    root = tree(tmp_path, {"qbcd/low.py": text + "class Low: ...\n"})
    assert import_graph(modules(root))["qbcd.low"] == {"qbcd.high": line}
    expected = "qbcd.high -> qbcd.low -> qbcd.high"
    assert problems(root) == [f"qbcd/high.py:1: import cycle (imports for types count): {expected}"]


def test_a_cycle_through_a_package_is_found_and_its_shortest_way_is_named(tmp_path: Path) -> None:
    files = {
        "qbcd/room/__init__.py": "from qbcd.room.one import One\n",
        "qbcd/room/one.py": "from qbcd.room.two import Two\n\n\nclass One: ...\n",
        "qbcd/room/two.py": "from qbcd.room.three import x\nfrom qbcd.room import One\n\n\nclass Two: ...\n",
        "qbcd/room/three.py": "from ..room.two import Two\n\nx = Two\n",
    }
    expected = "qbcd.room.three -> qbcd.room.two -> qbcd.room.three"
    assert problems(tree(tmp_path, files)) == [
        f"qbcd/room/three.py:1: import cycle (imports for types count): {expected}"
    ]


def test_two_cycles_that_share_no_module_are_two_findings(tmp_path: Path) -> None:
    files = {f"qbcd/{one}.py": f"import qbcd.{other}\n" for one, other in ("ab", "ba", "cd", "dc")}
    assert [line.rpartition(": ")[2] for line in problems(tree(tmp_path, files))] == [
        "qbcd.a -> qbcd.b -> qbcd.a",
        "qbcd.c -> qbcd.d -> qbcd.c",
    ]


def test_importing_a_module_is_no_import_of_its_package(tmp_path: Path) -> None:
    files = {"qbcd/room/__init__.py": "from qbcd.room.one import x\n", "qbcd/room/one.py": "x = 1\n"}
    files["qbcd/room/two.py"] = "from qbcd.room.one import x\n"
    assert problems(tree(tmp_path, files)) == []


def test_a_class_name_is_used_once(tmp_path: Path) -> None:
    root = tree(tmp_path, {"qbcd/room/other.py": "x = 1\n\n\nclass Outer:\n    class Low: ...\n"})
    assert problems(root) == ["qbcd/room/other.py:5: class name Low is used twice, first at qbcd/low.py:1"]


@pytest.mark.parametrize(
    ("first", "second", "unit"),
    [
        ("qbcd/state/rows.py", "qbcd/state/deep/rows.py", "qbcd.state"),
        ("qbcd/sites/lake/replica/rows.py", "qbcd/sites/lake/fetch/rows.py", "qbcd.sites.lake"),
        ("qbcd/connectors/mysql/rows.py", "qbcd/connectors/mysql/deep/rows.py", "qbcd.connectors.mysql"),
    ],
)
def test_a_module_name_is_used_once_in_a_package(tmp_path: Path, first: str, second: str, unit: str) -> None:
    (earlier, later) = sorted((first, second))
    root = tree(tmp_path, {first: "", second: ""})
    assert problems(root) == [f"{later}:1: module name rows is used twice in {unit}, first by {earlier}"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("qbcd/sites/lake/context.py", "qbcd/sites/database/context.py"),
        ("qbcd/sites/context.py", "qbcd/sites/database/context.py"),
        ("qbcd/sites/lake/engines/local/rows.py", "qbcd/sites/lake/engines/spark/rows.py"),
        ("qbcd/connectors/leaves.py", "qbcd/connectors/postgresql/leaves.py"),
        ("qbcd/connectors/mysql/types.py", "qbcd/connectors/postgresql/types.py"),
        ("qbcd/state/rows.py", "qbcd/sql/rows.py"),
        ("qbcd/state/base.py", "qbcd/state/deep/base.py"),
        ("qbcd/state/__init__.py", "qbcd/state/deep/__init__.py"),
        ("benchmarks/rows.py", "benchmarks/tools/rows.py"),
    ],
)
def test_parallel_module_names_are_no_finding(tmp_path: Path, first: str, second: str) -> None:
    assert problems(tree(tmp_path, {first: "", second: ""})) == []


@pytest.mark.parametrize("folder", ["qbcd", "benchmarks", "examples", "tests", "tools"])
@pytest.mark.parametrize("form", ["def long():", "async def long():"])
def test_a_function_has_at_most_60_lines(tmp_path: Path, folder: str, form: str) -> None:
    body = '    """Docstring."""\n' + "    x = 1\n" * 58
    root = tree(tmp_path, {f"{folder}/long.py": f"@decorator\n{form}\n{body}"})
    assert problems(root) == []
    tree(tmp_path, {f"{folder}/long.py": f"class A:\n    x = 1\n\n{form}\n{body}    x = 2\n"})
    assert problems(root) == [f"{folder}/long.py:4: function long has 61 lines, at most 60 are allowed"]


@pytest.mark.parametrize("word", ["What", "Which", "Whether", "How", "When", "Where"])
def test_docstrings_of_changed_files_begin_with_no_question_word(tmp_path: Path, word: str) -> None:
    first = f'"""{word} this is."""\n'
    text = f"{first}class A:\n    {first}    def a(self):\n        {first}\n\nasync def b():\n    {first}"
    root = tree(tmp_path, {"qbcd/a.py": text, "tests/b.py": first})
    assert problems(root) == []
    assert problems(root, "qbcd/a.py", "qbcd/absent.py") == [
        f"qbcd/a.py:{line}: docstring begins with {word}" for line in (1, 3, 5, 9)
    ]
    assert problems(root, "tests/b.py") == [f"tests/b.py:1: docstring begins with {word}"]


@pytest.mark.parametrize("docstring", ["Whatever it is.", "Return what it is.", "However it is.", "Wherever."])
def test_other_docstrings_are_no_finding(tmp_path: Path, docstring: str) -> None:
    assert problems(tree(tmp_path, {"qbcd/a.py": f'"""{docstring}"""\n'}), "qbcd/a.py") == []


COPY = '"""Return one.\n\n    It is not two.\n    """'


@pytest.mark.parametrize(
    ("files", "line"),
    [
        ({"a": f"class A:\n    def a(self):\n        {COPY}\n\nclass B(A):\n    def a(self):\n        {COPY}\n"}, 10),
        ({"a": f"def a():\n    {COPY}\n", "b": f"x = 1\n\nasync def b():\n    {COPY}\n"}, 4),
        ({"a": f"def a():\n    {COPY}\n", "room/b": f"class B:\n    def b(self):\n        {COPY}\n"}, 3),
    ],
    ids=["subclass", "sibling", "elsewhere"],
)
def test_a_docstring_of_several_lines_is_written_once(tmp_path: Path, files: dict[str, str], line: int) -> None:
    root, name = tree(tmp_path, {f"qbcd/{path}.py": text for path, text in files.items()}), list(files)[-1]
    first = f"qbcd/a.py:{3 if 'class A' in files['a'] else 2}"
    [found] = problems(root)
    assert found.startswith(f"qbcd/{name}.py:{line}: docstring of ")
    assert found.endswith(f" is a copy, of {first}")


def test_docstrings_of_one_line_and_of_modules_and_classes_may_be_equal(tmp_path: Path) -> None:
    one = '"""Return one."""'
    text = f"{COPY}\n\n\ndef a():\n    {one}\n\n\ndef b():\n    {one}\n"
    assert problems(tree(tmp_path, {"qbcd/a.py": text, "qbcd/b.py": text})) == []


def test_long_first_lines_are_found_above_their_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_class = f'class A:\n    """{"a" * 90}\n\n    {"b" * 100}"""\n\n'
    text = f'"""{"a" * 91}\n\nb"""\n\n\n{of_class}def a():\n    """{"a" * 95}"""\n'
    root = tree(tmp_path, {"qbcd/a.py": text})
    monkeypatch.setattr(check_structure, "LONG_FIRSTS", 2)
    assert problems(root) == []
    monkeypatch.setattr(check_structure, "LONG_FIRSTS", 1)
    assert problems(root) == [
        f"qbcd/a.py:{line}: first line of a docstring has {width} characters, at most 90 are allowed "
        "(2 such lines, at most 1 are allowed)"
        for line, width in ((1, 91), (12, 95))
    ]


def test_lines_of_docstrings_are_limited_by_those_of_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_structure, "DOC_LINES", 25)
    code = "".join(f"y{n} = {n}  # one\n# two\n\n" for n in range(34))
    files = {"qbcd/code.py": code, "qbcd/low.py": "class Low:\n    pass\n"}  # 34, 2 and 3 lines; 1 of a docstring
    whole = "a\n" * 7
    root = tree(tmp_path, {**files, "qbcd/a.py": f'"""{whole}"""\nx = 1\n'})  # 9 for 40: 22.5
    assert problems(root) == []
    tree(root, {**files, "qbcd/a.py": f'"""{whole}a\na\n"""\nx = 1\n'})
    assert problems(root) == [
        "qbcd/a.py:1: qbcd has 11 lines of docstrings and 40 of code, at most 25 for 100 are allowed; the largest part "
        "above that is here: 10 and 1"
    ]


def test_small_modules_with_one_importer_are_found_above_their_limit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "qbcd/small.py": "x = 1\n" * 59,
        "qbcd/room/__init__.py": "",
        "qbcd/large.py": "x = 1\n" * 60,
        "qbcd/shared.py": "",
        "qbcd/one.py": "import qbcd.small\nimport qbcd.large\nimport qbcd.shared\nimport qbcd.room\n",
        "qbcd/two.py": "import qbcd.shared\n",
    }
    root = tree(tmp_path, files)  # `low` of the sound tree is small too, and only `high` imports it
    monkeypatch.setattr(check_structure, "SMALL_MODULES", 2)
    assert problems(root) == []
    monkeypatch.setattr(check_structure, "SMALL_MODULES", 1)
    note = "(2 such modules, at most 1 are allowed)"
    assert problems(root) == [
        f"qbcd/{name}.py:1: module of {lines} lines with one importer, qbcd.{by} {note}"
        for name, lines, by in (("low", 2, "high"), ("small", 59, "one"))
    ]


def test_tests_of_strategy_classes_are_found_above_their_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {
        "qbcd/strategies/base.py": "class Strategy: ...\n\n\nclass Middle(Strategy): ...\n\n\nclass Options: ...\n",
        "qbcd/strategies/one.py": "import base\n\n\nclass Deep(base.Middle[int]): ...\n\n\nisinstance(1, Deep)\n",
        "qbcd/strategies_of.py": "isinstance(1, int | one.Deep)\nisinstance(1, Options)\nx = Deep\n",
        "qbcd/use.py": "isinstance(1, (Strategy, Deep))\nissubclass(int, Middle)\nisinstance(Deep, type)\n",
    }
    root = tree(tmp_path, files)
    monkeypatch.setattr(check_structure, "CLASS_TESTS", 3)
    assert problems(root) == []
    monkeypatch.setattr(check_structure, "CLASS_TESTS", 2)
    note = "outside qbcd.strategies (3 such tests, at most 2 are allowed)"
    assert problems(root) == [
        f"qbcd/strategies_of.py:1: isinstance of strategy Deep {note}",
        f"qbcd/use.py:1: isinstance of strategy Deep or Strategy {note}",
        f"qbcd/use.py:2: issubclass of strategy Middle {note}",
    ]


@with_git
def test_changed_files_are_those_of_the_branch_and_of_the_working_tree(tmp_path: Path) -> None:
    root = repository(tmp_path, {"qbcd/old.py": "", "qbcd/deleted.py": "", "qbcd/edited.py": ""})
    tree(root, {"qbcd/branch.py": "", "notes.txt": ""})
    commit(root)
    (root / "qbcd/edited.py").write_text("x = 1\n", encoding="utf-8")
    (root / "qbcd/deleted.py").unlink()
    tree(root, {"qbcd/new.py": ""})
    expected = {Path(f"qbcd/{name}.py") for name in ("branch", "edited", "new")}
    assert changed_files(root, "HEAD~1")[0] == expected
    assert changed_files(root, None)[0] == expected  # without origin/main: the last commit's parent
    assert changed_files(root, "HEAD")[0] == expected - {Path("qbcd/branch.py")}


@with_git
def test_without_a_base_the_branch_is_compared_with_origin_main(tmp_path: Path) -> None:
    root = repository(tmp_path, {})
    subprocess.run(["git", "-C", str(root), "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    for name in ("one", "two"):
        tree(root, {f"qbcd/{name}.py": ""})
        commit(root)
    assert changed_files(root, None)[0] == {Path("qbcd/one.py"), Path("qbcd/two.py")}
    subprocess.run(["git", "-C", str(root), "update-ref", "refs/remotes/origin/main", "HEAD"], check=True)
    assert changed_files(root, None)[0] == {Path("qbcd/two.py")}  # pushed already: the last commit


@with_git
def test_without_git_or_an_earlier_commit_docstrings_are_not_checked(tmp_path: Path) -> None:
    tree(tmp_path, {})
    assert changed_files(tmp_path, None) == (set(), "no git repository here: docstrings are not checked")
    repository(tmp_path, {})
    assert changed_files(tmp_path, None) == (set(), "no earlier commit here: docstrings are not checked")
    assert changed_files(tmp_path, "nowhere") == (set(), "git knows no commit nowhere: docstrings are not checked")


def test_findings_are_printed_with_place_and_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tree(tmp_path, {"qbcd/other.py": "class Low: ...\n"})
    assert main([str(root)]) == 1
    assert capsys.readouterr().out.splitlines() == [
        "qbcd/other.py:1: class name Low is used twice, first at qbcd/low.py:1",
        "  fix: rename one of them by its role",
        "no git repository here: docstrings are not checked; 1 finding",
    ]
    (root / "qbcd/other.py").unlink()
    assert main([str(root)]) == 0
    assert capsys.readouterr().out == "no git repository here: docstrings are not checked; no findings\n"
