"""The connectors by the database's name in a URL. A new one is one file or folder here and one line below.

Packages of third parties add theirs through the entry-point group ``qbcd.connectors``.
"""

from __future__ import annotations

import difflib
from importlib.metadata import entry_points

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from qbcd.connectors.base import Connector, JdbcDriver, Privileges
from qbcd.connectors.mariadb import MariaDB
from qbcd.connectors.mysql import MySQL
from qbcd.connectors.postgresql import PostgreSQL
from qbcd.errors import ConfigError

CONNECTORS: dict[str, type[Connector]] = {"postgresql": PostgreSQL, "mariadb": MariaDB, "mysql": MySQL}
ENTRY_POINTS = "qbcd.connectors"


def connector_for(url: str | URL) -> Connector:
    """The connector of the database that `url` names.

    Raises:
        ConfigError: It is no URL, or no connector serves its database. The URL is not shown: it may hold a password.
    """
    try:
        backend = make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        remedy = "write it as DATABASE://USER@HOST:PORT/NAME"
        raise ConfigError("the source's url is not a database URL", remedy=remedy) from None
    if backend in CONNECTORS:
        return CONNECTORS[backend]()
    others = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if backend not in others:
        raise _unknown(backend, [*CONNECTORS, *others])
    found = others[backend].load()
    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise ConfigError(
            f"the installed connector for {backend} ({others[backend].value}) is no qbcd Connector",
            remedy="update or remove the package that brings it",
        )
    return found()


def _unknown(backend: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(backend, known, n=1)
    remedy = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(known))}"
    return ConfigError(f"no connector for database {backend!r}", remedy=remedy)


__all__ = ["CONNECTORS", "Connector", "JdbcDriver", "MariaDB", "MySQL", "PostgreSQL", "Privileges", "connector_for"]
