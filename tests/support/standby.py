"""A PostgreSQL standby that streams from a primary of the test."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from qbcd.demo.server import EmbeddedPostgres, Setting, _quote
from tests.support import sql, wait_until

PRIMARY: Mapping[str, Setting] = {"wal_level": "replica", "max_wal_senders": 4, "autovacuum": False}


@contextmanager
def standby_of(primary: EmbeddedPostgres, settings: Mapping[str, Setting]) -> Iterator[EmbeddedPostgres]:
    """Start a standby from a copy of the primary, which is stopped for a moment.

    Args:
        primary: A server with the settings of :data:`PRIMARY`.
        settings: Settings of the standby.
    """
    with EmbeddedPostgres.start(settings={**PRIMARY, **settings}) as standby:
        own, data = standby.directory / "data", primary.directory / "data"
        lines = (own / "postgresql.auto.conf").read_text()
        source = f"host={primary.host} port={primary.port} user=postgres"
        assert standby._pg_ctl("stop", "-m", "fast").returncode == 0
        assert primary._pg_ctl("stop", "-m", "fast").returncode == 0
        copied = standby._run(["sh", "-c", 'rm -rf "$1" && cp -a "$2" "$1"', "sh", str(own), str(data)])
        assert copied.returncode == 0, copied.stdout
        (own / "postgresql.auto.conf").write_text(f"{lines}primary_conninfo = {_quote(source)}\n")
        assert standby._run(["touch", str(own / "standby.signal")]).returncode == 0
        for server in (primary, standby):
            started = server._pg_ctl("start", "-l", str(server.directory / "log"))
            assert started.returncode == 0, (server.directory / "log").read_text()
        yield standby


def catch_up(primary: EmbeddedPostgres, standby: EmbeddedPostgres) -> None:
    """Wait until the standby has replayed all that the primary has written."""
    [(position,)] = sql(primary.url, "SELECT pg_current_wal_insert_lsn()::text")
    behind = f"SELECT pg_last_wal_replay_lsn() >= '{position}'::pg_lsn"
    wait_until(lambda: bool(sql(standby.url, behind)[0][0]), what=f"replay of {position}")
