"""Tables with a column of every type, and their exports by the writers that people use."""

from __future__ import annotations

import re
import shutil
import tempfile
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
from sqlalchemy import create_engine

from tests.support import maria_values, pg_values
from tests.support.places import Place

TEXT = {"type": "csv", "delimiter": "\t", "quote": "none", "escape": "\\"}
Form = dict[str, Any]


# values that types of dates and decimals of other programs cannot hold
_FAR = re.compile(r"infinity| BC|1000[0-9]-|29[0-9]{4}-|9999-|'0000|000[01]-|1582|-00[ '-]|02-31|2021-02-29|24:00|NaN")
_EMPTY = re.compile(r".*6e6f7468696e67|(_utf8mb4 X)?''($|::)")  # pandas writes empty texts as it writes NULL
_DATED = re.compile("date|time|stamp|numeric|cents")
# types whose exports are not equal to the table's own texts, each with the reason
LOSSY = {
    "tstzrange": "in the time zone of the session",
    "timestamptz[]": "in the time zone of the session",
    "double(20,10)": "rounded to digits after the point",
    **dict.fromkeys(("geometry", "point", "linestring", "polygon"), "bytes of no text"),
    **dict.fromkeys(("multipoint", "multilinestring", "multipolygon", "geometrycollection"), "bytes of no text"),
}
_LARGE = ("longtext", "mediumtext", "longblob", "mediumblob")


@dataclass(frozen=True)
class EveryType:
    """A table with a column of each type.

    Attributes:
        place: Its database.
        name: Its name.
        types: The SQL types by the names of columns.
        literals: SQL of the values of each column.
    """

    place: Place
    name: str
    types: Mapping[str, str]
    literals: Mapping[str, Sequence[str]]

    @property
    def listed(self) -> str:
        """The names of all columns, as SQL."""
        return ", ".join(["id", *self.types])

    def of_types(self, names: Collection[str]) -> list[str]:
        """Return the columns of some types."""
        return [column for column, sql_type in self.types.items() if sql_type in names]

    def set(self, row: int, column: str, literal: str) -> None:
        """Change a value."""
        with self.place.connect() as conn:
            self._loosely(conn)
            self.place.run(conn, f"UPDATE {self.name} SET {column} = {literal} WHERE id = {row}")

    def insert(self, conn: Any, row: int, values: Sequence[str]) -> None:
        """Insert a row of SQL."""
        self.place.run(conn, f"INSERT INTO {self.name} ({self.listed}) VALUES ({row}, {', '.join(values)})")

    def create(self, rows: int) -> None:
        """Create the table; the values of each column repeat in its rows, and row 0 is NULL."""
        with self.place.connect() as conn:
            self._loosely(conn)
            columns = ", ".join(f"{name} {sql_type}" for name, sql_type in self.types.items())
            self.place.run(conn, f"CREATE TABLE {self.name} (id int PRIMARY KEY, {columns})")
            for row in range(rows + 1):
                values = ["NULL" if row == 0 else one[(row - 1) % len(one)] for one in self.literals.values()]
                self.insert(conn, row, values)

    def _loosely(self, conn: Any) -> None:
        if self.place.kind != "postgresql":
            self.place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")


def every_type(
    place: Place, name: str, *, rows: int = 60, plain: bool = False, skip: Collection[str] = ()
) -> EveryType:
    """Make a table with a column of each type, except lossy ones and `skip`.

    Args:
        place: The database.
        name: The name of the table.
        rows: Most rows.
        plain: Leave out values that types of other programs cannot hold.
        skip: Types to leave out.
    """
    if place.kind == "postgresql":
        place.sql(pg_values.SETUP)
        listed: dict[str, list[str]] = {
            sql_type: [place.literal(sql_type, one) for one in values] for sql_type, values in pg_values.VALUES.items()
        }
    else:
        listed = maria_values.values_of(place.kind)
    known = {t: v for t, v in listed.items() if t not in {*LOSSY, *_LARGE, *skip} and "COMPRESSED" not in t}
    if plain:
        known = {
            t: [v for v in values if not ((_DATED.search(t) and _FAR.search(v)) or _EMPTY.match(v))]
            for t, values in known.items()
        }
    known = {t: values for t, values in known.items() if values}
    types = {f"c{i}": sql_type for i, sql_type in enumerate(known)}
    table = EveryType(place, name, types, dict(zip(types, known.values(), strict=True)))
    table.create(min(rows, max(map(len, known.values()))))
    return table


@dataclass(frozen=True)
class Export:
    """A file that a writer has written, and the format that its reader needs."""

    path: Path
    form: Form = field(default_factory=dict)


def copy_csv(table: EveryType, folder: Path) -> Export:
    """Export by PostgreSQL's COPY as CSV; a value of the table is the text that others write for NULL."""
    return _copied(table, folder / "copy.csv", "FORMAT csv, HEADER", {"null": ""})


def copy_text(table: EveryType, folder: Path) -> Export:
    """Export by PostgreSQL's COPY in its own format."""
    form = {**TEXT, "header": False, "names": ["id", *table.types]}
    return _copied(table, folder / "copy.txt", "FORMAT text", form)


def _copied(table: EveryType, path: Path, options: str, form: Form) -> Export:
    with table.place.connect() as conn, path.open("wb") as file, conn.cursor() as cursor:
        cursor.execute("SET timezone = 'Asia/Kolkata'")
        cursor.copy_expert(f"COPY {table.name} TO STDOUT ({options})", file)
    return Export(path, form)


def row_to_json(table: EveryType, folder: Path) -> Export:
    """Export by PostgreSQL's row_to_json, a line for each row."""
    path = folder / "rows.jsonl"
    rows = table.place.sql(f"SELECT replace(row_to_json(t)::text, chr(10), '') FROM {table.name} t ORDER BY id")
    path.write_text("".join(f"{text}\n" for (text,) in rows))
    return Export(path)


def outfile(table: EveryType, folder: Path) -> Export:
    """Export by SELECT INTO OUTFILE with its defaults."""
    path = _out(table, folder / "out.txt", "")
    return Export(path, {**TEXT, "header": False, "names": ["id", *table.types]})


def outfile_csv(table: EveryType, folder: Path) -> Export:
    """Export by SELECT INTO OUTFILE as most people write CSV by it."""
    path = _out(table, folder / "out.csv", "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'")
    return Export(path, {"escape": "\\", "null": "\\N", "header": False, "names": ["id", *table.types]})


def _out(table: EveryType, path: Path, options: str) -> Path:
    values = [_readable(name, sql_type) for name, sql_type in table.types.items()]
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o777)  # the server runs as another user
        written = Path(shared, path.name)
        selected = f"SELECT {', '.join(['id', *values])} FROM {table.name}"
        table.place.sql(f"{selected} INTO OUTFILE '{written}' CHARACTER SET utf8mb4 {options}")
        shutil.copyfile(written, path)
    return path


def _readable(name: str, sql_type: str) -> str:
    """Return SQL of a column; bytes have no text, so that their writer must choose one."""
    if sql_type.startswith("bit("):
        return f"{name} + 0"
    return f"concat('0x', hex({name}))" if "binary" in sql_type or "blob" in sql_type else name


def by_pandas(kind: str) -> Writer:
    """Return a writer that exports by pandas."""

    def write(table: EveryType, folder: Path) -> Export:
        import pandas as pd  # takes long

        url = re.sub("^(mariadb|mysql):", "mysql+pymysql:", table.place.url)
        engine = create_engine(url.replace("postgresql:", "postgresql+psycopg2:"))
        with engine.connect() as conn, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = pd.read_sql(f"SELECT {table.listed} FROM {table.name}", conn, coerce_float=False)
        engine.dispose()
        path = folder / f"pandas.{kind}"
        if kind == "csv":
            frame.to_csv(path, index=False)
        elif kind == "jsonl":
            frame.to_json(path, orient="records", lines=True, date_format="iso", date_unit="us", double_precision=15)
        else:
            frame.to_parquet(path)
        return Export(path, {"null": ""} if kind == "csv" else {})

    return write


# DuckDB's types of those of PostgreSQL; columns of other types are texts there
_DUCKDB = {
    "boolean": "BOOLEAN",
    "smallint": "SMALLINT",
    "integer": "INTEGER",
    "bigint": "BIGINT",
    "real": "FLOAT",
    "double precision": "DOUBLE",
    "numeric(12,2)": "DECIMAL(12,2)",
    "numeric(38,10)": "DECIMAL(38,10)",
    "date": "DATE",
    "time": "TIME",
    "timestamp": "TIMESTAMP",
    "timestamptz": "TIMESTAMPTZ",
    "uuid": "UUID",
    "bytea": "BLOB",
}
_BY_CAST = "CAST({c} AS {t}) AS {c}"


def duckdb_query(table: EveryType, folder: Path) -> str:
    """Return a query of DuckDB over the rows of a table of PostgreSQL, with DuckDB's own types."""
    path = copy_csv(table, folder).path
    values = []
    for column, sql_type in table.types.items():
        kind = _DUCKDB.get(sql_type, "VARCHAR")
        form = "unhex(substr({c}, 3)) AS {c}" if kind == "BLOB" else _BY_CAST
        values.append(form.format(c=column, t=kind))
    options = "all_varchar = true, allow_quoted_nulls = false, header = true, quote = '\"', escape = '\"'"
    read = f"read_csv('{path}', {options})"
    return f"SELECT CAST(id AS INTEGER) AS id, {', '.join(values)} FROM {read}"


def by_duckdb(kind: str) -> Writer:
    """Return a writer that exports by DuckDB's COPY."""

    def write(table: EveryType, folder: Path) -> Export:
        path = folder / f"duckdb.{kind}"
        with duckdb.connect() as connection:
            connection.execute("SET TimeZone = 'Asia/Kolkata'")
            name = "JSON" if kind == "jsonl" else kind.upper()
            connection.execute(f"COPY ({duckdb_query(table, folder)}) TO '{path}' (FORMAT {name})")
        form: Form = {"null": ""} if kind == "csv" else {}
        blobs = {} if kind == "parquet" else dict.fromkeys(table.of_types(["bytea"]), "blob")
        return Export(path, form | ({"types": blobs} if blobs else {}))

    return write


Writer: TypeAlias = Callable[[EveryType, Path], Export]
