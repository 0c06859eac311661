"""The record of a target table: which batch can be the first of one that has all rows of the source."""

from __future__ import annotations

from typing import Any

import pytest

from qbcd.errors import DeliveryError
from qbcd.model import BatchHeader, ResentRows
from qbcd.sinks.table.record import TableRecord, verdict

NO, LAST, CLAIM = None, TableRecord(10, 4, "f4"), TableRecord(10, 4, "")
FIRST = {"r": 3}


def header(epoch: int, seq: int, counts: dict[str, int], label: str = "", **facts: Any) -> BatchHeader:
    plain: dict[str, Any] = {"location": {}, "before": True, **facts}
    known: Any = ("s", epoch, seq, 0, counts, (), f"f{seq}{label}", "shop", "t", "mds", "snapshot", ("id",), ())
    return ResentRows(*known, **plain, label=label) if label else BatchHeader(*known, **plain)


WAITED: dict[str, Any] = {"location": {"waited": {"of": [11, 1]}}}
NO_OLD: dict[str, Any] = {"before": False}


@pytest.mark.parametrize(
    ("found", "batch"),
    [
        (NO, header(11, 9, FIRST)),
        (NO, header(11, 9, FIRST, "resend-1")),
        (NO, header(11, 9, {}, "resend-1")),
        (NO, header(11, 1, {"c": 2})),
        (NO, header(11, 1, {"u": 2}, **NO_OLD)),
        (LAST, header(11, 9, FIRST)),
        (LAST, header(11, 5, {"c": 2})),
        (LAST, header(11, 5, {})),
        (LAST, header(11, 5, {"u": 2}, **NO_OLD)),
        (CLAIM, header(10, 5, {"c": 2})),
        (CLAIM, header(11, 5, {"c": 2})),
    ],
)
def test_a_batch_with_all_rows_begins_a_table(found: TableRecord | None, batch: BatchHeader) -> None:
    assert verdict(found, batch, "copy", of_rows=True) == "replace"


@pytest.mark.parametrize(
    ("found", "batch"),
    [
        (NO, header(11, 2, {"c": 2})),
        (NO, header(11, 2, {"u": 1}, **NO_OLD)),
        (NO, header(11, 1, {"u": 1})),
        (NO, header(11, 2, {})),
        (NO, header(11, 2, FIRST, **WAITED)),
        (LAST, header(11, 5, {"u": 1})),
        (LAST, header(11, 5, {"r": 1, "d": 1})),
        (LAST, header(11, 6, {"c": 1})),
        (LAST, header(11, 6, {})),
        (LAST, header(11, 6, FIRST, **WAITED)),
        (CLAIM, header(10, 5, {"c": 1, "d": 1})),
        (CLAIM, header(10, 6, {"c": 1})),
    ],
)
def test_a_batch_that_lacks_rows_begins_none(found: TableRecord | None, batch: BatchHeader) -> None:
    with pytest.raises(DeliveryError) as error:
        verdict(found, batch, "copy", of_rows=True)
    assert "qbcd resend s copy" in error.value.remedy
    assert verdict(found, batch, "copy") == "replace", "a log has the events of its batches, and no others"


def test_a_replay_can_begin_at_any_number_if_the_source_was_empty() -> None:
    batch = header(11, 7, {"c": 2})
    assert verdict(LAST, batch, "copy", of_rows=True, from_empty=True) == "replace"
    with pytest.raises(DeliveryError):
        verdict(LAST, header(11, 7, {"d": 2}), "copy", of_rows=True, from_empty=True)
