"""PostgreSQL of Debian's package as a temporary server: it has ICU and other libraries."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from qbcd.demo.server import EmbeddedPostgres, Setting
from qbcd.errors import EnvironmentMissing

_FOLDER = Path("/usr/lib/postgresql")


class DebianPostgres(EmbeddedPostgres):
    """A running server of the newest installed release."""

    locale = ("--locale=C.UTF-8",)  # releases before 17 have no builtin locales

    @classmethod
    def installed(cls, settings: Mapping[str, Setting] | None = None) -> EmbeddedPostgres:
        """Start a server.

        Raises:
            EnvironmentMissing: No release is installed.
        """
        found = sorted(_FOLDER.glob("*/bin/postgres"), key=lambda path: int(path.parts[-3]))
        if not found:
            raise EnvironmentMissing("Debian's PostgreSQL is not installed", remedy="apt-get install postgresql")
        return cls.start(settings=settings, programs=found[-1].parent)
