"""A table that only a JDBC driver reaches, as an operand.

Spark reads its rows, once, into this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from typing_extensions import override

from qbcd.catalog.jdbc import JdbcSource
from qbcd.common.temporary import TemporaryFolder
from qbcd.comparison.operands import ComparedColumns, Operand, in_table
from qbcd.comparison.tables import STREAM, NamedTable
from qbcd.config.fields import split_table
from qbcd.errors import UnsafeKey, UnsupportedType
from qbcd.files.columns import arrow_of
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import identity_of, wire_value
from qbcd.local.query import Query
from qbcd.local.source import ReadAmount
from qbcd.local.travelled import CALENDAR, GREGORIAN
from qbcd.model import Column, StreamPlan, Table
from qbcd.project import ProjectParts
from qbcd.sites.jdbc.plan import described, read_column, width_of
from qbcd.sites.jdbc.poll import DUCKDB
from qbcd.sites.jdbc.source_sql import SPARK, select_of
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from qbcd.sites.lake.engines.spark.rows import SparkRows
from qbcd.spark.jdbc_read import RowShape, travelling_rows

PRODUCT = "product"  # a fact: the profile by whose driver a column is read


class JdbcOperand(Operand):
    """A table or view that a JDBC driver reads.

    Args:
        place: The table and its source.
        others: Tables of other operands, whose drivers the Spark session needs too.

    Attributes:
        source: Its database.
        name: The quoted name of the table.
        primary: Its primary key, as the driver shows it; empty if none.
        amount: What was read of its rows, as bytes of compressed files.
    """

    def __init__(self, place: NamedTable, wanted: ComparedColumns, others: Sequence[NamedTable]) -> None:
        self._assembly = ProjectParts(place.config({}, others))
        source = self._assembly.source(place.source)
        assert isinstance(source, JdbcSource)
        self.source, self._table = source, split_table(place.table)
        self.label = f"{place.table} of {self.source.label}"
        # set up for few rows: a short start is worth more than fast reads of many
        self._assembly.spark.give_reason("a JDBC driver alone reaches the table", 0)
        found, primary = described(self.java, self.source, STREAM, self._table)
        read = {column.name: read_column(self.source.profile, column) for column in found}
        self.columns = tuple(c.with_fact(PRODUCT, source.profile.name) for c in read.values() if isinstance(c, Column))
        self.unsupported = {c.name: c.type_name for c in found if isinstance(read[c.name], str)}
        known = {column.name for column in self.columns}
        self.primary = tuple(primary)
        self.proven = tuple(wanted.key) or tuple(name for name in primary if name in known)
        self.name, self.amount = self.source.profile.quoted_table(*self._table), ReadAmount()

    @property
    def java(self) -> Any:
        """The classes of the Java that has the driver."""
        return self._assembly.spark.java()

    @override
    def load(self, database: LocalDatabase, captured: Sequence[Column], keys: int) -> tuple[Query, int]:
        return self.load_some(database, captured, keys, "")

    def load_some(
        self, database: LocalDatabase, captured: Sequence[Column], keys: int, where: str
    ) -> tuple[Query, int]:
        """Read the rows that fulfill a condition, as `load` does; all if it is empty."""
        with TemporaryFolder("qbcd-diff-rows-") as folder:
            rows = folder / "rows"
            files = self._read(rows, captured, where)
            found = self._loaded(database, captured, keys, files)
            self.amount.rows += found[1]
            self.amount.bytes += sum(one.stat().st_size for one in rows.iterdir())
            return found

    def _read(self, folder: Path, captured: Sequence[Column], where: str) -> str:
        """Read the rows into Parquet files; return SQL that reads these."""
        table = Table(*self._table, "table", tuple(captured), ())
        plan = StreamPlan(STREAM, self.source.name, table, (), tuple(captured), where, "id_rcs")
        fields = [(f"c{i}", column.fact(SPARK).lower()) for i, column in enumerate(captured)]
        shape = RowShape(fields, width_of(plan))
        with closing(SparkEngine(self._assembly.spark)) as engine:
            frame = travelling_rows(
                self._assembly.spark.get(), self.source, STREAM, select_of(self.source, plan), shape
            )
            write = partial(engine.write, SparkRows.of(frame), fields, folder, temporary=True)
            engine.explained(write, lambda error: self.source.explain(error, STREAM))
        casts = ", ".join(f"CAST({name} AS {DUCKDB.get(kind, kind)}) AS {name}" for name, kind in fields)
        return f"SELECT {casts} FROM read_parquet('{folder}/*.parquet')"

    def _loaded(self, database: LocalDatabase, captured: Sequence[Column], keys: int, rows: str) -> tuple[Query, int]:
        count = self._checked(database, captured, keys, rows)
        values = [f"{wire_value(arrow_of(c.travel), c, f'c{i}')} AS c{i}" for i, c in enumerate(captured)]
        columns = [f"c{i}" for i in range(len(captured))]
        listed = ["CAST(1 AS BIGINT) AS range_id", f"{identity_of(captured[:keys])} AS key_id"]
        listed += ["CAST(NULL AS BIGINT) AS digest", *columns]
        sql = f"SELECT {', '.join(listed)} FROM (SELECT {', '.join(values)} FROM ({rows}))"
        return in_table(database, Query(sql, ("range_id", "key_id", "digest", *columns))), count

    def _checked(self, database: LocalDatabase, captured: Sequence[Column], keys: int, rows: str) -> int:
        """Return the number of rows.

        Raises:
            UnsafeKey: A key is NULL.
            UnsupportedType: A driver may have shifted a date.
        """
        nulls = " OR ".join(f"c{i} IS NULL" for i in range(keys))
        dated = [(i, c) for i, c in enumerate(captured) if c.travel.kind in CALENDAR]
        old = " OR ".join(f"c{i} < DATE '{GREGORIAN}'" for i, _ in dated) or "FALSE"
        asked = f"SELECT COUNT(*), COUNT(*) FILTER (WHERE {nulls}), COUNT(*) FILTER (WHERE {old}) FROM ({rows})"
        [(count, without_key, shifted)] = database.connection.execute(asked).fetchall()
        if without_key:
            named = ", ".join(c.name for c in captured[:keys])
            remedy = "name other columns: --key a,b; or correct these rows"
            raise UnsafeKey(f"{self.label}: the key ({named}) is NULL in {without_key:,} rows", remedy=remedy)
        if shifted:
            named = ",".join(c.name for _, c in dated)
            what = f"{shifted:,} rows have a date before {GREGORIAN}, which JDBC drivers may shift by days"
            raise UnsupportedType(f"{self.label}: {what}", remedy=f"leave out the column: --exclude {named}")
        return int(count)

    @override
    def close(self) -> None:
        self._assembly.close()
