"""The connectors, by the database's name in a URL.

A new one is a file or folder here and a line below. Other packages add theirs with the entry-point group
``qbcd.connectors``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.engine import URL

from qbcd.common import plugins
from qbcd.common.on_demand import Registry, on_demand
from qbcd.config.databases import no_connector
from qbcd.config.urls import BadUrl, parse_url
from qbcd.connectors.base import Connector, JdbcDriver, Privileges
from qbcd.connectors.dialects import loaded
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from qbcd.connectors.mariadb import MariaDB
    from qbcd.connectors.mysql import MySQL
    from qbcd.connectors.postgresql import PostgreSQL
else:
    __getattr__ = on_demand(__name__, mariadb="MariaDB", mysql="MySQL", postgresql="PostgreSQL")

CONNECTORS: Registry[Connector] = Registry(
    {
        "postgresql": "qbcd.connectors.postgresql:PostgreSQL",
        "mariadb": "qbcd.connectors.mariadb:MariaDB",
        "mysql": "qbcd.connectors.mysql:MySQL",
    }
)


def connector_for(url: str | URL) -> Connector:
    """Return the connector of the database that `url` names.

    Raises:
        ConfigError: It is no URL, there is no connector for its database, or the connector's package is broken. The
            URL is not shown, since it may contain a password.
    """
    try:
        backend = parse_url(url).get_backend_name()
    except BadUrl as error:
        raise ConfigError(f"the source's url: {error}", remedy=error.remedy) from None
    if backend in CONNECTORS:
        return CONNECTORS[backend]()
    others = plugins.installed(plugins.CONNECTORS)
    if backend not in others:
        what, remedy = no_connector(backend)
        raise ConfigError(what, remedy=remedy)
    what = f"the installed connector for {backend}"
    found = plugins.load(others[backend], what)
    if not (isinstance(found, type) and issubclass(found, Connector)):
        raise ConfigError(f"{what} ({others[backend].value}) is no qbcd Connector", remedy=plugins.REMEDY)
    connector = found()
    loaded(connector.dialect)
    return connector


__all__ = ["CONNECTORS", "Connector", "JdbcDriver", "MariaDB", "MySQL", "PostgreSQL", "Privileges", "connector_for"]
