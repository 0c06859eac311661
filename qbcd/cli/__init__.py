"""The command line: one module per group of commands. It only prints; the packages below it do the work."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``qbcd`` with `arguments` (default: those of the process) and exit with the command's exit code."""
    from qbcd.cli.commands import app

    app(args=None if arguments is None else list(arguments), prog_name="qbcd")
