"""The target of a replay, as a command line names it: ``URL#schema.table``."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote

from sqlalchemy.engine import URL

from qbcd.config.databases import EXAMPLE_URL, FILE_DATABASES
from qbcd.config.secrets import expand_argument
from qbcd.config.urls import BadUrl, has_password_parameter, is_memory_database, literal_password, parse_url
from qbcd.errors import ConfigError

_FORM = f"write --to '{EXAMPLE_URL}#schema.table'"


@dataclass(frozen=True)
class ReplayTarget:
    """A table of a database.

    Attributes:
        schema: None for the database's default.
    """

    url: URL
    schema: str | None
    table: str

    @property
    def label(self) -> str:
        """The table in messages."""
        return f"{self.schema}.{self.table}" if self.schema else self.table


def target_of(text: str, folder: Path) -> ReplayTarget:
    """Return the target of a text; no error repeats it.

    Args:
        text: The argument, with placeholders instead of a password.
        folder: Relative files of placeholders start there.

    Raises:
        ConfigError: It cannot be read, or has a password.
    """
    written, mark, named = text.rpartition("#")
    if not mark or not named:
        raise ConfigError("--to names no table", remedy=_FORM)
    if literal_password(written):
        raise ConfigError(
            "--to has a password, which other users of this machine can read",
            remedy="write ${env:NAME} or ${file:/path} instead of it, in single quotes",
        )
    try:
        url = parse_url(expand_argument(written, folder))
    except BadUrl as error:
        raise ConfigError(f"--to: {error}", remedy=error.remedy) from None
    if has_password_parameter(url):
        raise ConfigError("a password is not allowed in the query part of a URL", remedy="write it in the user part")
    if url.get_backend_name() in FILE_DATABASES:
        if is_memory_database(url):
            raise ConfigError("a target cannot be in memory", remedy="name a file")
        url = url.set(database=str((folder / str(url.database)).absolute()))
    schema, dot, table = named.partition(".")
    if not dot:
        schema, table = "", named
    return ReplayTarget(url, unquote(schema) or None, unquote(table))
