"""Files of JSON lines, and a hidden note next to each.

A file is ``<stream>/<epoch>-<batch_seq, 12 digits>.jsonl``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from typing_extensions import override

from qbcd.sinks.base import SinkBatch
from qbcd.sinks.stored.file_format import Number, SinkFileFormat, Target, Written
from qbcd.spark.paths import to_write
from qbcd.stores.base import Store, StoredFile
from qbcd.stores.folders import UNMARKED, remove_checksums
from qbcd.stores.local import LocalStore

LINES = "lines"  # in an attempt, the whole file
_NAME = re.compile(r"([0-9]+)-([0-9]{12,})\.jsonl")
EVENTS_PER_PART = 100_000
_PIECE = 1 << 20  # bytes


class JsonFiles(SinkFileFormat):
    """See the module."""

    @override
    def name_of(self, stream: str, number: Number) -> str:
        return f"{stream}/{number.epoch}-{number.seq:012d}.jsonl"

    @override
    def note_of(self, target: str) -> str:
        folder, _, name = target.rpartition("/")
        return f"{folder}/.{name}.fingerprint"

    @override
    def fill(self, batch: SinkBatch, store: Store, attempt: str) -> Written:
        count = size = 0
        with store.new_file(f"{attempt}/{LINES}") as file:
            for lines in batch.json_lines():
                data = "\n".join([*lines, ""]).encode()
                file.write(data)
                count, size = count + len(lines), size + len(data)
        return Written(count, {"bytes": size})

    @override
    def fill_by_spark(self, batch: SinkBatch, folder: Path, sink: str) -> Written:
        ordered = batch.ordered(EVENTS_PER_PART).lines.select("line")
        ordered.write.options(**UNMARKED).text(to_write(folder), lineSep="\n")
        os.chmod(folder, 0o700)
        count = size = 0
        with LocalStore(folder).new_file(LINES) as file:
            for part in sorted(folder.glob("part-*")):
                with part.open("rb") as lines:
                    while data := lines.read(_PIECE):
                        count, size = count + data.count(b"\n"), size + len(data)
                        file.write(data)
                part.unlink()
        remove_checksums(folder)
        return Written(count, {"bytes": size})

    @override
    def merge(self, store: Store, held: Sequence[str], attempt: str) -> Written:
        count = size = 0
        with store.new_file(f"{attempt}/{LINES}") as file:
            for name in held:
                with store.open_file(name) as lines:
                    while data := lines.read(_PIECE):
                        count, size = count + data.count(b"\n"), size + len(data)
                        file.write(data)
        return Written(count, {"bytes": size})

    @override
    def measure(self, files: Sequence[StoredFile]) -> Mapping[str, Any]:
        return {"bytes": sum(file.size for file in files)}

    @override
    def publish(self, store: Store, attempt: str, target: str, note: Mapping[str, Any]) -> None:
        # A file without a matching note is incomplete. Remove it first: with the new note it would seem complete.
        store.delete(target)
        store.put_json(self.note_of(target), note)
        store.move(f"{attempt}/{LINES}", target)

    @override
    def files_of(self, store: Store, target: str) -> list[StoredFile]:
        size = store.size_of(target)
        return [] if size is None else [StoredFile(target, size, 0)]

    @override
    def targets(self, store: Store, stream: str) -> list[Target]:
        found = []
        for file in store.files_in(stream):
            if match := _NAME.fullmatch(file.name.rpartition("/")[2]):
                found.append(Target(Number(int(match[1]), int(match[2])), (file,)))
        return sorted(found, key=lambda target: target.number)

    @override
    def remove(self, store: Store, target: str, attempt: str) -> None:
        store.delete(self.note_of(target))
        store.delete(target)
