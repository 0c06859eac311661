"""Command ``demo``: the demonstration of `qbcd.demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qbcd.cli.app import switch
from qbcd.cli.output import Output

Directory = Annotated[Path, typer.Option("--directory", metavar="DIR", help="Where configuration and event files go.")]
Keep = Annotated[bool, switch("--keep", help="Leave the server running until Ctrl-C, to look around.")]


def demo(output: Output, directory: Directory = Path("qbcd-demo"), keep: Keep = False) -> int:
    """Poll real flights in an embedded PostgreSQL."""
    from qbcd.demo.run import Demo

    return Demo(output, directory, keep=keep).run()
