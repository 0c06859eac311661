"""Rights that a stream needs if polls write to the source, and the index that ranges of the key need.

Both wings use them: the database wing for its replica, the lake wing for a queue of changed rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.errors import MissingPrivilege, Refused
from qbcd.model import Table
from qbcd.sites.eligibility import Place, explained_grant, session_grants
from qbcd.strategies import InSource, Watermarked
from qbcd.strategies.in_source import WriteRight


def refuse_missing_rights(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    """Refuse a role without a right on the captured table that an option needs.

    Raises:
        MissingPrivilege: Names the right and the option.
    """
    connector, conn, table = source.connector, session.connection, strategy.plan.table
    for right in strategy.write_rights():
        _refuse_lacking(missing_right(connector, conn, table, right), strategy, right.option, place)
    if strategy.plan.option("create_index"):
        _refuse_lacking(connector.require(SupportsIndexes).index_right(conn, table), strategy, "create_index", place)


def _refuse_lacking(lacking: str, strategy: InSource, option: str, place: Place) -> None:
    if lacking:
        raise MissingPrivilege(
            f"{lacking}, which option {option} needs",
            stream=strategy.plan.stream,
            where=place(option),
            remedy="grant it, or take the option out",
        )


def missing_right(connector: Connector, conn: Connection, table: Table, right: WriteRight) -> str:
    """Return the part of `right` on `table` that the role does not have; empty if it has all."""
    return connector.require(SupportsTableWrites).write_rights(
        conn, table, update=list(right.update), delete=right.delete
    )


def refuse_unordered_key(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    """Refuse a key without an index in its order: each range would read the whole table.

    Raises:
        Refused: There is none.
    """
    plan = strategy.plan
    first = plan.key[0].name
    indexes = source.connector.require(SupportsIndexes).indexes(session.connection, plan.table)
    if any(i.ordered and not i.partial and i.columns[:1] == (first,) for i in indexes):
        return
    other = next((i.name for i in indexes if i.columns[:1] == (first,)), "")
    why = f"index {other} cannot answer an interval of keys" if other else f"no index begins with {first}"
    raise Refused(
        f"key ({', '.join(c.name for c in plan.key)}) of {plan.table.schema}.{plan.table.name} has no index in its "
        f"order ({why}), so that each range would read the whole table",
        stream=plan.stream,
        where=place("type"),
        remedy="create one, or use mds or id_rcs",
    )


def grants(
    connector: Connector, conn: Connection, strategy: InSource, watermarks: Sequence[Watermarked], role: str
) -> list[str]:
    """Return a GRANT for each right that the stream's options need.

    Each is below a comment that says why, and if it is granted already.

    Args:
        connector: The source's.
        conn: A session of the role.
        strategy: The stream's.
        watermarks: The stream's timestamps.
        role: The role's name on the server.
    """
    table = strategy.plan.table
    found = dict.fromkeys(grant for one in watermarks for grant in session_grants(connector, conn, one, role))
    for right in strategy.write_rights():
        granted = not missing_right(connector, conn, table, right)
        grant = connector.require(SupportsTableWrites).write_grant(
            table, role, update=right.update, delete=right.delete
        )
        found[explained_grant(grant, right.why, granted=granted)] = None
    return list(found)
