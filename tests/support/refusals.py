"""Checks of a refusal: one message with place and fix, the right class, no change anywhere."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.errors import QbcdError
from tests.support import places
from tests.support.places import FIRST, place_of

STRATEGIES = ("mds", "id_rcs")
# Differences that a refused attempt may leave: the lease's token, a row in the history, a refusal that waits for
# confirmation.
_MAY_MOVE = frozenset({"lease", "qbcd_lease", "qbcd_history", "qbcd_refusal", "qbcd_pin", "pin"})
_TOKENS = frozenset({"fencing_token", "seal"})


@dataclass(frozen=True)
class Traces:
    """All that a poll could change: rows of qbcd's and of the user's tables, and files.

    The files are those of workdir and sinks.
    """

    source: dict[str, Any]
    state: dict[str, Any]
    files: dict[str, str]


def traces(url: str, folder: Path) -> Traces:
    """Return the traces in the source at `url` (read as superuser) and in `folder`."""
    return Traces(_source(url), _state(folder), _files(folder))


def _source(url: str) -> dict[str, Any]:
    found = place_of(url).contents(_MAY_MOVE)
    return {name: [_without_tokens(row) for row in rows] for name, rows in found.items()}


def _state(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in folder.rglob("*.db"):
        with closing(sqlite3.connect(path)) as conn:
            conn.row_factory = sqlite3.Row
            for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                if name.startswith("qbcd_") and name not in _MAY_MOVE:
                    rows = conn.execute(f'SELECT * FROM "{name}" ORDER BY 1, 2').fetchall()
                    found[f"{path.name}: {name}"] = [_without_tokens(dict(row)) for row in rows]
    return found


def _without_tokens(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if name not in _TOKENS}


def _files(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
        if path.suffix != ".db" and path.name != ".qbcd"
    }


@dataclass
class Place:
    """A database with a project's folder, and checks of refusals there.

    Attributes:
        admin: URL of the superuser.
    """

    admin: str
    folder: Path

    @property
    def there(self) -> places.Place:
        """The database as a place of `tests.support.places`."""
        return place_of(self.admin)

    @property
    def host(self) -> str:
        """Host and port, as in messages."""
        return self.there.host

    @property
    def database(self) -> str:
        """The database's name."""
        return self.there.name

    def url_as(self, role: str, password: str = "") -> str:
        """Return the URL of another role."""
        return self.there.url_as(role, password)

    def sql(self, text: str, params: Any = None) -> list[tuple[Any, ...]]:
        """Run SQL as the superuser."""
        return self.there.sql(text, params)

    def refused(self, action: Callable[[], object], kind: type[QbcdError], code: int) -> str:
        """Run `action`, which must be refused by an error of exactly `kind` and change nothing.

        Returns:
            The whole message, with HOST and DATABASE instead of the names that differ between runs.
        """
        with self.unmoved(), pytest.raises(QbcdError) as caught:
            action()
        error = caught.value
        assert type(error) is kind, f"{type(error).__name__}: {error}"
        assert error.exit_code == code
        return self.plain(error)

    @contextmanager
    def unmoved(self) -> Iterator[None]:
        """Fail if anything changes during the block."""
        before = traces(self.admin, self.folder)
        yield
        after = traces(self.admin, self.folder)
        assert after.source == before.source
        assert after.state == before.state
        assert after.files == before.files

    def plain(self, error: BaseException) -> str:
        """Return the message without names that differ between runs."""
        text = str(error).replace(self.host, "HOST").replace(self.database, "DATABASE")
        return text.replace(f"{self.folder}/", "")


@contextmanager
def new_place(server: Any, folder: Path, kind: str = FIRST) -> Iterator[Place]:
    """Make a new database of a running server, and a project folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with places.new_place(server, kind) as made:
        yield Place(made.url, folder)


def new_role(place: Place) -> AbstractContextManager[str]:
    """Create a login role without rights in the place's database; drop it at the end."""
    return place.there.user()


def polled(project: qbcd.Project, stream: str, **options: Any) -> list[dict[str, int]]:
    """Poll once; return the counts of the batch that it found, if any, or raise its error."""
    outcome = project.run([stream], once=True, **options).outcomes[0]
    if outcome.error is not None:
        raise outcome.error
    assert outcome.report is not None
    assert not outcome.report.failures
    return [dict(outcome.report.header.counts)] if outcome.report.header else []
