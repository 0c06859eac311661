"""Apply a log of events to a table by the frame of table sinks.

Each batch is applied once and in order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from qbcd.common.wording import batch_number
from qbcd.errors import DeliveryError, Refused
from qbcd.model import Travel
from qbcd.replay.forms import form_in
from qbcd.replay.log import LoggedBatch, batches_of, events_of
from qbcd.replay.target import ReplayTarget
from qbcd.sinks.table.databases import TargetDatabase, target_at
from qbcd.sinks.table.frame import apply_batch, last_record
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.record import TableOwner, TableRecord
from qbcd.sinks.table.write import TargetWrite

PROJECT = "qbcd replay"  # in the record of the target, instead of a project's id


@dataclass(frozen=True)
class Replayed:
    """The result of a replay: batches and events applied, and batches that the table had."""

    stream: str
    batches: int
    events: int
    present: int


def replay(named: Sequence[Path], target: ReplayTarget, options: TableOptions, *, from_empty: bool = False) -> Replayed:
    """Apply the events of files to a table.

    All files are checked first. A batch that the table has is passed over, so that the replay can be repeated, and
    continued with later files.

    Args:
        named: Files, or folders with them; the order does not matter.
        options: Mode, envelope and names of columns.
        from_empty: The source had no rows before the first event.

    Raises:
        ConfigError: A file does not exist, or the target is not known.
        Refused: A file is cut off or foreign, or batches are missing.
        DeliveryError: The target refused; batches before are applied.
    """
    is_log = options.mode == "log"
    batches = batches_of(named, every=is_log)
    database = target_at(target.url, target.schema)
    plain = target.table.replace("{", "{{").replace("}", "}}")
    options = replace(options, table=plain)
    owner = TableOwner(PROJECT, batches[0].stream, target.label)
    write = TargetWrite(database, options, batches[0].header(_bare(batches)), owner, from_empty=from_empty)
    with _named(target):
        record, types = last_record(write)
    left = _after(batches, record, every=is_log)
    left = [*_startable(left, record, any_first=is_log, from_empty=from_empty)]
    forms = _forms(batches, database, types)
    for batch in left:
        header = batch.header([(name, forms[name]) for name in _ordered(batch)])
        with _named(target):
            apply_batch(replace(write, header=header), partial(events_of, batch, header))
    return Replayed(owner.stream, len(left), sum(batch.size for batch in left), len(batches) - len(left))


@contextmanager
def _named(target: ReplayTarget) -> Iterator[None]:
    """Let errors of the block name the table; they have no remedies of polls."""
    try:
        yield
    except DeliveryError as error:
        error.what, error.stream = f"{target.label}: {error.what}", ""
        if "qbcd re" in error.remedy:
            error.remedy = "correct it in the target, or replay into a new table; batches before are applied"
        error.remedy = error.remedy.replace("the batch stays pending", "replay again: batches before are applied")
        raise


def _startable(
    left: Sequence[LoggedBatch], record: TableRecord | None, *, any_first: bool, from_empty: bool
) -> Iterator[LoggedBatch]:
    """Yield batches, without those at the beginning of an epoch that have no events.

    The next one is then the first of the epoch.

    Args:
        any_first: Any batch can be the first one.

    Raises:
        Refused: An epoch begins without the rows that were there.
    """
    epoch = None if record is None else record.epoch
    for batch in left:
        if batch.key.epoch != epoch:
            if not batch.size and not batch.is_baseline:
                continue
            if not (any_first or batch.is_baseline or (from_empty and batch.can_be_first)):
                why = "the rows that it changes" if from_empty else "rows"
                raise Refused(
                    f"the log begins with batch {batch.key.number}, which is no baseline: {why} from before are not "
                    "in it",
                    where=batch.place,
                    remedy="name the files of the baseline or of a resend too"
                    + ("" if from_empty else "; or --from-empty if the source had no rows"),
                )
        epoch = batch.key.epoch
        yield batch


def _bare(batches: Sequence[LoggedBatch]) -> list[tuple[str, Travel]]:
    return [(name, Travel("text")) for name in _ordered(batches[0])]


def _ordered(batch: LoggedBatch) -> list[str]:
    """Return the batch's columns, those of its key first."""
    key = batch.names or ()
    return [*key, *(name for name in batch.kinds if name not in key)]


def _after(batches: list[LoggedBatch], record: TableRecord | None, *, every: bool) -> list[LoggedBatch]:
    """Return the batches that the table lacks.

    Args:
        every: Every event counts, so that a baseline does not stand for batches before it.

    Raises:
        Refused: The table has another batch of this number, or lacks batches before these.
    """
    if record is None:
        return batches
    same = [i for i, one in enumerate(batches) if one.key[:2] == (record.epoch, record.seq)]
    for i in same:
        if batches[i].fingerprint == record.fingerprint:
            return batches[i + 1 :]
    last, first = batch_number(record.epoch, record.seq), batches[0]
    if same and not batches[same[0]].key.label:
        raise Refused(
            f"the table has another batch {last}, or rows of a resend after it",
            where=batches[same[0]].place,
            remedy="name the files of its resends too; or replay another log into another table",
        )
    later = [one for one in batches if (*one.key[:2], one.key.label) > (record.epoch, record.seq, "")]
    gap = first.key.epoch == record.epoch and first.key.seq > record.seq + (0 if first.key.label else 1)
    if gap and (every or not first.is_baseline):
        raise Refused(
            f"the table has batch {last}, and the log begins with batch {first.key.number}",
            where=first.place,
            remedy="name the files of the batches between too",
        )
    return later


def _forms(batches: Sequence[LoggedBatch], database: TargetDatabase, types: dict[str, str]) -> dict[str, Travel]:
    """Return the form of each column."""
    kinds: dict[str, set[Any]] = {}
    for batch in batches:
        for name, found in batch.kinds.items():
            kinds.setdefault(name, set()).update(found)
    return {name: form_in(database, found, types.get(database.folded(name), "")) for name, found in kinds.items()}
