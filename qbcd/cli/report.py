"""Command ``report``: one HTML file that shows the streams."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from qbcd.cli.app import StreamNames
from qbcd.cli.output import Output, worst
from qbcd.cli.status import shown_data
from qbcd.common.wording import counted
from qbcd.errors import QbcdError

To = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The file; it is replaced.")]


def report(output: Output, streams: StreamNames = None, to: To = Path("report.html")) -> int:
    """Write the state of the streams into one HTML file."""
    from qbcd.api import parts_of
    from qbcd.common.durable import replace_text
    from qbcd.monitoring.report import facts_of, page

    with output.project() as project, output.working("reading the state"):
        parts = parts_of(project)
        with parts.read_only():
            names = parts.streams.select(streams or ())
            found = parts.in_rounds(names, lambda stream: facts_of(stream, len(names)))
        listed = [(facts, shown_data(output, facts.status)) for facts in found]
    try:
        replace_text(to, page(listed, output.config.name, time.time()))
    except OSError as error:
        raise QbcdError(
            f"the report {str(to)!r} cannot be written: {error.strerror or error}",
            remedy="check that its folder exists and the account may write there",
        ) from error
    if output.as_json:
        output.data({"report": str(to), "streams": len(listed)})
    else:
        output.show(f"{escape(str(to))}: {counted(len(listed), 'stream')}")
    return worst([facts.status.failed.exit_code for facts in found if facts.status.failed])
