"""Tables with a column of every type, and their exports by the writers that people use."""

from __future__ import annotations

import re
import shutil
import tempfile

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
from sqlalchemy import create_engine

from tests.support import maria_values, pg_values
from tests.support.places import Place

TEXT = {"type": "csv", "delimiter": "\t", "quote": "none", "escape": "\\"}
Form = dict[str, Any]
Types = Mapping[str, str]  # SQL types by the names of columns


# values that Python's types of dates cannot hold
_FAR = re.compile(r"infinity| BC|1000[0-9]-|29[0-9]{4}-|9999-|'0000|000[01]-|-00[ '-]|02-31|2021-02-29|24:00:00\"?[,}]")


def table_of(place: Place, name: str, skip: Sequence[str] = (), *, plain: bool = False) -> dict[str, str]:
    """Make a table with a column of each type, whose values repeat in its rows; return the types by column.

    Row 0 is NULL.
    """
    if place.kind == "postgresql":
        listed: dict[str, list[str]] = {
            sql_type: [place.literal(sql_type, one) for one in values] for sql_type, values in pg_values.VALUES.items()
        }
    else:
        listed = maria_values.values_of(place.kind)
    listed = {sql_type: values for sql_type, values in listed.items() if sql_type not in skip}
    if plain:
        dates = {t for t in listed if re.match("date|time|stamp", t)}
        kept = {t: [v for v in values if not (t in dates and _FAR.search(v))] for t, values in listed.items()}
        listed = {t: values for t, values in kept.items() if values}
    types = {f"c{i}": sql_type for i, sql_type in enumerate(listed)}
    rows = max(map(len, listed.values()))
    with place.connect() as conn:
        if place.kind != "postgresql":
            place.run(conn, "SET sql_mode = 'ALLOW_INVALID_DATES'")
        columns = ", ".join(f"{name} {sql_type}" for name, sql_type in types.items())
        place.run(conn, f"CREATE TABLE {name} (id int PRIMARY KEY, {columns})")
        names = ", ".join(["id", *types])
        for row in range(rows + 1):
            values = ["NULL" if row == 0 else one[(row - 1) % len(one)] for one in listed.values()]
            place.run(conn, f"INSERT INTO {name} ({names}) VALUES ({row}, {', '.join(values)})")
    return types


@dataclass(frozen=True)
class Export:
    """A file that a writer has written, and the format that its reader needs."""

    path: Path
    form: Form = field(default_factory=dict)


def copy_csv(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by PostgreSQL's COPY as CSV."""
    return _copied(place, name, folder / "copy.csv", "FORMAT csv, HEADER", {})


def copy_text(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by PostgreSQL's COPY in its own format."""
    form = {**TEXT, "header": False, "names": ["id", *types]}
    return _copied(place, name, folder / "copy.txt", "FORMAT text", form)


def _copied(place: Place, name: str, path: Path, options: str, form: Form) -> Export:
    with place.connect() as conn, path.open("wb") as file, conn.cursor() as cursor:
        cursor.execute("SET timezone = 'Asia/Kolkata'")
        cursor.copy_expert(f"COPY {name} TO STDOUT ({options})", file)
    return Export(path, form)


def row_to_json(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by PostgreSQL's row_to_json."""
    path = folder / "rows.jsonl"
    rows = place.sql(f"SELECT replace(row_to_json(t)::text, chr(10), '') FROM {name} t")
    path.write_text("".join(f"{text}\n" for (text,) in rows))
    return Export(path)


def outfile(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by SELECT INTO OUTFILE with its defaults."""
    path = _out(place, name, types, folder / "out.txt", "")
    return Export(path, {**TEXT, "header": False, "names": ["id", *types]})


def outfile_csv(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by SELECT INTO OUTFILE as most people write CSV by it."""
    path = _out(place, name, types, folder / "out.csv", "FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '\"'")
    return Export(path, {"escape": "\\", "null": "\\N", "header": False, "names": ["id", *types]})


def _out(place: Place, name: str, types: Types, path: Path, options: str) -> Path:
    columns = ", ".join(["id", *types])
    with tempfile.TemporaryDirectory() as shared:
        Path(shared).chmod(0o777)  # the server runs as another user
        written = Path(shared, path.name)
        place.sql(f"SELECT {columns} FROM {name} INTO OUTFILE '{written}' CHARACTER SET utf8mb4 {options}")
        shutil.copyfile(written, path)
    return path


def frame_of(place: Place, name: str, types: Types) -> pd.DataFrame:
    """Return the table as pandas reads it."""
    engine = create_engine(
        place.url.replace("mariadb:", "mariadb+pymysql:").replace("postgresql:", "postgresql+psycopg2:")
    )
    with engine.connect() as conn, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: pd.DataFrame = pd.read_sql(f"SELECT {', '.join(['id', *types])} FROM {name}", conn)
    engine.dispose()
    return found


def pandas_csv(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by pandas as CSV."""
    frame_of(place, name, types).to_csv(folder / "pandas.csv", index=False)
    return Export(folder / "pandas.csv")


def pandas_jsonl(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by pandas as JSON lines."""
    frame_of(place, name, types).to_json(folder / "pandas.jsonl", orient="records", lines=True, date_format="iso")
    return Export(folder / "pandas.jsonl")


def pandas_parquet(place: Place, name: str, types: Types, folder: Path) -> Export:
    """Export by pandas as Parquet."""
    frame_of(place, name, types).to_parquet(folder / "pandas.parquet")
    return Export(folder / "pandas.parquet")
