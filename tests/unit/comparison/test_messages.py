"""Messages of a comparison are about no stream, poll or configuration."""

from __future__ import annotations

import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from qbcd.comparison.wording import remedy_of, reword
from qbcd.connectors import error_templates
from qbcd.connectors.mysql_family import errors as of_mysql
from qbcd.connectors.postgresql import errors as of_postgresql
from qbcd.errors import LocalFailed, QbcdError


def errors_of(module: ModuleType) -> Iterator[QbcdError]:
    """Yield an error of each maker of a module."""
    for maker in vars(module).values():
        if getattr(maker, "__module__", "") != module.__name__ or isinstance(maker, type):
            continue
        if getattr(maker, "__annotations__", {}).get("source") == "str":
            yield maker("a message", "diff", "shop (host:1)")


@pytest.mark.parametrize("module", [error_templates, of_postgresql, of_mysql], ids=lambda m: m.__name__)
def test_errors_of_servers(module: ModuleType) -> None:
    found = list(errors_of(module))
    assert len(found) > 5
    for error in found:
        reword(error)
        assert error.remedy
        assert not re.search(r"\b(polls?|streams?|strategy|reset|prepare|capture)\b", str(error)), error


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("exclude: [a]", "leave it out: --exclude a"),
        ("exclude the column, or set `engine: spark`", "leave the column out: --exclude NAME"),
        ("free space on the disk; the next poll starts again", "free space on the disk"),
        ("raise `statement_timeout` of the source, or find out who canceled it", "find out who canceled it"),
        ("poll again", "compare again"),
        ("--key id, or --key a,b; or another", "--key id, or --key a,b; or another"),
        ("", ""),
    ],
)
def test_remedies(text: str, expected: str) -> None:
    assert remedy_of(text) == expected


def test_errors_of_the_local_database() -> None:
    error = LocalFailed("DuckDB failed", remedy="the next run continues from the last commit")
    reword(error)
    assert "temporary files" in error.remedy
