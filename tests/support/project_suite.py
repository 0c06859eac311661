"""Tests of the project's state, run over each kind of state database."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from sqlalchemy import text

from qbcd.errors import Refused, StateConflict
from qbcd.state import Acknowledged, ProjectState, Refusal, Run, StreamRow, upgrades
from tests.support.state_place import PROJECT, STREAM, header


def site_row(epoch: int, seq: int) -> StreamRow:
    return StreamRow(PROJECT, STREAM, epoch, 5, 1, seq, True)


class ProjectSuite:
    def test_the_project_id_is_made_once(self, url: str) -> None:
        with ProjectState(url) as state:
            first = state.project_id
        with ProjectState(url, create=False) as state:
            assert state.project_id == first
        assert len(first) == 32

    def test_nothing_is_created_unless_requested(self, url: str) -> None:
        for _ in range(2):
            with pytest.raises(StateConflict, match=r"does not exist \(run `qbcd prepare` first\)"):
                ProjectState(url, create=False)
        ProjectState(url).close()

    def test_many_first_openers_agree_on_one_project(self, url: str) -> None:
        gate, found = threading.Barrier(5), []

        def first() -> None:
            gate.wait()
            with ProjectState(url) as state:
                found.append(state.project_id)

        threads = [threading.Thread(target=first) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 5
        assert len(set(found)) == 1

    def test_a_newer_format_is_refused(self, url: str) -> None:
        with ProjectState(url) as state, state.write() as conn:
            conn.execute(text("UPDATE qbcd_meta SET format_version = 2"))
        with pytest.raises(Refused, match=r"written by a newer qbcd \(format 2; this one reads up to 1\)"):
            ProjectState(url)

    @pytest.mark.parametrize("wrong", [0, -7])
    def test_a_senseless_format_is_refused(self, url: str, wrong: int) -> None:
        with ProjectState(url) as state, state.write() as conn:
            conn.execute(text("UPDATE qbcd_meta SET format_version = :v"), {"v": wrong})
        with pytest.raises(Refused, match="has no valid format version"):
            ProjectState(url)

    def test_an_older_format_is_lifted_in_one_transaction(self, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
        ProjectState(url).close()
        monkeypatch.setattr(upgrades, "FORMAT_VERSION", 3)
        steps = {1: lambda conn: conn.execute(text("CREATE TABLE qbcd_extra (n integer)"))}
        monkeypatch.setattr(upgrades, "UPGRADES", steps)
        with pytest.raises(Refused, match="format 2, too old"):
            ProjectState(url)
        steps[2] = lambda conn: conn.execute(text("INSERT INTO qbcd_extra VALUES (7)"))
        for _ in range(2):  # the first attempt left nothing behind, the second finds nothing to do
            with ProjectState(url) as state, state.read() as conn:
                assert conn.execute(text("SELECT n FROM qbcd_extra")).all() == [(7,)]
                assert conn.execute(text("SELECT format_version FROM qbcd_meta")).scalar() == 3

    @pytest.mark.parametrize("table", ["qbcd_meta", "qbcd_stream", "qbcd_ack"])
    def test_a_state_without_one_of_its_tables_is_refused(self, url: str, table: str) -> None:
        with ProjectState(url) as state, state.write() as conn:
            conn.execute(text(f"DROP TABLE {table}"))
        with pytest.raises(Refused, match=rf"{table} is missing \(restore it from a backup; qbcd never replaces"):
            ProjectState(url)

    def test_a_lost_project_id_is_refused(self, url: str) -> None:
        with ProjectState(url) as state, state.write() as conn:
            conn.execute(text("DELETE FROM qbcd_meta"))
        with pytest.raises(Refused, match="has no project id"):
            ProjectState(url)

    def test_a_failed_block_leaves_nothing(self, state: ProjectState) -> None:
        with pytest.raises(ZeroDivisionError), state.write() as conn:
            state.store.register(conn, PROJECT, STREAM)
            raise ZeroDivisionError
        with state.read() as conn:
            assert state.store.read(conn, STREAM) is None

    def test_a_reader_sees_one_state(self, state: ProjectState) -> None:
        with state.write() as conn:
            state.store.register(conn, PROJECT, STREAM)
        with state.read() as conn:
            before = state.store.read(conn, STREAM)
            if not state.facts.is_file:  # the writer of a file waits for the reader instead
                with state.write() as other:
                    state.store.advance(other, state.store.lock(other, STREAM, PROJECT, 0, 0))
            assert state.store.read(conn, STREAM) == before

    # -- acknowledgements --------------------------------------------------------------------------------------------
    def test_acknowledgements_move_forward_only(self, state: ProjectState) -> None:
        state.acknowledge(STREAM, "lake", header(3))
        state.acknowledge(STREAM, "lake", header(5))
        state.acknowledge(STREAM, "lake", header(5))
        state.acknowledge(STREAM, "changes", header(1))
        for wrong in (header(4), header(5, fingerprint="other"), header(9, epoch=99)):
            with pytest.raises(StateConflict, match="the state does not match sink 'lake': the sink has batch 100/5"):
                state.acknowledge(STREAM, "lake", wrong)
        held = {"lake": Acknowledged(100, 5, "f5"), "changes": Acknowledged(100, 1, "f1")}
        assert state.acknowledged(STREAM) == held
        state.acknowledge(STREAM, "lake", header(6, epoch=101))
        state.retire_sink(STREAM, "changes")
        assert state.acknowledged(STREAM) == {"lake": Acknowledged(101, 6, "f6")}
        assert state.acknowledged("other") == {}
        state.forget(STREAM)
        assert state.acknowledged(STREAM) == {}

    def test_a_site_that_went_back_is_refused(self, state: ProjectState) -> None:
        state.check_acks(STREAM, None, [])
        state.acknowledge(STREAM, "lake", header(5))
        state.check_acks(STREAM, site_row(100, 5), [header(5), header(4, fingerprint="x")])
        state.check_acks(STREAM, site_row(100, 6), [])
        state.check_acks(STREAM, site_row(101, 5), [])
        for row in (None, site_row(100, 4), site_row(99, 8)):
            with pytest.raises(StateConflict, match="does not match sink"):
                state.check_acks(STREAM, row, [])
        with pytest.raises(StateConflict, match=r"has batch 100/5 \(f5\), the state has 100/5 \(fork\)"):
            state.check_acks(STREAM, site_row(100, 7), [header(5, fingerprint="fork")])

    def test_a_sink_is_enrolled_once_and_holds_nothing_yet(self, state: ProjectState) -> None:
        state.enroll(STREAM, "lake", 100, 4)
        state.enroll(STREAM, "lake", 100, 9)
        assert state.acknowledged(STREAM) == {"lake": Acknowledged(100, 4, "")}
        state.check_acks(STREAM, site_row(100, 4), [header(4)])  # for any batch
        for row in (None, site_row(100, 3), site_row(99, 8)):
            with pytest.raises(StateConflict, match=r"has batch 100/4 \(no fingerprint\)"):
                state.check_acks(STREAM, row, [])
        state.acknowledge(STREAM, "lake", header(5))
        state.enroll(STREAM, "lake", 100, 4)
        assert state.acknowledged(STREAM) == {"lake": Acknowledged(100, 5, "f5")}

    def test_many_enroll_at_once(self, state: ProjectState) -> None:
        gate, done = threading.Barrier(4), []

        def first(seq: int) -> None:
            gate.wait()
            state.enroll(STREAM, "lake", 100, seq)
            done.append(seq)

        threads = [threading.Thread(target=first, args=(seq,)) for seq in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(done) == [0, 1, 2, 3]
        assert state.acknowledged(STREAM)["lake"] in [Acknowledged(100, seq, "") for seq in done]

    def test_names_that_differ_in_case_are_two_sinks_and_two_streams(self, state: ProjectState) -> None:
        for number, (stream, sink) in enumerate([("s", "lake"), ("s", "Lake"), ("S", "lake")], 1):
            state.acknowledge(stream, sink, header(number))
            state.delivery_failed(stream, sink, "no" * 50_000)
            state.put_refusal(stream, Refusal("deletes", number, 1, "why"))
        assert {sink: done.seq for sink, done in state.acknowledged("s").items()} == {"lake": 1, "Lake": 2}
        assert {sink: done.seq for sink, done in state.acknowledged("S").items()} == {"lake": 3}
        assert {sink: failed.attempts for sink, failed in state.delivery_failures("s").items()} == {
            "lake": 1,
            "Lake": 1,
        }
        assert not state.consume_refusal("s", "Deletes", 2, 1)
        assert state.consume_refusal("s", "deletes", 2, 1)
        assert state.consume_refusal("S", "deletes", 3, 1)

    def test_a_damaged_acknowledgement_is_refused(self, state: ProjectState) -> None:
        state.acknowledge(STREAM, "lake", header(5))
        with state.write() as conn:
            conn.execute(text("UPDATE qbcd_ack SET batch_seq = 4"))
        with pytest.raises(Refused, match="damaged"):
            state.acknowledged(STREAM)

    def test_failed_deliveries_count_until_one_succeeds(self, state: ProjectState) -> None:
        assert state.delivery_failed(STREAM, "lake", "disk\0 full") == 1
        assert state.delivery_failed(STREAM, "lake", "still full") == 2
        assert state.delivery_failed(STREAM, "changes", "no") == 1
        failure = state.delivery_failures(STREAM)["lake"]
        assert (failure.message, failure.attempts) == ("still full", 2)
        assert failure.at > 1_600_000_000
        state.acknowledge(STREAM, "lake", header(1))
        assert set(state.delivery_failures(STREAM)) == {"changes"}

    # -- history and refusals ----------------------------------------------------------------------------------------
    def test_the_history_keeps_the_latest_thousand_of_each_stream(self, state: ProjectState) -> None:
        run = Run(STREAM, 1.5, 2.25, "ok", 100, 1, {"c": 2}, {"ranges": 3}, "done\0")
        other = state.record_run(
            replace(run, stream="other", outcome="refused", cost={"rows_scanned": 9, "spark": True})
        )
        with state.write() as conn:
            insert = text(
                "INSERT INTO qbcd_history (stream, started_at, finished_at, outcome, epoch, batch_seq, counts, cost,"
                " message) VALUES (:stream, :n, :n, 'empty', 0, 0, '{}', '{}', '')"
            )
            conn.execute(insert, [{"stream": STREAM, "n": n} for n in range(1005)])
        number = state.record_run(run)
        kept = state.runs(STREAM, 5000)
        assert len(kept) == 1000
        assert kept[0] == replace(run, message="done", id=number)
        assert [r.started_at for r in kept[1:3]] == [1004.0, 1003.0]
        assert kept[-1].started_at == 6.0
        [alone] = state.runs("other")
        assert (alone.id, alone.outcome, alone.cost["rows_scanned"], alone.cost["spark"]) == (other, "refused", 9, True)

    def test_a_refusal_is_confirmed_once_and_exactly(self, state: ProjectState) -> None:
        assert state.get_refusal(STREAM) is None
        state.put_refusal(STREAM, Refusal("deletes", 4, 10, "old"))
        state.put_refusal(STREAM, Refusal("deletes", 5, 11, "would delete 11"))
        found = state.get_refusal(STREAM)
        assert found is not None
        assert replace(found, at=0.0) == Refusal("deletes", 5, 11, "would delete 11")
        for kind, version, amount in (("deletes", 4, 11), ("deletes", 5, 12), ("empty", 5, 11)):
            assert not state.consume_refusal(STREAM, kind, version, amount)
        with pytest.raises(ZeroDivisionError), state.write() as conn:
            assert state.consume_refusal(STREAM, "deletes", 5, 11, conn=conn)
            raise ZeroDivisionError
        assert state.consume_refusal(STREAM, "deletes", 5, 11)
        assert not state.consume_refusal(STREAM, "deletes", 5, 11)
        assert state.get_refusal(STREAM) is None
