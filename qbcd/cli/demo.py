"""Command ``demo``: the demonstration of `qbcd.demo`, and a server for experiments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from qbcd.cli.app import switch
from qbcd.cli.output import Output

Directory = Annotated[Path, typer.Option("--directory", metavar="DIR", help="Folder for configuration and events.")]
Keep = Annotated[bool, switch("--keep", help="Leave the server running until Ctrl-C.")]
Serve = Annotated[
    bool, switch("--serve", help='Only start an empty server, in the background: eval "$(qbcd demo --serve)"')
]
Stop = Annotated[bool, switch("--stop", help="Stop that server and remove its data.")]


def demo(
    output: Output,
    directory: Directory = Path("qbcd-demo"),
    keep: Keep = False,
    serve: Serve = False,
    stop: Stop = False,
) -> int:
    """Poll real flights in an embedded PostgreSQL, or start one to try qbcd out."""
    if serve or stop:
        return _server(output, serve=serve)
    from qbcd.demo.run import Demo

    return Demo(output, directory, keep=keep).run()


def _server(output: Output, *, serve: bool) -> int:
    """Start the server and print the shell commands that connect to it, or stop it."""
    from qbcd.demo import serve as server

    if not serve:
        output.say("PostgreSQL is stopped and its data removed" if server.stop() else "no server was running")
        return 0
    with output.working("starting PostgreSQL"):
        served, new = server.serve()
    output.text(served.exports())
    output.say(f"PostgreSQL {'runs' if new else 'already runs'} on {served.host}:{served.port}; psql connects to it")
    output.say("stop it and remove its data: qbcd demo --stop")
    return 0
