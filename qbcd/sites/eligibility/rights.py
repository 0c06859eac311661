"""Rights that a stream needs if polls write to the source.

They are for tables of qbcd's own, and for writes to the captured table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import inspect
from sqlalchemy.engine import Connection

from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import Connector, Privileges
from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.connectors.watermarks import SupportsWatermarks
from qbcd.errors import MissingPrivilege
from qbcd.model import StreamPlan, Table
from qbcd.sites.eligibility.values import Place, explained_grant
from qbcd.sites.eligibility.watermark import session_grants
from qbcd.state.dialects import keeps_state
from qbcd.strategies import TableStrategy, Watermarked
from qbcd.strategies.base import WriteRight


@dataclass(frozen=True)
class MissingRight:
    """A right that the role lacks.

    Attributes:
        what: The right, as a sentence about the role.
        needed_by: The strategy or option that needs it.
        option: The option; empty for the strategy itself.
        grant: Statements that grant it; empty if they are not known.
    """

    what: str
    needed_by: str
    option: str = ""
    grant: str = ""

    @property
    def sentence(self) -> str:
        """The right, and what needs it."""
        return f"{self.what}, which {self.needed_by} needs"


@dataclass(frozen=True)
class OwnSchema:
    """qbcd's own schema in a source, and the rights of the role there."""

    name: str
    exists: bool
    rights: Privileges

    @property
    def is_usable(self) -> bool:
        """True if the role may create tables in the schema, or the schema itself."""
        return self.rights.own_schema if self.exists else self.rights.create_schema

    @property
    def problem(self) -> str:
        """The right that the role lacks; empty if it can use the schema."""
        lacking = f"create {'tables in ' if self.exists else ''}schema {self.name}"
        return "" if self.is_usable else f"role {self.rights.role} may not {lacking}"


def own_schema(source: Source, session: Session, table: Table, columns: Sequence[str] = ()) -> OwnSchema:
    """Return qbcd's schema in the source, for a stream of `columns` of `table`."""
    conn = session.connection
    from qbcd.catalog.query_table import rights_of

    rights = rights_of(source.connector, conn, table, columns, source.schema)
    exists = keeps_state(conn) and inspect(conn).has_schema(source.schema)
    return OwnSchema(source.schema, exists, rights)


def missing_schema_right(source: Source, schema: OwnSchema, strategy: str) -> list[MissingRight]:
    """Return the right to qbcd's own schema if the role lacks it.

    It comes with the statements that grant it.
    """
    if schema.is_usable:
        return []
    grant = "; ".join(source.connector.ddl.own_schema(schema.name, schema.rights.role, exists=schema.exists))
    return [MissingRight(schema.problem, f"strategy {strategy}", grant=grant)]


def missing_write_rights(source: Source, session: Session, strategy: TableStrategy) -> list[MissingRight]:
    """Return the rights on the captured table that options need and the role lacks."""
    connector, conn, table = source.connector, session.connection, strategy.plan.table
    found = []
    for right in strategy.write_rights():
        if lacking := missing_right(connector, conn, table, right):
            role = connector.catalog.privileges(conn, table, (), source.schema).role
            writes = connector.require(SupportsTableWrites)
            grant = writes.write_grant(table, role, update=right.update, delete=right.delete)
            found.append(MissingRight(lacking, f"option {right.option}", right.option, grant))
    if strategy.plan.option("create_index"):
        lacking = connector.require(SupportsIndexes).index_right(conn, table)
        found += [MissingRight(lacking, "option create_index", "create_index")] if lacking else []
    return found


def missing_session_right(source: Source, session: Session, strategy: TableStrategy) -> list[MissingRight]:
    """Return the right to see other sessions if a watermark needs it and the role lacks it."""
    plan, conn = strategy.plan, session.connection
    if not isinstance(strategy, Watermarked) or strategy.system or plan.option("lag") is not None:
        return []
    watermarks = source.connector.require(SupportsWatermarks)
    if watermarks.sees_sessions(conn):
        return []
    role = source.connector.catalog.privileges(conn, plan.table, (), source.schema).role
    grant = watermarks.sessions_grant(role)
    return [MissingRight(f"role {role} may not see other sessions", f"strategy {plan.strategy}", grant=grant)]


def refuse_missing(missing: Sequence[MissingRight], plan: StreamPlan, place: Place, otherwise: str = "") -> None:
    """Refuse a role that lacks rights; the error names all of them.

    Args:
        place: Returns the place in the configuration of an option.
        otherwise: What to do without these rights; empty if the option can be removed.

    Raises:
        MissingPrivilege: One is missing.
    """
    if not missing:
        return
    granted = "; ".join(one.grant for one in missing if one.grant)
    if not otherwise and all(one.option for one in missing):
        otherwise = "or take the option out" if granted else "grant it, or take the option out"
    raise MissingPrivilege(
        "; ".join(one.sentence for one in missing),
        stream=plan.stream,
        where=place(missing[0].option or "type"),
        remedy="; ".join(part for part in (granted, otherwise) if part),
    )


def refuse_missing_rights(source: Source, session: Session, strategy: TableStrategy, place: Place) -> None:
    """Refuse a role without a right on the captured table that an option needs.

    Raises:
        MissingPrivilege: Names the rights and the options.
    """
    refuse_missing(missing_write_rights(source, session, strategy), strategy.plan, place)


def missing_right(connector: Connector, conn: Connection, table: Table, right: WriteRight) -> str:
    """Return the part of `right` on `table` that the role does not have; empty if it has all."""
    return connector.require(SupportsTableWrites).write_rights(
        conn, table, update=list(right.update), delete=right.delete
    )


def grants(
    connector: Connector, conn: Connection, strategy: TableStrategy, watermarks: Sequence[Watermarked], role: str
) -> list[str]:
    """Return a GRANT for each right that the stream's options need.

    Each is below a comment that says why, and if it is granted already.

    Args:
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
