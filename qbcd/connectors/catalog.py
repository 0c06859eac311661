"""The catalog of a source: tables, types, privileges, indexes, the server itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import Collaborator, Index, Privileges
from qbcd.model import Column, ServerIdentity, Table, Travel


class Catalog(Collaborator, ABC):
    """The server's knowledge of its tables, of the role and of itself."""

    # -- tables ------------------------------------------------------------------------------------------------------
    @abstractmethod
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        """Return each table of `names` (schema, name; an empty schema is the role's default), or None, in order."""

    def probe_table(self, conn: Connection, schema: str, name: str) -> Table | None:
        """Return table `schema`.`name`, as `probe_tables`."""
        return self.probe_tables(conn, [(schema, name)])[0]

    @abstractmethod
    def table_names(self, conn: Connection) -> list[str]:
        """Return qualified names of the readable tables, for "did you mean"."""

    def other_relation(self, conn: Connection, schema: str, name: str) -> tuple[str, str]:
        """Return what `schema`.`name` is that is no table, such as ``an index``, and the table that it belongs to.

        Both are empty where there is nothing of that name; the table is empty where there is none.
        """
        return "", ""

    @abstractmethod
    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        """Return the role's rights on `columns` of `table` and on qbcd's own `schema`."""

    def kin(self, conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
        """Return how each of `relations` (``schema.name``) has rows of `table`.

        Returns:
            By relation ``same`` where it is the table, a part of it or a table of which it is a part, with the same
            columns; ``through`` where it is a view of it, or may be; an empty string where it has none of its rows.
            Default: a relation of another name may be a view.
        """
        return {one: "same" if one == f"{table.schema}.{table.name}" else "through" for one in relations}

    # -- types -------------------------------------------------------------------------------------------------------
    def override_travel(self, column: Column, kind: str) -> Column:
        """Return the column with `types: {column: kind}` applied; a ValueError where the kind is unknown."""
        if kind != "text":
            raise ValueError(f"a column can only be made to travel as text, not as {kind!r}")
        return replace(column, travel=Travel("text"))

    @abstractmethod
    def type_problem(self, column: Column) -> str:
        """Return why values of `column` cannot be captured, or an empty string."""

    @abstractmethod
    def key_problem(self, column: Column) -> str:
        """Return why `column` cannot be part of a key, or an empty string."""

    # -- the server --------------------------------------------------------------------------------------------------
    @abstractmethod
    def server_identity(self, conn: Connection) -> ServerIdentity:
        """Return the identity of this server."""

    def may_share(self, server: str, other: str) -> bool:
        """Return True if a table reached on `server` may be one reached on `other`, by their identities."""
        return server == other

    @abstractmethod
    def clock_ms(self, conn: Connection) -> int:
        """Return the source's clock, milliseconds since 1970 UTC."""

    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        """Check that this server can compare `table` in one transaction with tables `own` (schema, names ..).

        Raises:
            Refused: It cannot, by the storage engine of one of them or a setting of the server.
        """
        return  # by default it can


class SupportsIndexes(ABC):
    """The catalog lists indexes, and qbcd can create one."""

    @abstractmethod
    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        """Return the usable indexes of `table`; none of a view, the whole table's of a partitioned one."""

    @abstractmethod
    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        """Return DDL of an index over `columns` from which `included` can be read too; all are plain names.

        It keeps writers of the table waiting while it runs. Entries of an index are short (2.7 kB in PostgreSQL, which
        holds values of any type): a row whose values do not go into one can then not be written any more.

        Raises:
            UnsupportedPrimitive: The columns do not go into one index.
        """

    @abstractmethod
    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        """Return what keeps `sql`, a statement without parameters, from reading `table` by index alone; or nothing.

        The answer is the planner's. For a small table it says whether an index could do, since the planner itself
        reads such a table whole.
        """

    @abstractmethod
    def index_right(self, conn: Connection, table: Table) -> str:
        """Return why the role may not create an index on `table`, or an empty string."""


class SupportsTableWrites(Collaborator, ABC):
    """The catalog shows the role's rights to write a table of the user's, which some options need."""

    @abstractmethod
    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """Return what the role lacks to update columns `update` of `table` and to delete its rows; or nothing."""

    def write_grant(self, table: Table, role: str, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """Return the GRANT of what `write_rights` looks for, for a DBA: UPDATE of single columns, DELETE, or both."""
        facts = self.facts
        rights = [f"UPDATE ({', '.join(map(facts.quote, update))})"] if update else []
        rights += ["DELETE"] if delete else []
        return f"GRANT {', '.join(rights)} ON {facts.quoted_table(table)} TO {facts.grantee(role)}"
