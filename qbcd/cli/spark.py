"""Command ``spark``: can Spark read the changes of this project?"""

from __future__ import annotations

from typing import Annotated

from rich.markup import escape

from qbcd.cli.app import switch
from qbcd.cli.output import Output, worst
from qbcd.cli.project import MARKS, finding_data

Check = Annotated[bool, switch("--check", help="Start a session, and load a stream by it.")]


def spark(output: Output, check: Check = False) -> int:
    """Show if Spark can read changes here, and the lines to paste into a program."""
    from qbcd.spark_source.fitness import examine, paste

    with output.working("starting Spark" if check else "checking"):
        found = examine(output.config, start=check)
    errors = [one.error for one in found if one.error is not None]
    stream = next((one.stream for one in found if one.stream and not one.error), "STREAM")
    lines = paste(output.config, stream)
    if output.as_json:
        data = [finding_data(output, one) for one in found]
        output.data({"ok": not errors, "findings": data, "paste": lines.splitlines()})
        return worst([error.exit_code for error in errors])
    for one in found:
        place = f"stream {one.stream}" if one.stream else one.subject
        text = str(one.error) if one.error else f"{place}: {one.message}"
        output.item(MARKS[one.level], escape(output.masked(text)))
    output.show("paste into a program that has a session:")
    output.text(lines)
    return worst([error.exit_code for error in errors])
