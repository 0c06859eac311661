"""A source with only a JDBC driver: it has a profile, and no sessions of a Python driver."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from qbcd.catalog.without_sessions import SourceWithoutSessions
from qbcd.config.masking import Masking
from qbcd.connectors.jdbc.profile import Profile
from qbcd.errors import QbcdError, SourceError

FETCHED_BYTES = 64 << 20  # of the rows that a reader holds at a time, if their values are as long as they may be


_REMEDY = "this is the driver's own message; the log of the database may say more"
# by words and SQLSTATEs of the drivers, what to do
_REMEDIES = (
    (
        r"no such column|column.*(not found|not exist|unknown)|unknown column|42S22|42X04|42122|ORA-00904|"
        r"Invalid column|Referenced column",
        "check `columns`, `key` and `where`: names are taken as they are written, with their case",
    ),
    (
        r"no such table|(table|view|object|schema).*(not found|not exist|unknown)|42S02|42X05|ORA-00942|"
        r"Invalid object name|42501|Catalog Error",
        "check `table`: schema and name are taken as they are written, with their case; or SELECT is not granted",
    ),
    (
        r"(database|file|path).*(not found|not exist|n't exist|no such)|(unable|trying) to open|cannot open|XJ004|XBM0|"
        r"9014[56]|335544344",
        "check the path or the database in `url`: qbcd creates none, and a relative path begins at the folder where "
        "qbcd runs",
    ),
    (
        r"\b28(000|P01)\b|ORA-010(05|17)|access denied|login failed|authorization|user name and password|Wrong user",
        "check `user` and `password` of the source",
    ),
    (
        r"refused|unknown host|timed? ?out|unreachable|\b08(001|004|006|S01)\b|335544721",
        "check host and port in `url`, and the network",
    ),
    (r"lock", "another process holds the database: close it, or use a server mode of the database"),
)


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
        lines = str(error).strip().splitlines()
        first, state = self.masking.foreign((lines or [""])[0]), getattr(error, "sqlstate", "")
        said = f"{first} {' '.join(lines[1:3])} {state}"
        remedy = next((words for pattern, words in _REMEDIES if re.search(pattern, said, re.IGNORECASE)), _REMEDY)
        what = f"source {self.label}: {first}{f' (SQLSTATE {state})' if state else ''}"
        return SourceError(what, remedy=remedy, stream=stream)
