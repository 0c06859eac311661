"""Test files that depend on changed files of `tests`: by imports, by names of modules, or by a conftest above them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tools.check_structure import Graph, Module, import_graph, modules, reachable

_NAMED = re.compile(r"\btests(?:\.\w+)+")


def dependent_files(changed: Iterable[str], root: Path) -> set[str]:
    """Return the Python files of `tests` that depend on a changed one, itself included; relative to `root`."""
    paths, graph = module_uses(root)
    ends = {name for name, path in paths.items() if path in set(changed)}
    if not ends:
        return set()
    return {path for name, path in paths.items() if name in ends or ends & reachable(graph, name)}


@cache
def module_uses(root: Path) -> tuple[dict[str, str], Graph]:
    """Return the file of each module of `tests`, and which modules it uses; read once a process."""
    found = modules(root, ("tests",))
    paths = {module.name: str(module.path) for module in found}
    graph = import_graph(found)
    for module in found:
        for name in _implied(module):
            if name in paths:
                graph[module.name].setdefault(name, 1)
    return paths, graph


def _implied(module: Module) -> Iterator[str]:
    """Yield modules that a module uses without an import: those that it starts, its packages and their conftests."""
    for line in module.lines:
        yield from _NAMED.findall(line)
    parts = module.name.split(".")
    for depth in range(1, len(parts)):
        package = ".".join(parts[:depth])
        yield from (package, f"{package}.conftest")
