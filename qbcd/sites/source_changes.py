"""Detection of another server, another table of the same name, and attached partitions.

The source's identity numbers, DDL times and list of partitions show them. Timestamps and digests of another table's
rows cannot be compared with those of the earlier table, and rows that come with a partition may be older than the
watermark, so all rows are compared (docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_server
from qbcd.catalog.source import Session, Source
from qbcd.connectors.facts import Part
from qbcd.errors import SourceChanged
from qbcd.model import StreamPlan
from qbcd.model.checkpoint import Entry
from qbcd.sites.poll import Poll
from qbcd.strategies import Watermarked
from qbcd.watermark import Window

PARTS = "parts"  # in the entry of the checkpoint: the partitions of all tables that polls read
Read = tuple[Watermarked, str | None]  # statements about a timestamp, and its watermark
LISTED = ("table", "partitioned")  # kinds of tables whose parts have their columns


def server_changed(poll: Poll) -> bool:
    """Return True if server or rules of equality changed: every value must then be compared.

    Raises:
        SourceChanged: The user has not accepted it, or the replica has no values to compare with
            (docs/design/protocol.md#rule-16).
    """
    context, checkpoint = poll.context, poll.leased.row.checkpoint
    with context.source.read(context.stream, apart=True) as session:
        accept = poll.settings.accept_source
        _, changed = check_server(context.source, session, context.stream, checkpoint, accept=accept)
    if changed and poll.strategy.keeps != "rows":
        raise SourceChanged(
            "the server changed, and this stream keeps no old values by which its rows could be compared",
            stream=context.stream,
            remedy=f"qbcd reset {context.stream}, then prepare it again; consumers must reload",
        )
    return changed


def is_remade(checkpoint: Mapping[str, Any], plan: StreamPlan, *, surely: bool = False) -> bool:
    """Return True if the table, or a column that polls read, may be another of the same name.

    Args:
        checkpoint: The stream's; an early version stored nothing about this.
        plan: By today's catalog.
        surely: Count only proofs (identity numbers of columns), not a later definition of the table, nor a wider type.
    """
    now, then = plan.made(), checkpoint.get(Entry.MADE)
    if then is None:
        return False
    widened = {name for name, *_ in change_of(checkpoint, plan).retyped} if surely else ()
    for name, number in then["numbers"].items():
        known = now["numbers"].get(name, number)
        if known != number and not (name in widened and known.split(" ")[0] == number.split(" ")[0]):
            return True
    return not surely and now["at"] != then["at"]


def remark(plan: StreamPlan) -> str:
    """Return the remark of a poll that compared all rows because the table is another one."""
    return f"{plan.table.label} was altered or recreated since the last poll: all rows were compared"


def has_other_parts(checkpoint: Mapping[str, Any], plan: StreamPlan) -> bool:
    """Return True if the checkpoint does not have the partitions of today.

    An early version stored none.
    """
    return bool(checkpoint.get(Entry.MADE, {}).get(PARTS) != plan.made().get(PARTS))


def identity_before(
    checkpoint: Mapping[str, Any], plan: StreamPlan, *, attached: bool, comparable: bool
) -> Mapping[str, Any]:
    """Return the identity to store before all rows are read.

    An old one shows the next poll that they were not.

    Args:
        plan: By today's catalog.
        attached: A partition was attached with rows that polls would not read.
        comparable: The replica has rows to compare with; without them only proofs count.
    """
    now, then = plan.made(), checkpoint.get(Entry.MADE)
    if then is None or not (attached or is_remade(checkpoint, plan, surely=not comparable)):
        return now
    return then if attached or PARTS not in now else {**then, PARTS: now[PARTS]}


def attached_parts(
    source: Source, checkpoint: Mapping[str, Any], plan: StreamPlan, watermarks: Sequence[Read]
) -> tuple[str, ...]:
    """Return the first partition that was attached with rows before the watermark.

    It was attached since the last poll. Polls would not read these rows. A partition without any costs nothing: rows
    that are written later are newer. A detached partition does not matter either: its rows are missing like deleted
    rows.

    Args:
        checkpoint: The stream's; nothing is attached if it has no partitions, as those of early versions.
        plan: By today's catalog.
        watermarks: Each timestamp that polls use; its watermark is None if all rows are read.
    """
    known = checkpoint.get(Entry.MADE, {}).get(PARTS)
    if known is None:
        return ()
    new = [
        (one, at, parts)
        for one, at in watermarks
        if at is not None and (parts := sorted(set(one.plan.table.parts or ()) - set(known)))
    ]
    if not new:
        return ()
    with source.read(plan.stream) as session:
        for one, at, parts in new:
            for part in source.connector.catalog.filled_parts(session.connection, one.plan.table, parts):
                if _may_have_rows_before(session, one, part, at):
                    return (part.label,)
    return ()


def _may_have_rows_before(session: Session, strategy: Watermarked, part: Part, watermark: str) -> bool:
    """Return True unless the rows of `part` are all known to be at or past the watermark.

    They are known only if they can be read alone.
    """
    plan = strategy.plan
    if part.table is None or plan.table.kind not in LISTED:
        return True
    table = replace(plan.table, schema=part.table[0], name=part.table[1])
    of_part = type(strategy)(strategy.connector, replace(plan, table=table), strategy.replica[0])
    return bool(session.rows(of_part.any_row(Window(None, watermark))))


def attached_remark(plan: StreamPlan, attached: Sequence[str], *, compared: bool = True) -> str:
    """Return the remark of a poll that read all rows because of attached partitions."""
    read = "compared" if compared else "delivered again"
    return (
        f"{', '.join(attached)} was attached to {plan.table.label} since the last poll and has rows that may be older "
        f"than the watermark: all rows were {read}"
    )
