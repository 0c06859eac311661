"""The summary line of `qbcd check`, and each of its errors once."""

from __future__ import annotations

import pytest

from qbcd.check import Finding, distinct_errors, summary
from qbcd.errors import QbcdError, Refused


def ok(stream: str, level: str = "ok") -> Finding:
    return Finding("key", level, "a message", stream)  # type: ignore[arg-type]


def error(stream: str, what: str = "is full", subject: str = "sink lake", where: str = "") -> Finding:
    return Finding(subject, "error", what, stream, Refused(what, remedy="free it", stream=stream, where=where))


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([ok("a"), ok("a"), ok("b")], "2 streams: 2 ok"),
        (
            [ok(f"s{i}") for i in range(12)] + [ok("t"), ok("t", "warning"), ok("t", "warning")],
            "13 streams: 12 ok, 1 warning",
        ),
        ([ok("a", "warning"), error("a"), ok("b", "warning"), ok("c", "warning")], "3 streams: 2 warnings, 1 error"),
        ([ok("", "warning"), ok(""), error(""), error(""), ok("a")], "1 stream: 1 ok; project: 1 warning, 2 errors"),
    ],
)
def test_the_sum_counts_streams_by_their_worst(found: list[Finding], said: str) -> None:
    assert summary(found) == said


@pytest.mark.parametrize(
    ("found", "said"),
    [
        ([error("a")], ["stream a: is full (free it)"]),
        ([error("a"), error("b")], ["streams a, b: is full (free it)"]),
        ([error(s) for s in "abcde"], ["streams a, b, c and 2 more: is full (free it)"]),
        ([error("a"), error("b", "is slow")], ["stream a: is full (free it)", "stream b: is slow (free it)"]),
        (
            [error("", "no /w", "workdir"), error("a", "no /w/a", "sink x")],
            ["no /w (free it)", "stream a: no /w/a (free it)"],
        ),
        ([error("a", where="f:1"), error("b", where="f:1")], ["f:1: is full (free it)"]),
    ],
)
def test_each_error_is_reported_once(found: list[Finding], said: list[str]) -> None:
    errors: list[QbcdError] = distinct_errors(found)
    assert [str(one) for one in errors] == said
