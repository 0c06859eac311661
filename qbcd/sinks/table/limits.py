"""The values that each database cannot hold in a table of a sink."""

from __future__ import annotations

from collections.abc import Mapping

from qbcd.errors import ConfigError
from qbcd.model.value_limits import ValueLimits
from qbcd.sinks.table.options import TableOptions

_FAMILY = ValueLimits(frozenset({"nan", "infinity"}), key_bytes=3072)  # of an index of InnoDB
_POSTGRESQL = ValueLimits(frozenset({"nul"}))
_LIMITS: Mapping[str, ValueLimits] = {
    "postgresql": _POSTGRESQL,
    "postgres": _POSTGRESQL,
    "mariadb": _FAMILY,
    "mysql": _FAMILY,
    "sqlite": ValueLimits(frozenset({"nan"})),  # it would store NaN as NULL
    "duckdb": ValueLimits(),
}


def limits_of(database: str, options: TableOptions) -> ValueLimits:
    """Return the limits of a sink's tables.

    Args:
        database: The database, by its name in a URL or in sqlglot.
        options: The options of the sink. JSON of the envelope ``debezium`` holds every value. A log has no key.

    Raises:
        ConfigError: There are no sinks for this database.
    """
    if database not in _LIMITS:
        raise ConfigError(f"sinks cannot write to {database} yet", remedy=f"use one of {', '.join(sorted(_LIMITS))}")
    known, is_log = _LIMITS[database], options.mode == "log"
    json = is_log and options.envelope == "debezium"
    return ValueLimits(
        frozenset() if json else known.classes, 0 if is_log else known.key_bytes, old=is_log, policy=options.unsupported
    )
