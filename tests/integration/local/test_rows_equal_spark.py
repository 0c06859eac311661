"""Rows in a local database equal those that Spark's JDBC reader delivers: every value of every type."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.catalog.source import Source
from qbcd.model.wire import Fields
from qbcd.sites.event_schema import casts
from qbcd.spark.source import source_rows
from tests.support import maria_source, pg_source
from tests.support.local_rows import STREAM, fetched, source, wire_rows
from tests.support.places import Place, over

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOADED: Mapping[str, Callable[[Place], dict[str, str]]] = {
    "postgresql": lambda place: pg_source.load_values(place.url),
    "mariadb": maria_source.load_values,
    "mysql": maria_source.load_values,
}


def by_spark(spark: SparkSession, shop: Source, text: str, fields: Fields) -> list[tuple[Any, ...]]:
    """Return the rows of a statement as today's fetch has them."""
    rows = source_rows(spark, shop, STREAM, [text], init=shop.connector.sessions.pins())
    return [tuple(row) for row in rows.selectExpr(*casts(fields)).collect()]


def shown(rows: list[tuple[Any, ...]]) -> list[str]:
    """Return rows as texts that differ for all different values: NaN is itself, -0.0 is not 0.0."""
    return sorted(repr([bytes(v) if isinstance(v, bytearray) else v for v in row]) for row in rows)


@pytest.mark.campaign
@over("way", ["fast", "plain"])
def test_every_value_of_every_type(way: str, place: Place, spark: SparkSession, tmp_path: Path) -> None:
    seen, different = 0, {}
    tables = LOADED[place.kind](place)
    with source(place, plain=way == "plain") as shop, source(place) as other:
        for sql_type, name in tables.items():
            text, fields = wire_rows(shop, place, name)
            have, expected = shown(fetched(shop, [text], fields, tmp_path)), shown(by_spark(spark, other, text, fields))
            seen += len(expected)
            if have != expected:
                different[sql_type] = [pair for pair in zip(have, expected, strict=False) if pair[0] != pair[1]]
    assert different == {}
    assert seen > 400
