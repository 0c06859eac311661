"""Checks of fetched rows and of checksums: rows of another state, and rows without a digest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.errors import TornRead
from qbcd.sites.lake import checksums
from qbcd.sites.lake.fetch_plan import FetchPlan, check_delta, check_torn
from qbcd.state import StoredRange

KNOWN = (StoredRange(1, None, ("5",), 2, 10), StoredRange(2, ("5",), None, 3, 20))
NOW = (StoredRange(1, None, ("5",), 3, 12), StoredRange(2, ("5",), None, 3, 21))
PLAN = FetchPlan(NOW, (), (), KNOWN, 6)


@pytest.mark.parametrize(("rows", "checksum"), [(5, 33), (6, 34), (7, 33), (6, None)])
def test_rows_of_another_state_than_the_checksums(rows: int, checksum: int | None) -> None:
    check_torn("s", PLAN, 6, 33)
    with pytest.raises(TornRead, match="the readers did not see one snapshot"):
        check_torn("s", PLAN, rows, checksum)


@pytest.mark.parametrize(("rows", "checksum"), [(2, 4), (3, 3), (1, 3), (2, None)])
def test_looked_up_rows_of_another_state(rows: int, checksum: int | None) -> None:
    check_delta("s", PLAN, (2, 3), (1, 0))
    with pytest.raises(TornRead, match="are not those that changed"):
        check_delta("s", PLAN, (rows, checksum), (1, 0))


@pytest.mark.parametrize("digests", [1, 3])
def test_rows_without_a_digest_are_refused(digests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum skips them, or counts a row that has none."""
    answer = SimpleNamespace(range_id=1, n=2, digests=digests, checksum=7)
    partitioning = SimpleNamespace(passes=lambda *known, **more: [[]], answers_all=True, hashed=False)
    plan = SimpleNamespace(option=lambda name: None)
    poll: Any = SimpleNamespace(
        context=SimpleNamespace(stream="s"),
        strategy=SimpleNamespace(partitioning=partitioning, plan=plan),
        settings=SimpleNamespace(connections=1),
    )
    monkeypatch.setattr(checksums, "_gather", lambda *shares: [answer])
    with pytest.raises(TornRead, match="range 1 has rows without a digest"):
        checksums.checksums(poll, [StoredRange(1, None, None)])
    answer.digests = 2
    assert [(r.rows, r.checksum) for r in checksums.checksums(poll, [StoredRange(1, None, None)])] == [(2, 7)]
