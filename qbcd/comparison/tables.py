"""Tables as users name them: ``URL#schema.table`` or ``SOURCE#schema.table``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbcd.config import DefaultsConfig, ProjectConfig, TableConfig, config_from_dict, load_config
from qbcd.config.document import did_you_mean, quoted
from qbcd.config.fields import NAME_PATTERN, split_table
from qbcd.config.urls import literal_password
from qbcd.errors import ConfigError

STREAM, _DATABASE, _OTHER = "diff", "database", "other"
JDBC = "jdbc:"


@dataclass(frozen=True)
class NamedTable:
    """A table and the source that it is in.

    Attributes:
        source: Name of the source in `project`.
        table: ``schema.table``.
        project: A configuration with the source.
    """

    source: str
    table: str
    project: ProjectConfig

    @property
    def by_driver(self) -> bool:
        """True if only a JDBC driver reaches the source."""
        return self.source in self.project.drivers

    def config(self, more: Mapping[str, Any], others: Sequence[NamedTable] = ()) -> ProjectConfig:
        """Return a configuration with the table as its only stream.

        Args:
            more: Further keys of the table's entry.
            others: Tables whose drivers the same Spark session needs.
        """
        entry = {"name": STREAM, "table": self.table, "source": self.source, "strategy": "id_rcs", **more}
        sources = {f"{_OTHER}{i}": one.project.sources[one.source] for i, one in enumerate(others) if one.by_driver}
        sources[self.source] = self.project.sources[self.source]
        changed = {"tables": [TableConfig.model_validate(entry)], "sources": sources, "defaults": DefaultsConfig()}
        return self.project.model_copy(update=changed)


def is_address(text: str) -> bool:
    """Return True if an operand is a table by its URL."""
    return "://" in text or text.startswith(JDBC)


def named_table(text: str, project: Path) -> NamedTable | None:
    """Return the table that an operand names; None if it is a file.

    Args:
        project: The configuration file.

    Raises:
        ConfigError: The text has a password, or names no table or no source.
    """
    before, sign, table = text.rpartition("#")
    if not is_address(text):
        is_source = sign and NAME_PATTERN.fullmatch(before) and project.is_file() and not Path(text).exists()
        return _of_project(before, table, load_config(project)) if is_source else None
    if literal_password(before):
        remedy = "write it as ${env:NAME} or ${file:/path}, in single quotes for the shell"
        raise ConfigError("there is a literal password in the URL", remedy=remedy)
    if not _is_table(table if before else ""):
        form = f"{JDBC}NAME:PLACE" if text.startswith(JDBC) else "dialect://user@host/database"
        raise ConfigError("the URL names no table", remedy=f"write {form}#schema.table")
    source = _name_of(before)
    entry = {"name": STREAM, "table": table, "source": source, "strategy": "id_rcs"}
    try:
        config = config_from_dict({"version": 1, "sources": {source: {"url": before}}, "tables": [entry]})
    except ConfigError as error:  # its place is in a configuration that the user has not written
        raise ConfigError(error.what, remedy=error.remedy) from None
    return NamedTable(source, table, config)


def _of_project(source: str, table: str, project: ProjectConfig) -> NamedTable:
    if source not in project.sources:
        known = f"there are {', '.join(project.sources)}"
        raise ConfigError(f"there is no source {quoted(source)}", remedy=did_you_mean(source, project.sources, known))
    if source in project.dumps:
        raise ConfigError(f"source {source} is a series of files", remedy="name one of its files")
    if not _is_table(table):
        raise ConfigError(f"{quoted(table)} is no table", remedy=f"write {source}#schema.table")
    return NamedTable(source, table, project)


def _is_table(text: str) -> bool:
    try:
        split_table(text)
    except ValueError:
        return False
    return True


def _name_of(url: str) -> str:
    """Return a source's name for messages: its database, shown next to host and port."""
    name = url.partition("?")[0].partition(";")[0].rpartition("/")[2]
    return name if NAME_PATTERN.fullmatch(name) else _DATABASE
