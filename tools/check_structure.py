"""Check the structure of the code: cycles, names, sizes, docstrings, tests of classes.

`make lint` runs it from the root: `python -m tools.check_structure`. CONTRIBUTING.md lists the checks. It reads source
files and imports nothing of them, prints each finding with its place and a fix, and exits with 1 if there is any.
Parameters of functions are counted by ruff (PLR0913).
"""

from __future__ import annotations

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from typing_extensions import override

PACKAGE = "qbcd"
STRATEGIES = "qbcd.strategies"
FOLDERS = ("qbcd", "benchmarks", "examples", "tests", "tools")
LINES = 60
SMALL = 60  # lines; a shorter module is for two importers at least
WIDTH = 90  # characters of a docstring's first line
# Limits of counts in qbcd. CLASS_TESTS stays; each other one is the count of today, and may only fall.
CLASS_TESTS = 5  # isinstance and issubclass of strategies outside their package
DOC_LINES = 30  # lines of docstrings for 100 of code
SMALL_MODULES = 29  # modules under SMALL lines with one importer
LONG_FIRSTS = 0  # first lines of docstrings over WIDTH
# Packages whose subpackages have module names of their own: the two wings of sites, the engines, and one package per
# database. The parallel names there (context, diff, errors) are wanted.
PARALLEL = ("qbcd.sites", "qbcd.sites.lake.engines", "qbcd.connectors")
# Basenames that a package may have again in a subpackage.
REPEATED = ("__init__", "base")
QUESTION = re.compile(r"(?:What|Which|Whether|How|When|Where)\b")
DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)

Graph = dict[str, dict[str, int]]


@dataclass(frozen=True, order=True)
class Finding:
    """A finding: file and line, problem, fix."""

    path: Path
    line: int
    problem: str
    fix: str

    @override
    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {self.problem}\n  fix: {self.fix}"


@dataclass(frozen=True)
class Module:
    """A parsed source file. `path` is relative to the root."""

    path: Path
    tree: ast.Module
    lines: tuple[str, ...] = ()

    @classmethod
    def read(cls, root: Path, path: Path) -> Module:
        """Parse the file at `path` below `root`."""
        text = (root / path).read_text(encoding="utf-8")
        return cls(path, ast.parse(text, filename=str(path)), tuple(text.splitlines()))

    @property
    def name(self) -> str:
        """The name by which the module is imported from the root."""
        parts = self.path.with_suffix("").parts
        return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)

    @property
    def package(self) -> str:
        """The package that holds the module; of a package's `__init__`, the package itself."""
        return ".".join(self.path.parent.parts)


def modules(root: Path, folders: Iterable[str] = FOLDERS) -> list[Module]:
    """Return the modules of `folders` below `root`, ordered by path; a missing folder has none."""
    paths = sorted(path for folder in folders for path in (root / folder).rglob("*.py"))
    return [Module.read(root, path.relative_to(root)) for path in paths]


def import_graph(found: Sequence[Module]) -> Graph:
    """Return the imports of each module: modules of `found`, with the line of the first import.

    Imports for types only and imports inside functions count. The packages around an imported module do not: Python
    runs their `__init__` too, but nothing of it is used.
    """
    known = {module.name for module in found}
    graph: Graph = {}
    for module in found:
        targets = graph.setdefault(module.name, {})
        for node in ast.walk(module.tree):
            for name in imported(module, node):
                target = name if name in known else name.rpartition(".")[0]
                if target in known and target != module.name:
                    targets.setdefault(target, getattr(node, "lineno", 1))
    return graph


def imported(module: Module, node: ast.AST) -> list[str]:
    """Return the full names that a statement imports: modules, or names of modules."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if not isinstance(node, ast.ImportFrom):
        return []
    above = module.package.split(".")[: 1 - node.level or None] if node.level else []
    start = ".".join([*above, *([node.module] if node.module else [])])
    return [f"{start}.{alias.name}" for alias in node.names]


def cycles(graph: Graph) -> list[list[str]]:
    """Return a shortest cycle of each group of mutually importing modules, largest group first."""
    reached = {name: reachable(graph, name) for name in graph}
    groups = {
        tuple(sorted(other for other in reached[name] if name in reached[other]))
        for name in graph
        if name in reached[name]
    }
    return [
        min((shortest_cycle(graph, name) for name in group), key=len)
        for group in sorted(groups, key=lambda group: (-len(group), group))
    ]


def reachable(graph: Graph, start: str) -> set[str]:
    """Return all modules that `start` imports, also indirectly; with itself if it is in a cycle."""
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting.extend(graph[name])
    return found


def shortest_cycle(graph: Graph, start: str) -> list[str]:
    """Return the modules of a shortest cycle through `start`; first and last are `start`."""
    paths, seen = [[start]], {start}
    for path in paths:
        for target in sorted(graph[path[-1]]):
            if target == start:
                return [*path, start]
            if target not in seen:
                seen.add(target)
                paths.append([*path, target])
    raise ValueError(f"{start} is in no cycle")


def check_cycles(found: Sequence[Module]) -> Iterator[Finding]:
    """Find modules that import each other."""
    graph, paths = import_graph(found), {module.name: module.path for module in found}
    for cycle in cycles(graph):
        yield Finding(
            paths[cycle[0]],
            graph[cycle[0]][cycle[1]],
            f"import cycle (imports for types count): {' -> '.join(cycle)}",
            "move what both need to a module below them, or pass it as an argument",
        )


def check_classes(found: Sequence[Module]) -> Iterator[Finding]:
    """Find classes that have the name of another one."""
    first: dict[str, str] = {}
    for module in found:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.ClassDef):
                where = f"{module.path}:{node.lineno}"
                if first.setdefault(node.name, where) != where:
                    problem = f"class name {node.name} is used twice, first at {first[node.name]}"
                    yield Finding(module.path, node.lineno, problem, "rename one of them by its role")


def naming_unit(package: str) -> str:
    """Return the package whose module names must differ: of qbcd, or of one in `PARALLEL`."""
    parts, inner = package.split("."), [one for one in PARALLEL if package.startswith(f"{one}.")]
    return ".".join(parts[: max(one.count(".") for one in inner) + 2 if inner else 2])


def check_basenames(found: Sequence[Module]) -> Iterator[Finding]:
    """Find modules that have the basename of another one in the same package or wing."""
    first: dict[tuple[str, str], Path] = {}
    for module in found:
        if module.path.stem not in REPEATED:
            unit = naming_unit(module.package)
            other = first.setdefault((unit, module.path.stem), module.path)
            if other != module.path:
                problem = f"module name {module.path.stem} is used twice in {unit}, first by {other}"
                yield Finding(module.path, 1, problem, "rename one of them by what it does")


def check_lengths(found: Sequence[Module]) -> Iterator[Finding]:
    """Find functions of more than `LINES` lines, from `def` to the last line, with docstring."""
    for module in found:
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                lines = (node.end_lineno or node.lineno) - node.lineno + 1
                if lines > LINES:
                    problem = f"function {node.name} has {lines} lines, at most {LINES} are allowed"
                    yield Finding(module.path, node.lineno, problem, "move a part with a clear name to a function")


def docstrings(module: Module) -> Iterator[tuple[ast.AST, ast.stmt, str]]:
    """Yield each docstring of a module: what it documents, its statement, its text."""
    for node in ast.walk(module.tree):
        if isinstance(node, DOCUMENTED) and (text := ast.get_docstring(node)) is not None:
            yield node, node.body[0], text


def check_copies(found: Sequence[Module]) -> Iterator[Finding]:
    """Find docstrings of functions, of more than one line, that are copies of another one."""
    first: dict[str, str] = {}
    for module in found:
        for node, statement, text in docstrings(module):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and "\n" in text:
                where = f"{module.path}:{statement.lineno}"
                if first.setdefault(text, where) != where:
                    problem = f"docstring of {node.name} is a copy, of {first[text]}"
                    fix = "remove it from a method with @override; otherwise say in one line what is particular here"
                    yield Finding(module.path, statement.lineno, problem, fix)


def over(limit: int, kind: str, findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the findings if there are more than `limit`, each with both numbers."""
    if len(findings) > limit:
        note = f"({len(findings)} such {kind}, at most {limit} are allowed)"
        yield from (replace(one, problem=f"{one.problem} {note}") for one in findings)


def check_first_lines(found: Sequence[Module]) -> Iterator[Finding]:
    """Find first lines of docstrings over `WIDTH` characters, if there are over `LONG_FIRSTS`."""
    long = []
    for module in found:
        for _, statement, text in docstrings(module):
            if (width := len(text.partition("\n")[0])) > WIDTH:
                problem = f"first line of a docstring has {width} characters, at most {WIDTH} are allowed"
                fix = "say the one thing that a reader needs, and the rest below it"
                long.append(Finding(module.path, statement.lineno, problem, fix))
    yield from over(LONG_FIRSTS, "lines", long)


def check_docstring_lines(found: Sequence[Module]) -> Iterator[Finding]:
    """Find more than `DOC_LINES` lines of docstrings for 100 of code, over all modules together.

    Code is what is neither docstring nor comment nor blank.
    """
    counts = {module.path: (documented_lines(module), code_lines(module)) for module in found}
    documented, code = (sum(numbers[n] for numbers in counts.values()) for n in (0, 1))
    if 100 * documented > DOC_LINES * code:
        most = max(counts, key=lambda path: 100 * counts[path][0] - DOC_LINES * counts[path][1])
        problem = (
            f"{PACKAGE} has {documented} lines of docstrings and {code} of code, at most {DOC_LINES} for 100 are "
            f"allowed; the largest part above that is here: {counts[most][0]} and {counts[most][1]}"
        )
        yield Finding(most, 1, problem, "remove what names and types say, and what the interface says once")


def documented_lines(module: Module) -> int:
    """Return the number of a module's lines that are in docstrings."""
    return sum((one.end_lineno or one.lineno) - one.lineno + 1 for _, one, _ in docstrings(module))


def code_lines(module: Module) -> int:
    """Return the number of a module's lines without docstrings, comments and blank lines."""
    lines = [line.strip() for line in module.lines]
    for _, one, _ in docstrings(module):
        for number in range(one.lineno, (one.end_lineno or one.lineno) + 1):
            lines[number - 1] = ""
    return sum(bool(line) and not line.startswith("#") for line in lines)


def check_small_modules(found: Sequence[Module]) -> Iterator[Finding]:
    """Find modules under `SMALL` lines with one importer, if there are over `SMALL_MODULES`."""
    importers: dict[str, list[str]] = {}
    for name, targets in import_graph(found).items():
        for target in targets:
            importers.setdefault(target, []).append(name)
    small = [
        Finding(
            module.path,
            1,
            f"module of {len(module.lines)} lines with one importer, {importers[module.name][0]}",
            "move its content to the importer, or to a module with the same subject",
        )
        for module in found
        if module.path.stem != "__init__" and len(module.lines) < SMALL and len(importers.get(module.name, ())) == 1
    ]
    yield from over(SMALL_MODULES, "modules", small)


def check_class_tests(found: Sequence[Module]) -> Iterator[Finding]:
    """Find isinstance and issubclass of strategies elsewhere, if there are over `CLASS_TESTS`."""
    inside = [module for module in found if f"{module.package}.".startswith(f"{STRATEGIES}.")]
    names, tests = strategy_classes(inside), []
    for module in found:
        for node in ast.walk(module.tree) if module not in inside else ():
            if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
                tested = sorted(names & {name for argument in node.args[1:] for name in last_names(argument)})
                if tested:
                    problem = f"{ast.unparse(node.func)} of strategy {' or '.join(tested)} outside {STRATEGIES}"
                    fix = "ask the strategy: give its base a method or an attribute that says it"
                    tests.append(Finding(module.path, node.lineno, problem, fix))
    yield from over(CLASS_TESTS, "tests", tests)


def strategy_classes(found: Sequence[Module]) -> set[str]:
    """Return the names of the classes that derive from `Strategy`, and its own."""
    nodes = [node for module in found for node in ast.walk(module.tree) if isinstance(node, ast.ClassDef)]
    names = {"Strategy"}
    while (
        more := {node.name for node in nodes if names & {name for base in node.bases for name in last_names(base)}}
        - names
    ):
        names |= more
    return names


def last_names(node: ast.AST) -> set[str]:
    """Return the names in an expression, without the modules before them."""
    names = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    return names | {one.attr for one in ast.walk(node) if isinstance(one, ast.Attribute)}


def check_docstrings(found: Sequence[Module]) -> Iterator[Finding]:
    """Find docstrings that begin with a question word."""
    for module in found:
        for _, statement, text in docstrings(module):
            if word := QUESTION.match(text):
                problem = f"docstring begins with {word.group()}"
                fix = "begin with an imperative or a noun phrase: `Return ..`, `A session pool: ..`"
                yield Finding(module.path, statement.lineno, problem, fix)


def changed_files(root: Path, base: str | None) -> tuple[set[Path], str]:
    """Return the Python files that differ from `base`, and a line with the compared commit.

    Without `base` they are compared with the commit where this branch left origin/main. If this is the present commit,
    they are compared with its parent. New files that git does not track yet count. The paths are relative to `root`.
    """
    if git(root, "rev-parse", "--is-inside-work-tree") is None:
        return set(), "no git repository here: docstrings are not checked"
    start = merge_base(root, base or "origin/main")
    if base and start is None:
        return set(), f"git knows no commit {base}: docstrings are not checked"
    if not base and start in (None, git(root, "rev-parse", "HEAD")):
        start = git(root, "rev-parse", "--verify", "--quiet", "HEAD~1")
    if start is None:
        return set(), "no earlier commit here: docstrings are not checked"
    differing = git(root, "diff", "--name-only", "--relative", "--diff-filter=d", start, "--", "*.py") or ""
    untracked = git(root, "ls-files", "--others", "--exclude-standard", "--", "*.py") or ""
    found = {Path(line) for line in f"{differing}\n{untracked}".splitlines() if line}
    return found, f"docstrings: {len(found)} files that differ from {start[:12]}"


def merge_base(root: Path, ref: str) -> str | None:
    """Return the commit where this branch left `ref`, or None if git does not know it."""
    return git(root, "merge-base", ref, "HEAD")


def git(root: Path, *arguments: str) -> str | None:
    """Return the output of git without the last line break; None if it fails or is missing."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


PACKAGE_CHECKS: tuple[Callable[[Sequence[Module]], Iterator[Finding]], ...] = (
    check_cycles,
    check_classes,
    check_basenames,
    check_copies,
    check_first_lines,
    check_docstring_lines,
    check_small_modules,
    check_class_tests,
)


def check(root: Path, changed: set[Path]) -> list[Finding]:
    """Return all findings below `root`, ordered by place; check docstrings only in `changed`."""
    found = modules(root)
    package = [module for module in found if module.path.parts[0] == PACKAGE]
    findings = [finding for run in PACKAGE_CHECKS for finding in run(package)]
    findings += check_lengths(found)
    findings += check_docstrings([module for module in found if module.path in changed])
    return sorted(findings)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the findings; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.check_structure", description=__doc__.partition("\n")[0])
    parser.add_argument("--base", help="check docstrings of files that differ from this commit (default: origin/main)")
    parser.add_argument("root", nargs="?", default=".", help="root of the project (default: this folder)")
    options = parser.parse_args(arguments)
    root = Path(options.root).resolve()
    changed, note = changed_files(root, options.base)
    findings = check(root, changed)
    for finding in findings:
        print(finding)
    print(f"{note}; {len(findings) or 'no'} finding{'s' * (len(findings) != 1)}")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
