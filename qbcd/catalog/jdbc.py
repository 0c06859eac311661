"""A source with only a JDBC driver: it has a profile, and no sessions of a Python driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from qbcd.catalog.without_sessions import SourceWithoutSessions
from qbcd.config.masking import Masking
from qbcd.connectors.jdbc.profile import Profile
from qbcd.errors import QbcdError, SourceError

FETCHED_BYTES = 64 << 20  # of the rows that a reader holds at a time, if their values are as long as they may be


@dataclass(frozen=True)
class JdbcLogin:
    """The address and login of a database, checked against the profile.

    Attributes:
        url: JDBC URL, without user and password.
        properties: Properties of the driver, user and password included.
    """

    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class JdbcReads:
    """Settings of reads, by the configuration.

    Attributes:
        fetchsize: Rows that a reader holds at a time; None: by the profile and the width of rows.
        checksums: Who digests rows, ``source`` or ``here``; None: by the profile.
    """

    fetchsize: int | None = None
    checksums: str | None = None


class JdbcSource(SourceWithoutSessions):
    """A database that a JDBC driver alone reaches.

    Args:
        name: The source's name in the configuration.
        login: URL and properties.
        masking: Masks secrets in foreign messages.
        place: ``file:line: key.path`` of the source's configuration.
        reads: How rows are read.
    """

    def __init__(
        self,
        name: str,
        profile: Profile,
        login: JdbcLogin,
        masking: Masking,
        place: str = "",
        reads: JdbcReads = JdbcReads(),
    ) -> None:
        # not that of a database with a connector: there is no SQLAlchemy URL and no connector
        super().__init__(name, masking, place)
        self.profile, self.login, self.checksums = profile, login, reads.checksums
        self.fetchsize, self._chosen = reads.fetchsize or profile.fetchsize, reads.fetchsize is not None
        self.proven = False  # the canary came back as its value

    @override
    def __repr__(self) -> str:
        return f"JdbcSource({self.name!r}, {self.profile.name!r})"

    @property
    @override
    def label(self) -> str:
        """The source's name and product, for messages."""
        return f"{self.name} ({self.profile.product})"

    def rows_at_once(self, width: int) -> int:
        """Return the rows that a reader holds at a time: `fetchsize`, or fewer if they may be wide.

        Args:
            width: Bytes of a row, at most about.
        """
        return self.fetchsize if self._chosen else max(1, min(self.fetchsize, FETCHED_BYTES // max(1, width)))

    @override
    def narrow(self, stream: str) -> bool:
        """Take a quarter of the rows at a time; return False if that is one row."""
        if self.fetchsize <= 1:
            return False
        self.fetchsize = max(1, self.fetchsize // 4)
        return True

    @override
    def explain(self, error: BaseException, stream: str) -> QbcdError:
        """Return qbcd's error for an error of the driver; its first line, with secrets masked."""
        first = self.masking.foreign((str(error).strip().splitlines() or [""])[0])
        state = getattr(error, "sqlstate", "")
        return SourceError(f"source {self.label}: {first}{f' (SQLSTATE {state})' if state else ''}", stream=stream)
