"""Commands on the configuration: ``init``, ``schema`` and ``check``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from qbcd.cli.app import DEFAULT_CONFIG, StreamNames
from qbcd.cli.discover import write_discovered
from qbcd.cli.output import Output, show_progress, worst
from qbcd.common.wording import counted
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from qbcd.check import Finding

SchemaFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write it into this file; an older one is replaced."),
]
MARKS = {"ok": "[green]ok     [/]", "warning": "[yellow]warning[/]", "error": "[red]error  [/]"}


def init(
    output: Output,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="The folder; default: the current one.")
    ] = None,
    source: Annotated[
        str | None, typer.Option("--source", metavar="URL", help="Capture all tables of this database.")
    ] = None,
) -> int:
    """Write a commented qbcd.yaml into DIR, or to the file of -c.

    With --source, write one that captures the tables of that database.
    """
    from qbcd.config import SCHEMA_FILE, write_schema, write_template

    named = output.config
    if directory is not None and named != DEFAULT_CONFIG:
        raise ConfigError("init accepts a folder or -c FILE, but not both", remedy="remove one of them")
    tables: int | None = None
    if source is None:
        path = write_template(directory or named.parent, named.name)
    else:
        path, tables = write_discovered(directory or named.parent, named.name, source)
    of_editor = write_schema(path.parent / SCHEMA_FILE)
    if output.as_json:
        output.data({"file": str(path), "schema": str(of_editor), **({} if tables is None else {"tables": tables})})
        return 0
    found = "" if tables is None else f" with {counted(tables, 'table')}"
    output.show(f"wrote {escape(str(path))}{found}")
    output.say(f"[dim]editors complete and explain keys by {escape(str(of_editor))}[/]")
    which = "" if path == DEFAULT_CONFIG else f" -c {shlex.quote(str(path))}"
    if tables is not None:
        output.say(f"[dim]next: qbcd{escape(which)} check[/]")
        return 0
    output.say(f"[dim]fill in the source and the tables, then: qbcd{escape(which)} check[/]")
    return 0


def schema(output: Output, to: SchemaFile = None) -> int:
    """Print the JSON Schema of the configuration, or write it into a file for editors."""
    from qbcd.config import json_schema, write_schema

    if to is not None:
        path = write_schema(to)
        if output.as_json:
            output.data({"schema": str(path)})
        else:
            output.show(f"wrote {escape(str(path))}")
        return 0
    output.data(json_schema(), indent=2)
    return 0


def check(output: Output, streams: StreamNames = None) -> int:
    """Check file, sources, keys, rights and machine; show problems, with -v everything.

    Nothing is changed, except that a missing JDBC driver is downloaded into the cache.
    """
    from qbcd.check import distinct_errors, summary

    with output.project() as project, output.working("checking") as now:
        show_progress(project, now)
        found = project.check(streams or ())
    errors = [finding.error for finding in found if finding.error is not None]
    code = worst([error.exit_code for error in errors])
    if output.as_json:
        output.data({"ok": not errors, "findings": [finding_data(output, finding) for finding in found]})
        return code
    if output.verbose:
        _show_all(output, found)
    else:
        for text in dict.fromkeys(_placed(f, f.message) for f in found if f.level == "warning"):
            output.item(MARKS["warning"], escape(output.masked(text)))
    for error in distinct_errors(found):
        output.complain(error)
    output.show(summary(found))
    return code


def _show_all(output: Output, found: Sequence[Finding]) -> None:
    shown = ""
    output.show(f"[bold]{escape(str(output.config))}[/]: the configuration is valid")
    for finding in found:
        if finding.stream != shown:
            shown = finding.stream
            output.show(f"[bold]{escape(shown) or 'project'}[/]")
        text = finding.subject if finding.error else f"{finding.subject}: {finding.message}"
        output.item(MARKS[finding.level], escape(output.masked(text)))


def _placed(finding: Finding, text: str) -> str:
    stream = f"stream {finding.stream}: " if finding.stream else ""
    return f"{stream}{finding.subject}: {text}"


def finding_data(output: Output, finding: Finding) -> dict[str, object]:
    """Return a finding as JSON-ready data."""
    data: dict[str, object] = {
        "subject": finding.subject,
        "level": finding.level,
        "message": output.masked(finding.message),
        "stream": finding.stream,
    }
    return data if finding.error is None else data | output.as_data(finding.error)
