"""Open the operands that texts name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from qbcd.comparison.jdbc_operand import JdbcOperand
from qbcd.comparison.operands import ComparedColumns, FileOperand, Operand, TableOperand
from qbcd.comparison.tables import NamedTable, named_table
from qbcd.config.document import quoted
from qbcd.config.files import FileFormat
from qbcd.errors import ConfigError


def named(texts: Sequence[str], project: Path) -> list[NamedTable | None]:
    """Return the table that each text names; None for a file.

    Raises:
        ConfigError: A text names no file and no table.
    """
    found = [(text, named_table(text, project)) for text in texts]
    for text, place in found:
        if place is None:
            _check_file(text)
    return [place for _, place in found]


def _check_file(text: str) -> None:
    if Path(text).is_dir():
        remedy = "name the file in it; Spark writes a single one after coalesce(1)"
        raise ConfigError(f"{quoted(text)} is a folder", remedy=remedy)
    if not Path(text).is_file():
        remedy = "name a file, or a table as dialect://user@host/database#schema.table"
        if "#" in text:
            remedy = "name a file; or SOURCE#schema.table, with a source of qbcd.yaml or of -c FILE"
        raise ConfigError(f"there is no file {quoted(text)}", remedy=remedy)


def operand(
    text: str,
    place: NamedTable | None,
    wanted: ComparedColumns,
    form: FileFormat,
    others: Sequence[NamedTable | None] = (),
) -> Operand:
    """Return the operand of a text, and of the table that it names.

    Args:
        others: The tables of all operands: those that a JDBC driver reads share one Spark session.

    Raises:
        QbcdError: It cannot be read.
        DumpRefused: The file is truncated or damaged.
    """
    if place is None:
        return FileOperand(text, form)
    if place.by_driver:
        return JdbcOperand(place, wanted, [one for one in others if one is not None and one is not place])
    return TableOperand(place, wanted)
