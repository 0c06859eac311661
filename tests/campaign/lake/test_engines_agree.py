"""Both engines return the same rows for drawn relations, and each reads the files of the other."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from qbcd.sites.lake.engines import algebra
from tests.support.engine_results import Drawn, Results
from tests.support.engine_rows import Hand, draw, events_of, fields_of, in_order, plan_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
drawn_often = settings(
    max_examples=6,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],  # a smaller seed makes no smaller rows
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@drawn_often
@given(seed=st.integers(0, 2**32))
def test_every_function(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    drawn = Drawn.of(seed)
    local, other = (Results(hand, drawn).every() for hand in (Hand.local(tmp_path), Hand.of_spark(spark)))
    for name, result in other.items():
        assert local[name] == result, name


@drawn_often
@given(seed=st.integers(0, 2**32))
def test_rows_without_a_key(seed: int, spark: SparkSession, tmp_path: Path) -> None:
    """Their identity by value is of one poll alone, and differs between the engines."""
    rnd = random.Random(seed)
    plan = plan_of(rnd.choices(list(KINDS_OF_COPIES), k=2), keys=0, counted=True)
    rows = [_copies(rnd, plan) for _ in range(2)]
    found = []
    for hand in (Hand.local(tmp_path), Hand.of_spark(spark)):
        fields = [field for field in fields_of(plan) if field[0] != "key_id"]
        old, new = (algebra.identified(hand.rows(fields, some), plan) for some in rows)
        keyed = in_order(hand.read(old), "range_id", "digest", "key_id", "c0", "c1")
        images = ("op", "range_id", "digest", "a_0", "a_1", "b_0", "b_1", "net", "weight0")
        changes: dict[str, Any] = {
            by: in_order(hand.read(algebra.differences(old, new, plan, by=by)), *images) for by in ("digest", "values")
        }
        found.append((keyed, changes))
    assert found[0] == found[1]


KINDS_OF_COPIES = ("text", "float64", "binary", "boolean")


def _copies(rnd: random.Random, plan: Any) -> list[dict[str, Any]]:
    """Return rows, some of them several times in different ranges; equal digests have equal values."""
    kept = [row for row in draw(rnd, plan) if row["digest"] is not None]
    unique = {row["digest"]: row for row in kept}.values()
    return [{**row, "range_id": i} for row in unique for i in rnd.sample(range(4), rnd.randint(1, 3))]


@drawn_often
@given(seed=st.integers(0, 2**32))
def test_files_of_the_other_engine(seed: int, spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    drawn, folder = Drawn.of(seed), tmp_path_factory.mktemp("files")
    hands = {"local": Hand.local(folder), "spark": Hand.of_spark(spark)}
    parts = {"rows": (fields_of(drawn.plan), drawn.replica), "events": (events_of(drawn.plan), drawn.events)}
    for (name, (fields, rows)), (writer, hand) in [(p, h) for p in parts.items() for h in hands.items()]:
        for temporary in (True, False):
            part = folder / f"{name}-{writer}-{temporary}"
            events = [{**row, "ordinal": i} if "ordinal" in row else row for i, row in enumerate(rows)]
            hand.engine.write(hand.rows(fields, events), fields, part, temporary=temporary)
            files = [file for file in part.iterdir() if file.suffix == ".parquet"]
            names = [field for field, _ in fields]
            read = {reader: in_order(h.read(h.engine.read(fields, files)), *names) for reader, h in hands.items()}
            assert read == dict.fromkeys(hands, in_order(events, *names)), part.name


def test_a_read_of_spark_skips_groups_of_local_files(spark: SparkSession, tmp_path: Path) -> None:
    from qbcd.sites.lake.engines.local.parquet import ROW_GROUP
    from qbcd.sites.lake.engines.spark.engine import SparkEngine

    fields = [("range_id", "bigint"), ("key_id", "binary"), ("digest", "bigint")]
    hand, other = Hand.local(tmp_path), Hand.of_spark(spark)
    number = 4 * ROW_GROUP
    rows = [{"range_id": i // 100, "key_id": i.to_bytes(4, "big"), "digest": i} for i in range(number)]
    hand.engine.write(hand.rows(fields, rows), fields, tmp_path / "part", temporary=False)
    found = other.engine.in_ranges(other.engine.read(fields, list((tmp_path / "part").iterdir())), [3, 4])
    assert Counter(row["range_id"] for row in other.read(found)) == {3: 100, 4: 100}
    assert isinstance(other.engine, SparkEngine)
    frame = other.engine.frame(found)
    frame.collect()
    scan = frame._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.metrics().apply("numOutputRows").value() == ROW_GROUP
