"""Names that tests replace exist: a renamed function or constant is found here, not by a test that replaces nothing."""

from __future__ import annotations

import ast
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tools.check_structure import Module, imported, modules

ROOT = Path(__file__).parents[3]
PATCHING = ("setattr", "delattr")
# Objects that only exist while the test runs: parameters and variables.
UNKNOWN = object()


def patches(tree: ast.AST) -> Iterator[tuple[int, ast.expr, str]]:
    """Yield line, target and name of each call that replaces or removes a named attribute.

    The name is empty if the target is the text of the whole path.
    """
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called not in PATCHING or any(one.arg == "raising" for one in node.keywords):
            continue
        target, *more = node.args
        if isinstance(target, ast.Constant) and isinstance(target.value, str):
            yield node.lineno, target, ""
        elif more and isinstance(more[0], ast.Constant) and isinstance(more[0].value, str):
            yield node.lineno, target, more[0].value


def pairs(tree: ast.AST) -> Iterator[tuple[int, ast.expr, str]]:
    """Yield line, name and text of each pair of a name and an identifier, which a loop may hand to such a call."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Tuple) and len(node.elts) == 2:
            target, named = node.elts
            text = named.value if isinstance(named, ast.Constant) else ""
            if isinstance(target, ast.Name) and isinstance(text, str) and text.isidentifier():
                yield node.lineno, target, text


def resolved(target: ast.expr, known: dict[str, str]) -> Any:
    """Return the object of a target; UNKNOWN if it is no module or class that the file imports.

    Args:
        target: The first argument of a call.
        known: Full names by the names under which the file imports them.

    Raises:
        AttributeError, ImportError: A name of it does not exist.
    """
    if isinstance(target, ast.Constant):
        return pkgutil.resolve_name(str(target.value))
    if isinstance(target, ast.Attribute):
        owner = resolved(target.value, known)
        return UNKNOWN if owner is UNKNOWN else getattr(owner, target.attr)
    return pkgutil.resolve_name(known[target.id]) if isinstance(target, ast.Name) and target.id in known else UNKNOWN


def missing(module: Module) -> Iterator[str]:
    """Yield the replaced names of a test file that do not exist."""
    known: dict[str, str] = {}
    for node in ast.walk(module.tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            for alias, full in zip(node.names, imported(module, node), strict=True):
                known[alias.asname or alias.name.partition(".")[0]] = full if alias.asname else _bound(node, full)
    called = [*patches(module.tree)]
    for number, (line, target, name) in enumerate([*called, *pairs(module.tree)]):
        try:
            owner = resolved(target, known)
            if owner is not UNKNOWN and name and (number < len(called) or isinstance(owner, ModuleType)):
                getattr(owner, name)
        except (AttributeError, ImportError) as error:
            yield f"{module.path}:{line}: {error}"


def _bound(node: ast.Import | ast.ImportFrom, full: str) -> str:
    """Return the full name of the object that an import binds: of `import a.b`, package `a`."""
    if isinstance(node, ast.Import):
        importlib.import_module(full)
        return full.partition(".")[0]
    return full


def test_each_replaced_name_exists() -> None:
    found = [text for module in modules(ROOT, ("tests", "benchmarks")) for text in missing(module)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("from qbcd.strategies import IdRcs\npatch.setattr(IdRcs, '_scattered', 1)", "_scattered"),
        ("import qbcd.polling.job\npatch.setattr(qbcd.polling.job, 'RENEWED', 1)", "RENEWED"),
        ("from qbcd.polling import job as polls\nsetattr(polls, 'RENEWED', 1)", "RENEWED"),
        ("patch.setattr('qbcd.polling.job.RENEWED', 1)", "RENEWED"),
        (
            "from qbcd.polling import job\nfor one in ((job, 'RENEWED'), (job, 'RENEW_S')):\n    setattr(*one, 1)",
            "RENEWED",
        ),
        ("from qbcd.polling import job\npatch.delattr(job.JobEvents, 'none')", "none"),
        ("from qbcd.polling import job\npatch.setattr(job, 'RENEW_S', 1)\npatch.setattr(own, 'RENEWED', 1)", ""),
    ],
)
def test_a_name_that_does_not_exist_is_found(text: str, named: str) -> None:
    found = list(missing(Module(Path("tests/unit/test_one.py"), ast.parse(text))))
    assert len(found) == bool(named) and all(named in one for one in found)
