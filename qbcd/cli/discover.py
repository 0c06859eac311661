"""Command ``discover``, and ``init --source``: tables of a source, a drafted configuration."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from qbcd.cli.app import switch
from qbcd.cli.output import Output
from qbcd.common.wording import counted
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qbcd.config import ProjectConfig
    from qbcd.roster.discovery import FoundTable

SourceName = Annotated[str, typer.Argument(metavar="SOURCE", help="The source's name in the configuration.")]
Patterns = Annotated[
    list[str] | None, typer.Option("--tables", metavar="PATTERN", help="Only these tables: app.*; may be repeated.")
]
Write = Annotated[bool, switch("--write", help="Add an entry to the configuration for each table without a stream.")]
_NAME = "source"  # of the source that `init` writes
COMPARED = 100  # tables whose strategies are compared; each takes about 0.1 s


def discover(output: Output, source: SourceName, tables: Patterns = None, write: Write = False) -> int:
    """List the tables of a source, and draft entries for those without a stream.

    The list has rows, sizes, keys, strategies and the one that `qbcd advise` takes.
    """
    from qbcd.api import parts_of
    from qbcd.roster.discovery import discover as found_in
    from qbcd.roster.discovery import drafted, refuse_no_database

    with output.project() as project, output.working("reading the catalog"):
        parts = parts_of(project)
        with parts.read_only():
            refuse_no_database(parts.config, source)
            found = found_in(parts.config, parts.source(source), parts.streams.roster(), tables or ())
    with output.working("comparing strategies"):
        found = _advised(parts.config, source, found[:COMPARED]) + found[COMPARED:]
    missing, lines = [one for one in found if not one.stream], drafted(source, found)
    if write and missing:
        _append(output.config, lines)
    if output.as_json:
        output.data({"source": source, "tables": [_data(one) for one in found], "written": len(missing) * write})
        return 0
    if found:
        output.show(_listed(found))
    without = f"; {len(missing):,} without a stream" if missing else ""
    output.show(f"{counted(len(found), 'table')} in [bold]{escape(source)}[/]{without}")
    if len(found) > COMPARED:
        output.show(f"[dim]strategies were compared for the first {COMPARED} tables; --tables PATTERN names others[/]")
    if write and missing:
        entries = counted(len(missing), "entry", "entries")
        output.say(f"{entries} added to {escape(str(output.config))}; next: qbcd check")
    elif missing:
        output.say("[dim]entries to capture them; --write adds them to the configuration:[/]")
        output.text("tables:\n" + "\n".join(lines))
    return 0


def _advised(config: ProjectConfig, source: str, found: Sequence[FoundTable]) -> list[FoundTable]:
    """Return the tables with the strategy that `qbcd advise` takes for each."""
    from qbcd.api import Project

    names = []
    for one in found:
        if not one.stream:
            config = config.with_table(source, one.label)
        names.append(one.stream or config.tables[-1].stream_name)
    if not names:
        return []
    with Project(config) as project:
        chosen = [advice.choice.chosen for advice in project.advise(names)]
    labels = [one.option.label if one is not None else "" for one in chosen]
    return [replace(one, advised=label) for one, label in zip(found, labels, strict=True)]


def _listed(found: Sequence[FoundTable]) -> Table:
    table = Table(box=None, pad_edge=False)
    for title in ("table", "rows", "MB", "key", "strategies", "advise takes", "stream"):
        table.add_column(title, justify="right" if title in ("rows", "MB") else "left")
    for one in found:
        table.add_row(
            escape(one.label),
            f"{one.rows:,}" if one.rows >= 0 else "?",
            f"{one.size / (1 << 20):,.1f}",
            escape(", ".join(one.key)) or "[yellow]none[/]",
            " ".join(one.strategies) if one.key else "id_rcs with key: none",
            escape(one.advised) or "-",
            escape(one.stream) or "-",
        )
    return table


def _data(one: FoundTable) -> dict[str, object]:
    return {
        "table": one.label,
        "rows": None if one.rows < 0 else one.rows,
        "bytes": one.size,
        "key": list(one.key),
        "timestamps": list(one.timestamps),
        "strategies": list(one.strategies),
        "advised": one.advised or None,
        "stream": one.stream or None,
    }


def _append(path: Path, lines: Sequence[str]) -> None:
    """Add entries at the end of a configuration, if `tables` ends there.

    The file is replaced as a whole; its owner and mode stay.

    Raises:
        ConfigError: The file would not be valid, or not what was meant, or cannot be written.
    """
    from qbcd.common.durable import rewrite_text
    from qbcd.config.loader import config_from_text, load_config, read_text

    text = read_text(path, str(path))
    dashes = re.findall(r"^( *)- ", text, re.MULTILINE)
    indent = dashes[-1] if dashes else "  "
    lines = [indent + line[2:] for line in lines]
    new = text.rstrip("\n") + "\n" + "\n".join(lines) + "\n"
    try:
        before, after = load_config(path), config_from_text(new, path)
        if after.tables[: len(before.tables)] != before.tables or len(after.tables) == len(before.tables):
            raise ConfigError("")
    except ConfigError:
        what = f"{path} does not end with the list `tables`, so that entries cannot be added to it"
        remedy = "make `tables` the last key of the file, with each entry after a dash; or paste what discover prints"
        raise ConfigError(what, remedy=remedy) from None
    try:
        rewrite_text(path, new)
    except OSError as error:
        remedy = "check the folder and its permissions; or paste what discover prints"
        raise ConfigError(f"{path} cannot be written: {error.strerror or error}", remedy=remedy) from None


def write_discovered(directory: Path, name: str, url: str) -> tuple[Path, int]:
    """Write a configuration that captures the tables of the database at `url`.

    Return the file and the number of tables.

    Raises:
        ConfigError: The URL has a password in plain text, or the file exists.
        QbcdError: The source cannot be reached.
    """
    from qbcd.api import Project, parts_of
    from qbcd.config import config_from_dict
    from qbcd.config.template import write_text
    from qbcd.config.urls import literal_password
    from qbcd.roster.discovery import discover as found_in
    from qbcd.roster.discovery import new_file

    if literal_password(url):
        remedy = "write ${env:NAME} or ${file:/path} in its place, in single quotes for the shell"
        raise ConfigError("a password on the command line can be seen by other users of this machine", remedy=remedy)
    entry = {"source": _NAME, "tables": "*.*", "strategy": "id_rcs"}
    config = config_from_dict({"version": 1, "sources": {_NAME: {"url": url}}, "tables": [entry]}, directory)
    with Project(config) as project:
        parts = parts_of(project)
        with parts.read_only():
            found = found_in(parts.config, parts.source(_NAME), parts.streams.roster())
    if not found:
        raise ConfigError("the role sees no table in this database", remedy="grant it SELECT, or name another database")
    text = new_file(_NAME, url, [_uncaptured(one) for one in found])
    return write_text(text, directory, name), len(found)


def _uncaptured(one: FoundTable) -> FoundTable:
    from dataclasses import replace

    return replace(one, stream="")
