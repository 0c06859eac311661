"""The connectors, by the database's name in a URL.

A new one is a file or folder here and a line below. Other packages add theirs with the entry-point group
``qbcd.connectors``.
"""

from __future__ import annotations

import difflib

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from qbcd import plugins
from qbcd.connectors.base import Connector, JdbcDriver, Privileges
from qbcd.connectors.mariadb import MariaDB
from qbcd.connectors.mysql import MySQL
from qbcd.connectors.postgresql import PostgreSQL
from qbcd.errors import ConfigError

CONNECTORS: dict[str, type[Connector]] = {"postgresql": PostgreSQL, "mariadb": MariaDB, "mysql": MySQL}


def connector_for(url: str | URL) -> Connector:
    """Return the connector of the database that `url` names.

    Raises:
        ConfigError: It is no URL, there is no connector for its database, or the connector's package is broken. The
            URL is not shown, since it may contain a password.
    """
    try:
        backend = make_url(url).get_backend_name()
    except (ArgumentError, ValueError):
        remedy = "write it as DATABASE://USER@HOST:PORT/NAME"
        raise ConfigError("the source's url is not a database URL", remedy=remedy) from None
    if backend in CONNECTORS:
        return CONNECTORS[backend]()
    others = plugins.installed(plugins.CONNECTORS)
    if backend not in others:
        raise _unknown(backend, [*CONNECTORS, *others])
    what = f"the installed connector for {backend}"
    found = plugins.load(others[backend], what)
    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise ConfigError(f"{what} ({others[backend].value}) is no qbcd Connector", remedy=plugins.REMEDY)
    return found()


def _unknown(backend: str, known: list[str]) -> ConfigError:
    near = difflib.get_close_matches(backend, known, n=1)
    remedy = f'did you mean "{near[0]}"?' if near else f"there are {', '.join(sorted(known))}"
    return ConfigError(f"no connector for database {backend!r}", remedy=remedy)


__all__ = ["CONNECTORS", "Connector", "JdbcDriver", "MariaDB", "MySQL", "PostgreSQL", "Privileges", "connector_for"]
