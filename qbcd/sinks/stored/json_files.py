"""Files of JSON lines: ``<stream>/<epoch>-<batch_seq, 12 digits>.jsonl``, and a hidden note next to each."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from typing_extensions import override

from qbcd.sinks.base import SinkBatch
from qbcd.sinks.stored.file_format import Number, SinkFileFormat, Target
from qbcd.sinks.stores import Store, StoredFile

LINES = "lines"  # in an attempt, the whole file
_NAME = re.compile(r"([0-9]+)-([0-9]{12,})\.jsonl")
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
    def fill(self, batch: SinkBatch, store: Store, attempt: str) -> int:
        count = 0
        with store.new_file(f"{attempt}/{LINES}") as file:
            for lines in batch.json_lines():
                file.write("\n".join([*lines, ""]).encode())
                count += len(lines)
        return count

    @override
    def merge(self, store: Store, held: Sequence[str], attempt: str) -> int:
        count = 0
        with store.new_file(f"{attempt}/{LINES}") as file:
            for name in held:
                with store.open_file(name) as lines:
                    while data := lines.read(_PIECE):
                        count += data.count(b"\n")
                        file.write(data)
        return count

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
