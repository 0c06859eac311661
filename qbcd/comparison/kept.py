"""Rows that a comparison of one operand keeps for the next call: Parquet, a description."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Sequence
from pathlib import Path

from typing_extensions import override

from qbcd.common.durable import sync
from qbcd.comparison.methods import COMPARED
from qbcd.comparison.operands import Operand
from qbcd.errors import StateConflict
from qbcd.local.database import LocalDatabase
from qbcd.local.parquet_rows import file_options
from qbcd.local.query import Query
from qbcd.model import Column, travel_from_json

FOLDER = "diff"  # in the workdir
_ROWS, _ABOUT = "rows.parquet", "about.json"


class KeptOperand(Operand):
    """The rows that an earlier call kept.

    Args:
        folder: The folder that :func:`keep` has written.
    """

    def __init__(self, folder: Path) -> None:
        try:
            about = json.loads((folder / _ABOUT).read_text(encoding="utf-8"))
            self.rows = folder / about["rows"]
            if self.rows.stat().st_size != about["size"]:
                raise ValueError("size")
        except (OSError, ValueError, KeyError):
            remedy = f"remove the folder {folder}; the next call keeps rows again"
            raise StateConflict("the rows that an earlier call kept are damaged", remedy=remedy) from None
        self.label, self._count = f"{about['label']} as kept", int(about["count"])
        self.proven = tuple(about["key"])
        self.columns = tuple(
            Column(name, sql_type, base, True, "", "typed", travel_from_json(travel), facts=tuple(map(tuple, facts)))
            for name, sql_type, base, travel, facts in about["columns"]
        )

    @override
    def load(self, database: LocalDatabase, captured: Sequence[Column], keys: int) -> tuple[Query, int]:
        place = {column.name: i for i, column in enumerate(self.columns)}
        values = ", ".join(f"c{place[column.name]} AS c{i}" for i, column in enumerate(captured))
        listed = f"range_id, key_id, CAST(NULL AS BIGINT) AS digest, {values}"
        names = ("range_id", "key_id", "digest", *(f"c{i}" for i in range(len(captured))))
        return Query(f"SELECT {listed} FROM read_parquet('{_text(self.rows)}')", names), self._count


def folder_of(workdir: Path, identity: str, key: Sequence[str]) -> Path:
    """Return the folder for what is kept of an operand, by its address and key."""
    name = hashlib.sha256(json.dumps([identity, list(key)]).encode()).hexdigest()[:32]
    return workdir / FOLDER / name


def keep(
    folder: Path, database: LocalDatabase, rows: Query, captured: Sequence[Column], about: tuple[str, int, int]
) -> None:
    """Replace what `folder` holds by these rows, in one step.

    Args:
        about: Label of the operand, number of its rows, number of key columns.
    """
    label, count, keys = about
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    target = folder / f"{uuid.uuid4().hex}-{_ROWS}"
    database.connection.execute(f"COPY ({rows.sql}) TO '{_text(target)}' ({file_options('COMPRESSION ZSTD')})")
    sync(target)
    columns = [[c.name, c.sql_type, c.base_type, c.travel.to_json(), list(c.facts)] for c in captured]
    description = {
        "label": label,
        "count": count,
        "key": [c.name for c in captured[:keys]],
        "columns": columns,
        "rows": target.name,
        "size": target.stat().st_size,
    }
    written = folder / f"{uuid.uuid4().hex}.tmp"
    written.write_text(json.dumps(description), encoding="utf-8")
    sync(written)
    os.replace(written, folder / _ABOUT)
    sync(folder)
    for other in folder.iterdir():
        if other.name not in (_ABOUT, COMPARED, target.name):
            other.unlink(missing_ok=True)


def _text(path: Path) -> str:
    return str(path).replace("'", "''")
