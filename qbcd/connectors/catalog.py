"""The catalog of a source: tables, types, privileges, indexes, the server itself."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import Collaborator, Index, ListedTable, Part, Privileges
from qbcd.model import Column, ServerIdentity, Table, Travel


class Catalog(Collaborator, ABC):
    """The server's knowledge of its tables, of the role and of itself."""

    # -- tables ------------------------------------------------------------------------------------------------------
    @abstractmethod
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        """Return each table of `names`, or None if it does not exist, in order.

        Args:
            names: (schema, name); an empty schema means the role's default.
        """

    def has_locked_tables(self, conn: Connection) -> bool:
        """Return True if `probe_tables` could wait for a table.

        Another session has locked that table, or wants to lock it.
        """
        return False

    def probe_table(self, conn: Connection, schema: str, name: str) -> Table | None:
        """Return table `schema`.`name`, as `probe_tables`."""
        return self.probe_tables(conn, [(schema, name)])[0]

    def probe_with_server(
        self, conn: Connection, schema: str, name: str
    ) -> tuple[Table | None, Callable[[], ServerIdentity]]:
        """Return `probe_table`, and a function that returns `server_identity`."""
        return self.probe_table(conn, schema, name), partial(self.server_identity, conn)

    def table_names(self, conn: Connection) -> list[str]:
        """Return qualified names of the readable tables, for "did you mean". Default: none."""
        return []

    def other_relation(self, conn: Connection, schema: str, name: str) -> tuple[str, str]:
        """Return the kind of an object that is no table, such as ``an index``, and its table.

        Both are empty if there is nothing of that name. The table is empty if the object has none.
        """
        return "", ""

    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        """Return the role's rights on `columns` of `table` and on qbcd's own `schema`.

        Default: it reads all that the catalog shows, and has no schema of its own.
        """
        return Privileges(select=True, missing_columns=(), create_schema=False, own_schema=False, role="of the URL")

    def open_policies(self, conn: Connection, table: Table) -> list[str]:
        """Return the row-level security policies that show the role all rows now.

        There is none if they may hide some rows.
        """
        return []

    def kin(self, conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
        """Return how each of `relations` (``schema.name``) contains rows of `table`.

        Returns:
            By relation: ``same`` if it is the table, a part of it or a table that it is a part of, with the same
            columns; ``through`` if it is or may be a view of it; an empty string if it contains none of its rows.
            Default: a relation of another name may be a view.
        """
        return {one: "same" if one == f"{table.schema}.{table.name}" else "through" for one in relations}

    def separate_states(self, conn: Connection, table: Table) -> str:
        """Return why statements of one transaction may see different states of `table`.

        Empty if they see one.
        """
        return ""

    def filled_parts(self, conn: Connection, table: Table, parts: Sequence[str]) -> list[Part]:
        """Return those of `parts`, some of `table.parts`, that have rows or may have some."""
        return []

    # -- types -------------------------------------------------------------------------------------------------------
    def override_travel(self, column: Column, kind: str) -> Column:
        """Return the column with `types: {column: kind}` applied.

        Args:
            kind: ``text``, or ``set`` or ``multiset``, followed by a blank and a separator if elements have one.

        Raises:
            ValueError: The column cannot be of the kind, or the kind is unknown.
        """
        if kind == "text":
            return replace(column, travel=Travel("text"))
        unordered, _, separator = kind.partition(" ")
        if unordered not in ("set", "multiset"):
            raise ValueError(f"a column can be converted to text, set or multiset, not to {kind!r}")
        if problem := self.set_problem(column, separator):
            raise ValueError(f"column {column.name!r} cannot be a {unordered}: {problem}")
        return replace(column, travel=replace(column.travel, unordered=unordered, separator=separator))

    def set_problem(self, column: Column, separator: str) -> str:
        """Return why values of `column` cannot be sets of elements, or an empty string.

        Args:
            separator: The text between elements; empty if the value is an array or JSON.
        """
        return f"qbcd knows no sets of {self.facts.name}"

    def type_problem(self, column: Column) -> str:
        """Return why values of `column` cannot be captured, or an empty string, the default."""
        return ""

    def widened(self, then: str, now: Column) -> str | None:
        """Return the `digested` fact of a column whose type has changed from `then` to a wider one.

        Values that it had keep their digest, key identity and text if the column gets the fact; new values have
        digests and identities of their own. Empty if the type of today needs no fact.

        Args:
            then: The type, as `Column.sql_type` was.
            now: The column of today, with the same collation.

        Returns:
            None if values, their digests or their text may be other ones.
        """
        return None

    def key_problem(self, column: Column) -> str:
        """Return why `column` cannot be part of a key, or an empty string, the default."""
        return ""

    # -- the server --------------------------------------------------------------------------------------------------
    @abstractmethod
    def server_identity(self, conn: Connection) -> ServerIdentity:
        """Return the identity of this server."""

    def may_share(self, server: str, other: str) -> bool:
        """Return True if two servers, by their identities, may show the same table."""
        return server == other

    def clock_ms(self, conn: Connection) -> int:
        """Return the source's clock in milliseconds since 1970 UTC.

        Default: the clock of this machine.
        """
        return int(time.time() * 1000)

    def check_accepts_writes(self, conn: Connection, *, stream: str) -> None:
        """Check that this server is none that only repeats another one.

        Raises:
            Refused: It is, so that nothing can be written to it.
        """
        return None

    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        """Check that this server can compare `table` with qbcd's own tables in one transaction.

        Args:
            stream: For errors.
            own: Schema and names of qbcd's own tables, or nothing.

        Raises:
            Refused: It cannot, because of a storage engine or a setting of the server.
        """
        return  # the default: it can


class SupportsTableLists(ABC):
    """The catalog lists all tables at once; patterns of tables need that."""

    @abstractmethod
    def list_tables(self, conn: Connection) -> list[ListedTable]:
        """Return the tables of all schemas but the server's own, ordered by schema and name.

        Views, foreign and temporary tables are none. A table that the role may not read is listed if the server shows
        it.
        """


class SupportsIndexes(ABC):
    """The catalog lists indexes, and qbcd can create one."""

    @abstractmethod
    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        """Return the usable indexes of `table`.

        A view has none. A partitioned table has those of the whole table, and those that each partition has.
        """

    @abstractmethod
    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        """Return DDL of an index over `columns`, with `included` as further columns.

        All are plain names. Writers of the table wait while it runs. An index entry is short (2.7 kB in PostgreSQL).
        Once the index exists, a row whose values do not fit into an entry cannot be written.

        Raises:
            UnsupportedPrimitive: The columns do not fit into one index.
        """

    @abstractmethod
    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        """Return why `sql` does not read `table` by an index alone, or an empty string.

        `sql` has no parameters. The answer is the planner's. The planner reads a small table whole; for such a table
        the answer is about a plan in which it may not.
        """

    @abstractmethod
    def index_right(self, conn: Connection, table: Table) -> str:
        """Return why the role may not create an index on `table`, or an empty string."""


class SupportsTableWrites(Collaborator, ABC):
    """The catalog shows the role's rights to write a table of the user; some options need them."""

    @abstractmethod
    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """Return the missing rights to update columns `update` of `table` and to delete its rows.

        An empty string means that none is missing.
        """

    def write_grant(self, table: Table, role: str, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """Return the GRANT of what `write_rights` checks: UPDATE of columns, DELETE, or both."""
        facts = self.facts
        rights = [f"UPDATE ({', '.join(map(facts.quote, update))})"] if update else []
        rights += ["DELETE"] if delete else []
        return f"GRANT {', '.join(rights)} ON {facts.quoted_table(table)} TO {facts.grantee(role)}"
