"""The databases that a URL may name: those that can be a source, and those that can keep the state.

Connectors and the state are above this package, so it knows nothing but names. No other module of it names a database.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd import plugins
from qbcd.config.document import did_you_mean, quoted

BUILT_CONNECTORS = ("mariadb", "mysql", "postgresql")
STATE_DATABASES = ("mariadb", "mysql", "postgresql", "sqlite")
EXAMPLE_URL = "postgresql://user@host:5432/database"
USUAL_PORTS = {"3306": "mariadb", "5432": "postgresql"}
EXAMPLE_DATABASE = "postgresql"  # in examples, where nothing says which one is meant
ADD_A_CONNECTOR = "docs/extending/add-a-connector.md"

_OTHERS = ("mssql",)  # near to one of ours, and another database
_ALIASES = {"postgres": "postgresql"}
_SHORT = {"pg": "postgresql", "pgsql": "postgresql", "psql": "postgresql", "psycopg2": "postgresql"}


def database_name(name: str) -> str:
    """Return qbcd's name of a database that a URL may call otherwise."""
    return _ALIASES.get(name, name)


def connector_names() -> list[str]:
    """Return the databases that have a connector: the built-in ones, then those of installed packages."""
    return list(dict.fromkeys((*BUILT_CONNECTORS, *plugins.installed(plugins.CONNECTORS))))


def has_connector(name: str) -> bool:
    """Return True if a database has a connector; packages are searched only for one that is not built in."""
    return name in BUILT_CONNECTORS or name in connector_names()


def no_connector(name: str, shown: str = "") -> tuple[str, str]:
    """Return the message, and what helps, for a database that has no connector.

    Args:
        name: The database as the URL names it.
        shown: What to show in its place, in quotes; by default the name itself.
    """
    known = connector_names()
    listed = f"there are {', '.join(known)}; {ADD_A_CONNECTOR} says how to add one"
    if shown:
        return f"no connector for the database that {shown} names", listed
    return f"no connector for database {quoted(name)}", _near(name, known, listed)


def no_state(name: str, shown: str = "") -> tuple[str, str]:
    """Return the message, and what helps, for a database in which no state can be kept; see :func:`no_connector`."""
    listed = f"use one of {', '.join(STATE_DATABASES)}, for instance sqlite:///.qbcd/state.db"
    if shown:
        return f"qbcd cannot keep state in the database that {shown} names", listed
    return f"qbcd cannot keep state in {quoted(name)} yet", _near(name, STATE_DATABASES, listed)


def _near(name: str, known: Sequence[str], otherwise: str) -> str:
    if name in _OTHERS:
        return otherwise
    meant = _SHORT.get(name)
    return f"did you mean {quoted(meant)}?" if meant else did_you_mean(name, known, otherwise)
