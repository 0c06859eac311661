"""The command line: one module per group of commands.

It only prints; the packages below it do the work.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run ``qbcd`` with `arguments` and exit with the exit code of the command.

    Args:
        arguments: Without the program's name; by default those of the process.
    """
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        from qbcd.cli.commands import application

        application(given)(args=given, prog_name="qbcd")
    except KeyboardInterrupt:  # before a command began
        sys.exit(130)
    except OSError as error:  # of --version and --help; a command has messages of its own
        from qbcd.cli.output import FULL, discard_stdout, disk_full

        if error.errno not in FULL:
            raise
        sys.stderr.write(f"error: {disk_full(error)}\n")
        discard_stdout()
        sys.exit(1)
