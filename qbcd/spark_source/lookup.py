"""A lookup as a join of a DataFrame of Spark with a relation, streaming or not.

Spark's own join with a JDBC relation reads the relation whole in each micro-batch. Here each partition searches its
keys by the methods of lookups, in the Python process that Spark starts for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.api import open, parts_of
from qbcd.connectors.facts import quoted
from qbcd.errors import ConfigError
from qbcd.event_sql.spark import SPARK
from qbcd.lookups import IncomingRows, LookupJoin
from qbcd.model import Travel, TravelKind
from qbcd.model.wire import wire_type
from qbcd.spark_source.fitness import workers_python
from qbcd.sql.spark_literals import structure, when

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

_STREAM = "spark"  # names sessions in the monitoring of sources
_JSON = "qbcd_lookup"
_KINDS: dict[str, TravelKind] = {
    "tinyint": "int16",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "string": "text",
    "date": "date",
    "timestamp_ntz": "timestamp",
    "boolean": "boolean",
}


def lookup(frame: DataFrame, name: str, *, config: str | Path = "qbcd.yaml", partitions: int = 1) -> DataFrame:
    """Add a column with the row that a lookup finds, to a DataFrame, streaming or not.

    A repeated micro-batch sees the relation as it is then; allocated keys are the same.

    Args:
        name: The lookup, under `lookups` of the configuration; also the name of the column, a struct or NULL.
        config: The configuration; a file that the executors have too.
        partitions: Partitions that search at the same time, each by itself. A scan serves the keys of one.

    Raises:
        ConfigError: There is no such lookup, or the frame lacks a column, or has one of this name.
        EnvironmentMissing: The Python of Spark's workers has no qbcd.
    """
    from pyspark.sql import functions
    from pyspark.sql.types import StringType, StructField, StructType

    there = {column.lower(): column for column in frame.columns}  # Spark replaces a column of its name in any case
    for made in (name, _JSON):
        if taken := there.get(made.lower()):
            raise ConfigError(f"the DataFrame has a column {taken!r} already", remedy="rename it before the lookup")
    path = Path(config).resolve()
    travels = {field.name: _travel(field.dataType.simpleString()) for field in frame.schema.fields}
    with open(path) as project:
        [relation] = parts_of(project).enriching.lookup_origin(_STREAM, [name]).resolve()
        relation.forms({column: travel for column, travel in travels.items() if travel is not None})
    work = _Work(str(path), name, {column: travel for column, travel in travels.items() if travel is not None})
    schema = StructType([*frame.schema.fields, StructField(_JSON, StringType())])
    with workers_python(frame.sparkSession):
        joined = frame.coalesce(partitions).mapInArrow(work, schema)
    place = quoted(name, "spark")
    columns = ", ".join(f"{quoted(c.name, 'spark')}: {wire_type(c.travel)}" for c in relation.take)
    partner = functions.from_json(functions.col(_JSON), f"struct<{place}: struct<{columns}>>").getField(name)
    wire = {c.name: f"{place}.{quoted(c.name, 'spark')}" for c in relation.take}
    values = [(c.name, SPARK.typed_value(c.travel, wire[c.name], c.name)) for c in relation.take]
    typed = when((f"{place} IS NOT NULL", structure(values)))
    return joined.withColumn(name, partner).drop(_JSON).withColumn(name, functions.expr(typed))


def _travel(kind: str) -> Travel | None:
    """Return the form of a Spark type that can be a key, or None."""
    if kind.startswith("decimal("):
        precision, scale = map(int, kind[len("decimal(") : -1].split(","))
        return Travel("decimal", precision, scale)
    return Travel(_KINDS[kind]) if kind in _KINDS else None


@dataclass(frozen=True)
class _Work:
    """The search of one partition, in a Python process of Spark."""

    config: str
    name: str
    travels: dict[str, Travel]

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        incoming = [batch for batch in batches if batch.num_rows]
        if not incoming:
            return
        rows = pa.Table.from_batches(incoming)
        numbered = rows.select(list(self.travels)).append_column("ordinal", pa.array(range(len(rows)), pa.int64()))
        with ExitStack() as opened:
            parts = parts_of(opened.enter_context(open(self.config)))
            origin = parts.enriching.lookup_origin(_STREAM, [self.name])
            database = opened.enter_context(parts.local.open())
            incoming_name = database.new_name()
            database.connection.register(incoming_name, numbered)
            found = LookupJoin(origin, origin.resolve()).objects(
                IncomingRows(
                    database, f"SELECT * FROM {incoming_name}", self.travels, lambda name: quoted(name, "duckdb")
                )
            )
            texts = pa.chunked_array(list(found), pa.string())
        yield from rows.append_column(_JSON, texts).combine_chunks().to_batches()
