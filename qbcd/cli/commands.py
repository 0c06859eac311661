"""Commands in the order in which ``qbcd --help`` lists them, each imported on use."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

import typer

from qbcd.cli.app import app, command

# The module of each command; the name of the command is that of its function.
COMMANDS = {
    "init": "project",
    "discover": "discover",
    "check": "project",
    "advise": "advise",
    "explain": "plan",
    "prepare": "prepare",
    "run": "poll",
    "status": "status",
    "report": "report",
    "changes": "inspect",
    "subscriptions": "subscriptions",
    "verify": "inspect",
    "diff": "diff",
    "join": "join",
    "retire": "prepare",
    "skip": "prepare",
    "resend": "prepare",
    "reset": "prepare",
    "replay": "replay",
    "schema": "project",
    "spark": "spark",
    "demo": "demo",
}
_OPTIONS_WITH_VALUE = ("-c", "--config")
_added: set[str] = set()


def application(arguments: Sequence[str]) -> typer.Typer:
    """Return the application with the commands that these arguments need: one, or all for help."""
    for name in sorted(_needed(arguments) - _added):
        command(getattr(import_module(f"qbcd.cli.{COMMANDS[name]}"), name))
        _added.add(name)
    app.registered_commands.sort(key=lambda one: list(COMMANDS).index(str(one.name)))
    return app


def _needed(arguments: Sequence[str]) -> set[str]:
    rest = list(arguments)
    while rest and rest[0].startswith("-"):
        first = rest.pop(0)
        if first == "--version":
            return set()
        if first in _OPTIONS_WITH_VALUE:
            del rest[:1]
    return {rest[0]} if rest and rest[0] in COMMANDS else set(COMMANDS)
