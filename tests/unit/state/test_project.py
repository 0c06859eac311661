"""The project's state in a file, and damages of a file."""

from __future__ import annotations

import os
import random
import re
import shutil
import sqlite3
import stat
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import ConfigError, NotBuilt, Refused, SourceError, StateConflict
from qbcd.state import Acknowledged, Owner, ProjectState, Segment, acquire, dialects
from qbcd.state.enriched import EnrichedBatch, drop_enriched, enriched_batches, put_enriched
from tests.support.project_suite import ProjectSuite
from tests.support.state_place import PROJECT, STREAM, header
from tests.support.state_suite import parts


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/new/.qbcd/state.db"


@pytest.fixture
def state(url: str) -> Iterator[ProjectState]:
    with ProjectState(url) as opened:
        yield opened


class TestProject(ProjectSuite):
    """In a file."""


def file_of(url: str) -> Path:
    return Path(url.removeprefix("sqlite:///"))


def test_file_and_folder_are_the_owners_alone(url: str) -> None:
    before = os.umask(0)
    try:
        ProjectState(url).close()
    finally:
        os.umask(before)
    path = file_of(url)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == ["state.db"]


def test_a_file_session_is_durable_and_waits(state: ProjectState) -> None:
    pragmas = ("synchronous", "journal_mode", "busy_timeout")
    with state.write() as conn:
        found = {name: conn.exec_driver_sql(f"PRAGMA {name}").scalar() for name in pragmas}
    assert found == {"synchronous": 3, "journal_mode": "delete", "busy_timeout": 30000}


def test_a_writer_excludes_writers_from_its_start(state: ProjectState) -> None:
    with state.write():
        other = sqlite3.connect(state.url.database or "", timeout=0.05)
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")
        other.close()


def test_a_busy_file_says_so(url: str, state: ProjectState, monkeypatch: pytest.MonkeyPatch) -> None:
    from qbcd.state import database

    monkeypatch.setattr(database, "_PRAGMAS", ("busy_timeout = 50",))
    with ProjectState(url) as second, state.write(), pytest.raises(SourceError, match=r"state\.db is busy"):
        second.write().__enter__()


@pytest.mark.parametrize("wrong", ["sqlite://", "sqlite:///:memory:", "sqlite:///file:x?uri=true", "no url"])
def test_a_url_that_names_no_lasting_file_is_refused(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"`state`.*sqlite:///\.qbcd/state\.db"):
        ProjectState(wrong)


def test_a_database_that_cannot_hold_state_is_refused_by_name() -> None:
    with pytest.raises(NotBuilt, match="cannot keep state in 'oracle' yet"):
        dialects.store_facts("oracle")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("a file")
    with pytest.raises(SourceError, match=r"plain/state\.db cannot be created: Not a directory"):
        ProjectState(f"sqlite:///{tmp_path}/plain/state.db")


@pytest.mark.parametrize("content", [b"", b"hello", b"SQLite format 3\0", b"\0" * 8192])
def test_a_file_that_is_no_database_is_refused_and_left_alone(url: str, content: bytes) -> None:
    path = file_of(url)
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    with pytest.raises(Refused, match=r"state\.db is damaged or no state of qbcd.*restore it from a backup"):
        ProjectState(url)
    assert path.read_bytes() == content


def test_another_programs_file_is_refused_and_left_alone(url: str) -> None:
    path = file_of(url)
    path.parent.mkdir(parents=True)
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE notes (n)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(Refused, match="no state of qbcd: table qbcd_meta is missing"):
        ProjectState(url)
    assert path.read_bytes() == before


def filled(url: str) -> None:
    with ProjectState(url) as state:
        with state.write() as conn:
            row = state.store.register(conn, PROJECT, STREAM)
            row = state.store.replace_ranges(conn, row, parts(*map(str, range(40))))
            state.store.add_segments(conn, STREAM, [Segment(f"s{i}", 1, ({"path": "p"},), 5, 1, 1) for i in range(9)])
            for seq in range(1, 13):
                state.store.add_batch(conn, header(seq), 1)
            state.store.advance(conn, row, epoch=100, last_batch_seq=12, checkpoint={"w": "x" * 300}, prepared=True)
        with state.write() as conn:
            acquire(conn, state.store, STREAM, Owner.mine(), 1000.0)
        state.acknowledge(STREAM, "lake", header(9))


def everything(url: str) -> list[Any]:
    """Return all state that decides what is delivered."""
    with ProjectState(url, create=False) as state:
        with state.read() as conn:
            store = state.store
            stored = [store.streams(conn), store.ranges(conn, STREAM), store.segments(conn, STREAM)]
            stored.append(store.batches(conn, STREAM))
        return [*stored, state.acknowledged(STREAM), state.project_id]


@pytest.mark.parametrize("elsewhere", [60, pytest.param(600, marks=pytest.mark.campaign)])
def test_a_flipped_byte_is_refused_or_harmless(elsewhere: int, url: str, tmp_path: Path) -> None:
    filled(url)
    expected = everything(url)
    content = file_of(url).read_bytes()
    chance = random.Random(20)
    hurt = tmp_path / "hurt.db"
    refused = 0
    for at in [*range(100), *(chance.randrange(len(content)) for _ in range(elsewhere))]:
        changed = bytearray(content)
        changed[at] ^= 1 << chance.randrange(8)
        hurt.write_bytes(changed)
        try:
            found = everything(f"sqlite:///{hurt}")
        except (Refused, SourceError) as error:
            refused += 1
            assert "\n" not in str(error), f"byte {at}"
        else:
            # the project id may differ: tables that it prepared are then foreign and refused
            assert found[:-1] == expected[:-1], f"byte {at}"
    assert refused > 40


def test_a_key_flipped_in_row_or_index_is_refused(url: str, tmp_path: Path) -> None:
    filled(url)
    content = file_of(url).read_bytes()
    hurt = tmp_path / "hurt.db"
    places = [match.start() for match in re.finditer(STREAM.encode(), content)]
    rows = [at for at in places if content[at - 1 : at] != b'"']  # in JSON text the seal detects it
    assert len(rows) > 100
    for at in rows[:: len(rows) // 40]:
        hurt.write_bytes(content[:at] + b"p" + content[at + 1 :])
        with pytest.raises(Refused):
            everything(f"sqlite:///{hurt}")


def test_a_truncated_file_is_refused(url: str, tmp_path: Path) -> None:
    filled(url)
    path = file_of(url)
    size = path.stat().st_size
    cut = tmp_path / "cut.db"
    for left in [*range(0, size, 4096), 1, 99, 100, 5000, size - 1, size - 100]:
        shutil.copy(path, cut)
        os.truncate(cut, left)
        with pytest.raises(Refused):
            everything(f"sqlite:///{cut}")


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    port = 1  # nothing listens there
    began = time.monotonic()
    with pytest.raises(SourceError) as caught:
        ProjectState(f"postgresql://me:hunter2@127.0.0.1:{port}/state")
    assert "postgresql+psycopg2://me:***@127.0.0.1:1/state failed" in str(caught.value)
    assert "hunter2" not in str(caught.value) + repr(caught.value)
    assert time.monotonic() - began < 12


def test_a_state_without_the_tables_of_later_versions_gets_them(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/state.db"
    with ProjectState(url) as state, state.write() as conn:
        conn.exec_driver_sql("DROP TABLE qbcd_resend")
        conn.exec_driver_sql("DROP TABLE qbcd_enriched")
    with ProjectState(url, create=False) as state:
        assert state.resends("s") == {}
        one = EnrichedBatch(7, 3, "print", ("tags",), "a.parquet", "hash", {"c": 2})
        with pytest.raises(StateConflict, match="batch 7/3 was removed before"):
            put_enriched(state, "s", one)  # no mark: the stream was reset
        mark = put_enriched(state, "s", EnrichedBatch(7, 1))
        assert put_enriched(state, "s", one) == one
        assert put_enriched(state, "s", replace(one, file="b.parquet")) == one, "the first one counts"
        assert enriched_batches(state, "s") == {(7, 1): mark, (7, 3): one}
        assert drop_enriched(state, "s", [(7, 3)]) == EnrichedBatch(7, 3)
        assert enriched_batches(state, "s") == {(7, 3): EnrichedBatch(7, 3)}
        for removed in (one, replace(one, seq=2)):
            with pytest.raises(StateConflict, match="was removed before"):
                put_enriched(state, "s", removed)
        first, second = state.request_resend("s", "copy"), state.request_resend("s", "copy", "id > 1")
        assert (first.label, second.label) == ("resend-1", "part-2")
        assert state.resends("s") == {"copy": second}
        state.resent("s", second, Acknowledged(7, 3, ""))
        assert (state.resends("s"), state.acknowledged("s")) == ({}, {"copy": Acknowledged(7, 3, "")})
        with pytest.raises(StateConflict, match="the sink has batch 7/3"):
            state.resent("s", second, Acknowledged(7, 2, ""))


def test_a_file_is_opened_once_and_again_if_another_one_has_its_name(url: str, state: ProjectState) -> None:
    state.enroll(STREAM, "lake", 1, 0)
    path = file_of(url)
    before = path.with_name("before.db")
    shutil.copy(path, before)  # as from a backup
    state.acknowledge(STREAM, "lake", header(1))
    with state.read() as first:
        session = first.connection.driver_connection
    with state.read() as second:
        assert second.connection.driver_connection is session
    os.replace(before, path)
    assert state.acknowledged(STREAM) == {"lake": Acknowledged(1, 0, "")}
    state.acknowledge(STREAM, "lake", header(1))
    with ProjectState(url) as another:
        assert another.acknowledged(STREAM)["lake"].seq == 1
    path.unlink()
    with pytest.raises(Refused, match="is damaged or no state"):
        state.acknowledged(STREAM)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_opens_the_file_itself(state: ProjectState) -> None:
    state.enroll(STREAM, "lake", 1, 0)
    with state.read() as conn:
        of_parent = id(conn.connection.driver_connection)
    child = os.fork()
    if not child:
        try:
            with state.write() as conn:
                own = id(conn.connection.driver_connection) != of_parent
            state.acknowledge(STREAM, "lake", header(1))
            os._exit(0 if own else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert state.acknowledged(STREAM)["lake"].seq == 1


def test_a_holder_of_a_lease_reads_acknowledgements_once_and_sees_its_own(url: str, state: ProjectState) -> None:
    state.enroll(STREAM, "lake", 1, 0)
    with ProjectState(url) as another, state.noting(STREAM):
        assert set(state.acknowledged(STREAM)) == {"lake"}
        another.enroll(STREAM, "python", 1, 0)
        another.request_resend(STREAM, "lake")
        assert set(state.acknowledged(STREAM)) == {"lake"}
        assert state.resends(STREAM) == {}
        with state.read() as conn:
            assert set(state.acknowledged_now(conn, STREAM)) == {"lake", "python"}
        state.acknowledge(STREAM, "lake", header(1))
        assert {sink: ack.seq for sink, ack in state.acknowledged(STREAM).items()} == {"lake": 1, "python": 0}
        assert set(state.resends(STREAM)) == {"lake"}
    assert set(state.acknowledged(STREAM)) == {"lake", "python"}
