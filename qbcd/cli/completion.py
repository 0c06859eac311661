"""Completion of stream names in the shell, from the configuration as written; no connection."""

from __future__ import annotations

from pathlib import Path

import typer

DEFAULT_CONFIG = Path("qbcd.yaml")


def stream_names(ctx: typer.Context, incomplete: str) -> list[str]:
    """Return stream names that begin with `incomplete`, without those on the command line.

    An unreadable file has none: a shell that completes must show no error. Placeholders are not replaced.
    """
    from qbcd.config.entries import names_in

    before = None if ctx.parent is None else ctx.parent.params.get("config")
    given = ctx.params.get("streams") or ()
    found = names_in(Path(ctx.params.get("config") or before or DEFAULT_CONFIG))
    return [name for name in found if name.startswith(incomplete) and name not in given]
