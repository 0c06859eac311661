"""The replica of a snapshot: the paper's f1, in a folder of Arrow files.

Entries (key columns, 128-bit digest, perhaps row numbers) or whole rows. Their order is `key` (ascending key codes),
`range` (the parts have ascending ranges of key codes, unsorted within a part) or `file` (as in the snapshot). A folder
appears complete or not at all, and is never changed.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from qbcd.common.durable import sync
from qbcd.errors import Refused, StateMissing
from qbcd.snapshots.base import Dump
from qbcd.snapshots.chunks import ROW, Chunk, DumpLayout
from qbcd.snapshots.digests import VERSION
from qbcd.snapshots.meter import Meter, read_file

_MANIFEST = "manifest.json"
FORMAT = 1


class DumpReplica:
    """Entries or rows of the last snapshot, kept for the next comparison."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        try:
            facts = json.loads((folder / _MANIFEST).read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StateMissing(
                f"{folder} has no replica of a snapshot", remedy="compare two files, or make the replica first"
            ) from None
        if facts["format"] != FORMAT or facts["digest"] != VERSION:
            raise Refused(
                f"replica {folder} was written by another version of qbcd (format {facts['format']}, digest "
                f"{facts['digest']}; this version has {FORMAT} and {VERSION})",
                remedy="compare with that version, or start again from the last file",
            )
        self.whole: bool = facts["whole"]
        self.rows: int = facts["rows"]
        self.keys: tuple[str, ...] = tuple(facts["keys"])
        self.parts: list[str] = facts["parts"]
        self.order: str = facts["order"]
        self.statistics: dict[str, float] = facts["statistics"]
        self.schema: pa.Schema = pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(facts["schema"])))
        self.layout = DumpLayout.of(self.schema, self.keys)

    @property
    def numbered(self) -> bool:
        """True if entries have the numbers of their rows in the snapshot."""
        return not self.whole and all(ROW in self._names(part) for part in self.parts)

    def _names(self, part: str) -> list[str]:
        with pa.OSFile(str(self.folder / part), "rb") as file, pa.ipc.open_stream(file) as reader:
            return list(reader.schema.names)

    @property
    def size(self) -> int:
        """Bytes of all parts."""
        return sum((self.folder / part).stat().st_size for part in self.parts)

    def chunks(self, meter: Meter) -> Iterator[Chunk]:
        """Read all rows, part after part."""
        for part in range(len(self.parts)):
            yield from self.part(part, meter)

    def part(self, number: int, meter: Meter) -> Iterator[Chunk]:
        """Read the rows of one part."""
        for body in read_file(self.folder / self.parts[number], meter):
            yield self.layout.chunk(body) if self.whole else self.layout.entries(body)

    def check(self, new: Dump) -> None:
        """Refuse a snapshot with other columns or another key.

        Raises:
            Refused: Columns, their types or the key differ from those of the replica.
        """
        if self.keys != new.keys:
            raise Refused(
                f"{new.name} is compared by key {', '.join(new.keys) or '(none)'}, but the replica {self.folder} has "
                f"key {', '.join(self.keys) or '(none)'}",
                remedy="use the same key, or start again from the last file",
            )
        same_columns(self.schema, new.schema, str(self.folder), new.name)


def same_columns(old: pa.Schema, new: pa.Schema, old_name: str, new_name: str) -> None:
    """Refuse two sides with different columns.

    Raises:
        Refused: Names, order or types differ.
    """
    before, after = ([f"{field.name} {field.type}" for field in schema] for schema in (old, new))
    if before == after:
        return
    only_old, only_new = ([text for text in one if text not in two] for one, two in ((before, after), (after, before)))
    detail = f"only {old_name} has {', '.join(only_old) or 'nothing else'}; only {new_name} has "
    raise Refused(
        f"{new_name} has other columns than {old_name}: {detail}{', '.join(only_new) or 'nothing else'}"
        if only_old or only_new
        else f"the columns of {new_name} are in another order than those of {old_name}",
        remedy="read both with the same columns and types",
    )


class ReplicaWriter:
    """Writes a replica to a temporary folder; :meth:`commit` makes it appear."""

    def __init__(self, folder: Path, layout: DumpLayout, schema: pa.Schema, order: str) -> None:
        if folder.exists():
            raise Refused(f"{folder} already exists, and a replica is never overwritten", remedy="name a new folder")
        self.folder, self.layout, self.schema, self.order = folder, layout, schema, order
        self.rows = 0
        self.parts: list[str] = []
        self.work = folder.with_name(folder.name + ".writing")
        shutil.rmtree(self.work, ignore_errors=True)
        self.work.mkdir(parents=True)

    def new_part(self) -> Path:
        """Return the path of the next part."""
        self.parts.append(f"part-{len(self.parts):05d}.arrow")
        return self.work / self.parts[-1]

    def commit(self, statistics: dict[str, float]) -> None:
        """Make the replica durable and let it appear under its name, in one step."""
        facts = {
            "format": FORMAT,
            "digest": VERSION,
            "whole": self.schema == self.layout.schema,
            "order": self.order,
            "rows": self.rows,
            "keys": self.layout.keys,
            "schema": self.layout.schema.serialize().to_pybytes().hex(),
            "parts": self.parts,
            "statistics": statistics,
        }
        manifest = self.work / _MANIFEST
        manifest.write_text(json.dumps(facts), encoding="utf-8")
        for path in (*(self.work / part for part in self.parts), manifest, self.work):
            sync(path)
        os.rename(self.work, self.folder)
        sync(self.folder.parent)

    def discard(self) -> None:
        """Remove the temporary folder."""
        shutil.rmtree(self.work, ignore_errors=True)
