"""A value of SQLite that is of another class than its column: the refusal names the column."""

from __future__ import annotations

import sqlite3

import pytest

from qbcd.catalog.jdbc import JdbcLogin, JdbcSource
from qbcd.config.masking import Masking
from qbcd.connectors.jdbc.profiles import PROFILES
from qbcd.errors import SourceError, UnsupportedType
from qbcd.model import Column, StreamPlan, Table, Travel
from qbcd.sites.jdbc.plan import with_column
from qbcd.sites.jdbc.source_sql import READ, SPARK, select_of


def column(name: str, sql_type: str, spark: str) -> Column:
    """Return a column that is read by the rule of its type."""
    expression = PROFILES["sqlite"].rule(sql_type).partition(": ")[2]
    facts = ((READ, expression), (SPARK, spark))
    return Column(name, sql_type, sql_type, True, "", "typed", Travel("text"), facts=facts)


@pytest.mark.parametrize(("misfit", "named"), [("UPDATE t SET n = 'ten'", "n"), ('UPDATE t SET "it\'s" = 7.5', "it's")])
def test_the_column_of_a_value_of_another_class_is_named(misfit: str, named: str) -> None:
    source = JdbcSource("s", PROFILES["sqlite"], JdbcLogin("jdbc:sqlite:x", {}), Masking())
    columns = (column("n", "INTEGER", "BIGINT"), column("it's", "BLOB", "BINARY"))
    plan = StreamPlan("s", "s", Table("", "t", "table", columns, ()), (), columns, "n > 0", "id_rcs", counted=True)
    database = sqlite3.connect(":memory:")
    database.execute('CREATE TABLE t (n INTEGER, "it\'s" BLOB)')
    database.execute("INSERT INTO t VALUES (1, x'00')")

    def fails(select: str) -> bool:
        try:
            database.execute(select).fetchall()
        except sqlite3.OperationalError:
            return True
        return False

    assert not fails(select_of(source, plan))
    database.execute(misfit)
    with pytest.raises(sqlite3.OperationalError) as caught:
        database.execute(select_of(source, plan)).fetchall()
    error = SourceError(f"source s (SQLite): {caught.value}", stream="s")
    refusal = with_column(source, plan, error, fails)
    assert isinstance(refusal, UnsupportedType)
    assert f"column {named!r}" in refusal.what
    assert f"{named}: text" in refusal.remedy
    other = SourceError("source s (SQLite): the disk is full", stream="s")
    assert with_column(source, plan, other, fails) is other
