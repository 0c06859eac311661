"""Whether what polls rest on is another one than remembered: the server, what it means by equality, the table.

Then what a time-stamp says of the rows, or a digest, is no answer: all of them are compared
(docs/design/protocol.md#rule-16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qbcd.catalog.drift import MADE, check_server
from qbcd.errors import SchemaChanged, SourceChanged
from qbcd.model import StreamPlan
from qbcd.strategies import InSource

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream, Settings


def server_changed(context: DatabaseContext, strategy: InSource, settings: Settings, held: LeasedStream) -> bool:
    """Whether the server is another one, or what it means by equality: then every value has to be compared.

    Raises:
        SourceChanged: It is another one, unasked; or no values are kept to compare with
            (docs/design/protocol.md#rule-16).
    """
    with context.source.read(context.stream) as session:
        _, changed = check_server(
            context.source, session, context.stream, held.row.checkpoint, accept=settings.accept_source
        )
    if changed and strategy.keeps != "rows":
        raise SourceChanged(
            "the server changed, and this stream keeps no old values by which its rows could be compared",
            stream=context.stream,
            remedy=f"qbcd reset {context.stream}, then prepare it again; consumers must reload",
        )
    return changed


def table_changed(context: DatabaseContext, plan: StreamPlan, strategy: InSource, held: LeasedStream) -> bool:
    """Whether the table, or a column that polls read, is or may be another one of the same name.

    Raises:
        SchemaChanged: One is, and no values are kept to compare with.
    """
    surely = is_remade(held.row.checkpoint, plan, surely=True)
    if surely and strategy.keeps != "rows":
        raise SchemaChanged(
            f"{plan.table.label}, or a column of it, is another one of the same name now, and this stream keeps no old "
            "values by which its rows could be compared",
            stream=context.stream,
            remedy=f"undo it at the source, or qbcd reset {context.stream} and prepare it again; consumers must reload",
        )
    return surely or (strategy.keeps == "rows" and is_remade(held.row.checkpoint, plan, surely=False))


def is_remade(checkpoint: Mapping[str, Any], plan: StreamPlan, *, surely: bool = False) -> bool:
    """Whether the table, or a column that polls read, is another one of the same name: no time-stamp tells that.

    Args:
        checkpoint: What the stream remembers; of an earlier version nothing of this.
        plan: By today's catalog.
        surely: Only where the source tells columns apart; else also where it tells that a definition is another one.
    """
    now, then = plan.made(), checkpoint.get(MADE)
    if then is None:
        return False
    if any(now["numbers"].get(name, number) != number for name, number in then["numbers"].items()):
        return True
    return not surely and now["at"] != then["at"]


def remark(plan: StreamPlan) -> str:
    """What a poll says that found such a table."""
    return f"{plan.table.label} was altered or made anew since the last poll: all rows were compared"
