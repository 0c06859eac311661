"""The command line: one module per group of commands. It prints; what it prints is found out below it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Runs ``qbcd`` with `arguments`, by default those of the process, and ends it with the command's exit code."""
    from qbcd.cli.commands import app

    app(args=None if arguments is None else list(arguments), prog_name="qbcd")
