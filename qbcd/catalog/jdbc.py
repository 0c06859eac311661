"""A source with only a JDBC driver: it has a profile, and no sessions of a Python driver."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from typing_extensions import override

from qbcd.catalog.without_sessions import SourceWithoutSessions
from qbcd.config.masking import Masking
from qbcd.connectors.jdbc.profile import Profile
from qbcd.errors import QbcdError, SourceError


@dataclass(frozen=True)
class JdbcLogin:
    """The address and login of a database, checked against the profile.

    Attributes:
        url: JDBC URL, without user and password.
        properties: Properties of the driver, user and password included.
    """

    url: str = field(repr=False)
    properties: Mapping[str, str] = field(repr=False)


class JdbcSource(SourceWithoutSessions):
    """A database that a JDBC driver alone reaches.

    Args:
        name: The source's name in the configuration.
        login: URL and properties.
        fetchsize: Rows that a reader holds at a time.
        masking: Masks secrets in foreign messages.
        place: ``file:line: key.path`` of the source's configuration.
    """

    def __init__(
        self, name: str, profile: Profile, login: JdbcLogin, fetchsize: int, masking: Masking, place: str = ""
    ) -> None:
        # not that of a database with a connector: there is no SQLAlchemy URL and no connector
        super().__init__(name, masking, place)
        self.profile, self.login, self.fetchsize = profile, login, fetchsize
        self.proven = False  # the canary came back as its value

    @override
    def __repr__(self) -> str:
        return f"JdbcSource({self.name!r}, {self.profile.name!r})"

    @property
    @override
    def label(self) -> str:
        """The source's name and product, for messages."""
        return f"{self.name} ({self.profile.product})"

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
