"""The engine that ``auto`` chooses, and the reason that it gives."""

from __future__ import annotations

import pytest

from qbcd.api import Project, parts_of
from qbcd.local.database import threads_for
from qbcd.sites.engine_choice import LOCAL, SPARK, EngineChoice, RowLimit, measured_limit

ENOUGH = 512 << 20


@pytest.mark.parametrize(("threads", "cores"), [(2, 2), (4, 4), (1, 1)])
def test_this_process_is_faster_for_any_size_if_it_uses_all_cores(threads: int, cores: int) -> None:
    assert measured_limit(ENOUGH, threads, cores).rows is None


@pytest.mark.parametrize(("threads", "cores"), [(2, 8), (4, 8), (4, 64)])
def test_spark_is_faster_beyond_a_size_if_it_uses_more_cores(threads: int, cores: int) -> None:
    """At the limit both need equally long; it falls with the cores that only Spark uses."""
    rows, reason = measured_limit(ENOUGH, threads, cores)
    assert rows is not None
    millions = rows / 1_000_000
    local = LOCAL.start + millions * LOCAL.per_million * 2 / threads
    assert local == pytest.approx(SPARK.start + millions * SPARK.per_million * 2 / cores, rel=1e-5)
    assert reason == "Spark is faster"
    more = measured_limit(ENOUGH, threads, 2 * cores).rows
    assert more is not None
    assert more < rows


@pytest.mark.parametrize("cores", [1, 2, 64])
def test_little_memory_takes_few_rows(cores: int) -> None:
    assert measured_limit(64 << 20, 1, cores) == (1_000_000, "`local_memory` may be too little")


def test_auto_says_why_it_takes_spark() -> None:
    measured = EngineChoice(limit=RowLimit(3_000_000, "Spark is faster"))
    assert measured.why_spark(3_000_000) == ""
    assert measured.why_spark(3_000_001) == "more than 3,000,000 rows (Spark is faster)"
    assert (
        measured.describe() == "local; Spark beyond 3,000,000 rows (Spark is faster) or 1,024 MB of the replica's files"
    )
    users = EngineChoice(limit=RowLimit(200))
    assert users.why_spark(201) == "more than 200 rows (local_rows)"
    assert users.describe() == "local; Spark beyond 200 rows (local_rows) or 1,024 MB of the replica's files"
    any_size = EngineChoice(size=5 << 20)
    assert any_size.why_spark(10**12) == ""
    assert any_size.why_spark(1, 6 << 20) == "the replica has more than 5,242,880 bytes (local_bytes)"
    assert any_size.describe() == "local; Spark beyond 5 MB of the replica's files"
    assert EngineChoice(cluster=True).why_spark(1) == "the master is a cluster"
    assert EngineChoice("spark").why_spark(1) == "engine: spark"


@pytest.mark.parametrize(
    ("settings", "rows"), [({}, None), ({"local_memory": "64MB"}, 1_000_000), ({"local_rows": 7}, 7)]
)
def test_memory_and_cores_decide_unless_the_user_does(
    settings: dict[str, object], rows: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    assert threads_for(64 << 20) == 1
    data = {
        "version": 1,
        "sources": {"shop": {"url": "postgresql://u@127.0.0.1/shop"}},
        "sinks": {"changes": {"type": "jsonl", "path": "out"}},
        "tables": [{"source": "shop", "table": "public.t", "strategy": "id_rcs", "sinks": ["changes"]}],
        **settings,
    }
    with Project.from_dict(data) as project:
        found = parts_of(project).open_stream("t").settings.engine
    assert found.limit.rows == rows
    assert (found.limit.reason == "local_rows") == ("local_rows" in settings)
