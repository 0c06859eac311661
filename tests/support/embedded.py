"""Operations of tests on an embedded PostgreSQL of their own."""

from __future__ import annotations

from qbcd.demo.server import EmbeddedPostgres


def while_stopped(server: EmbeddedPostgres, command: list[str]) -> None:
    """Stop the server, run `command` as its account, and start it again."""
    assert server._pg_ctl("stop", "-m", "fast").returncode == 0
    assert server._run(command).returncode == 0
    assert server._pg_ctl("start", "-l", str(server.directory / "log")).returncode == 0
