"""Names of the databases that a URL may have: those for a source, those for the state.

Connectors and the state are above this package, so it knows only names. No other module of the package names a
database.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.common import plugins
from qbcd.config.document import did_you_mean, quoted

BUILT_CONNECTORS = ("mariadb", "mysql", "postgresql")
STATE_DATABASES = ("mariadb", "mysql", "postgresql", "sqlite")
FILE_DATABASES = ("duckdb", "sqlite")
TARGET_DATABASES = ("duckdb", "mariadb", "mysql", "postgresql", "sqlite")
EXAMPLE_URL = "postgresql://user@host:5432/database"
USUAL_PORTS = {"3306": "mariadb", "5432": "postgresql"}
EXAMPLE_DATABASE = "postgresql"  # in examples, if the configuration does not say which database it is
ADD_A_CONNECTOR = "docs/extending/add-a-connector.md"

# Placeholders in the name of a sink's table.
TABLE_PLACEHOLDERS = ("stream", "schema", "table", "source")
DEFAULT_TARGET_TABLE = "{schema}_{table}"
OPENLINEAGE_NAMES = {"postgresql": "postgres"}  # names there that differ from qbcd's
SCHEMA_IS_DATABASE = ("mariadb", "mysql")

_OTHERS = ("mssql",)  # spelled like one of the databases above, but another product
# databases whose JDBC driver qbcd knows, with the name in a JDBC URL if it is another one
BY_DRIVER = {"firebird": "firebirdsql", "hana": "sap"} | dict.fromkeys(
    (
        *("bigquery", "clickhouse", "databricks", "db2", "derby", "duckdb", "h2", "hsqldb", "oracle", "redshift"),
        *("snowflake", "sqlite", "sqlserver", "teradata", "trino"),
    ),
    "",
)
_ALIASES = {"postgres": "postgresql"}
_SHORT = {"pg": "postgresql", "pgsql": "postgresql", "psql": "postgresql", "psycopg2": "postgresql"}


def database_name(name: str) -> str:
    """Return qbcd's name of a database; a URL may use an alias."""
    return _ALIASES.get(name, name)


def connector_names() -> list[str]:
    """Return the databases with a connector: built-in ones, then those of installed packages."""
    return list(dict.fromkeys((*BUILT_CONNECTORS, *plugins.installed(plugins.CONNECTORS))))


def is_native(name: str) -> bool:
    """Return True if a JDBC URL with this name is of a database with a connector of qbcd."""
    return database_name(name) in BUILT_CONNECTORS


def has_connector(name: str) -> bool:
    """Return True if a database has a connector.

    Installed packages are searched only if it is not built in.
    """
    return name in BUILT_CONNECTORS or name in connector_names()


def no_connector(name: str, shown: str = "") -> tuple[str, str]:
    """Return message and remedy for a database that has no connector.

    Args:
        name: The database as the URL names it.
        shown: Quoted text to show instead of the name; empty for the name itself.
    """
    known = connector_names()
    listed = f"there are {', '.join(known)}; {ADD_A_CONNECTOR} says how to add one"
    if name in BY_DRIVER:
        listed = f"{listed}; or write jdbc:{BY_DRIVER[name] or name}:.., which its JDBC driver reads"
    if shown:
        return f"no connector for the database that {shown} names", listed
    return f"no connector for database {quoted(name)}", _near(name, known, listed)


def no_state(name: str, shown: str = "") -> tuple[str, str]:
    """Return message and remedy for a database that cannot keep the state.

    The arguments are those of :func:`no_connector`.
    """
    listed = f"use one of {', '.join(STATE_DATABASES)}, for instance sqlite:///.qbcd/state.db"
    if shown:
        return f"qbcd cannot keep state in the database that {shown} names", listed
    return f"qbcd cannot keep state in {quoted(name)} yet", _near(name, STATE_DATABASES, listed)


def _near(name: str, known: Sequence[str], otherwise: str) -> str:
    if name in _OTHERS:
        return otherwise
    meant = _SHORT.get(name)
    return f"did you mean {quoted(meant)}?" if meant else did_you_mean(name, known, otherwise)
