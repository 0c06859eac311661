"""Batches that a rolling sink holds: durable, and not yet visible to readers.

Each is a file ``<stream>/.pending/<epoch>-<batch_seq, 12 digits>-<events>-<fingerprint>``. ``<stream>/.pending/roll``
names the last batch of a roll that has begun: after a crash it is repeated with the same batches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from qbcd.model import BatchHeader
from qbcd.sinks.stored.file_format import Number
from qbcd.stores.base import Store, StoredFile

FOLDER = ".pending"
PLAN = "roll"
_NAME = re.compile(r"([0-9]+)-([0-9]{12,})-([0-9]+)-(.+)")


@dataclass(frozen=True)
class HeldBatch:
    """A batch that is held, with its file."""

    number: Number
    events: int
    fingerprint: str
    file: StoredFile


def name_of(header: BatchHeader) -> str:
    """Return the name of the file of a batch that is to be held."""
    number = f"{header.epoch}-{header.seq:012d}-{header.size}"
    return f"{header.stream}/{FOLDER}/{number}-{header.fingerprint}"


def held_batches(store: Store, stream: str) -> list[HeldBatch]:
    """Return the batches that a sink holds of a stream, oldest first."""
    found = []
    for file in store.files_in(f"{stream}/{FOLDER}"):
        if match := _NAME.fullmatch(file.name.rpartition("/")[2]):
            found.append(HeldBatch(Number(int(match[1]), int(match[2])), int(match[3]), match[4], file))
    return sorted(found, key=lambda batch: batch.number)


def planned_roll(store: Store, stream: str) -> Number | None:
    """Return the last batch of a roll that has begun and was not finished."""
    plan = store.read_json(_plan_of(stream))
    return Number(int(plan["epoch"]), int(plan["last"])) if plan else None


def plan_roll(store: Store, stream: str, last: Number) -> None:
    """Record that the batches up to `last` are rolled."""
    store.put_json(_plan_of(stream), {"epoch": last.epoch, "last": last.seq})


def end_roll(store: Store, stream: str) -> None:
    """Forget a roll that is finished."""
    store.delete(_plan_of(stream))


def _plan_of(stream: str) -> str:
    return f"{stream}/{FOLDER}/{PLAN}"
