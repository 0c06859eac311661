"""The primitives that a connector may leave out: shared snapshots, pages, key conditions, watermarks, flags, writes.

Each raises :class:`~qbcd.errors.UnsupportedPrimitive`, or says that it cannot, until a connector states it; what needs
it is then refused when the plan is made. A connector that states none of it serves the strategies that only query.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlglot import exp

from qbcd.connectors.facts import Counter, HighWater, Index
from qbcd.connectors.incremental_queries import FollowingPrimitives
from qbcd.connectors.leaves import LeafPrimitives
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, KeyRange, Table


class OptionalPrimitives(FollowingPrimitives, LeafPrimitives):
    """What a :class:`~qbcd.connectors.base.Connector` can do beyond what every one must; its base alone."""

    moments: frozenset[str] = frozenset()  # texts that are the present time, where they are read as a time
    query_trial = "try it in a session of the same user"  # how a query is tried that the source refuses

    # -- results of queries --------------------------------------------------------------------------------------------
    def query_columns(self, conn: Connection, query: str) -> list[Column]:
        """The columns of the result of `query`, a SELECT, as the server describes them; no row is read.

        What the server does not tell is not guessed: of such a column there is a `type_problem`.

        Raises:
            sqlalchemy.exc.DBAPIError: The server refuses the query, or the role may not read what it reads.
        """
        raise UnsupportedPrimitive(self.name, "query_columns")

    # -- one state for many sessions -----------------------------------------------------------------------------------
    def export_snapshot(self, conn: Connection) -> str:
        """The name of the transaction's snapshot, for other sessions; only where `exports_snapshots`."""
        raise UnsupportedPrimitive(self.name, "export_snapshot")

    def snapshot_pins(self, snapshot: str) -> tuple[str, ...]:
        """Statements that put a fresh transaction on an exported snapshot, `session_pins` first."""
        raise UnsupportedPrimitive(self.name, "snapshot_pins")

    # -- ranges of a key -----------------------------------------------------------------------------------------------
    def page_bounds(self, table: Table, key: Sequence[Column], where: str, *, pages_per_range: int) -> str:
        """As `range_bounds`, where each range but the last touches `pages_per_range` pages of the table's storage.

        Pages are counted as rows in key order come to them (paper, figure 7), so that a page to which they come back
        counts again.

        Args:
            table: A stored table.
            key: Key columns.
            where: The user's restriction, verbatim, or an empty string.
            pages_per_range: One at least.

        Raises:
            UnsupportedPrimitive: The database does not show on which page a row lies, or the table has no pages.
        """
        raise UnsupportedPrimitive(self.name, "page_bounds")

    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        """The condition that the key of relation `alias` lies in a range; TRUE where both ends are open."""
        raise UnsupportedPrimitive(self.name, "key_between")

    def key_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Value `value` of key column `column` as the text by which `of_keys` finds it again."""
        raise UnsupportedPrimitive(self.name, "key_text")

    def of_keys(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        keys: Sequence[Sequence[str]],
        ids: Sequence[int] = (),
    ) -> str:
        """``SELECT <select> FROM relation t`` of the rows with the given keys, each found through the key's index.

        Asked of connectors that export snapshots, in which a row that is not found again is an error.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            key: Key columns.
            keys: Texts that `key_text` made, a sequence a key; one key at least, none twice.
            ids: Of the range that each key is in, where the rows are to have it as ``range_id``, their first column.
        """
        raise UnsupportedPrimitive(self.name, "of_keys")

    # -- how far a watermark may go ------------------------------------------------------------------------------------
    def high_water(self, conn: Connection) -> HighWater:
        """How far time-stamps are complete; in a transaction of its own, that ends before the rows are read.

        Raises:
            sqlalchemy.exc.DBAPIError: The role may not see other sessions, where the database says so by an error.
        """
        raise UnsupportedPrimitive(self.name, "high_water")

    def sees_sessions(self, conn: Connection) -> bool:
        """Whether the role may see what `high_water` asks of the sessions of others."""
        raise UnsupportedPrimitive(self.name, "sees_sessions")

    def sessions_grant(self, role: str) -> str:
        """The GRANT by which a DBA lets `role` see them."""
        raise UnsupportedPrimitive(self.name, "sessions_grant")

    def not_only_writer(self, conn: Connection, table: Table) -> str:
        """Why rows of `table` come from elsewhere than this node's own transactions; or an empty string."""
        raise UnsupportedPrimitive(self.name, "not_only_writer")

    # -- columns as watermarks -----------------------------------------------------------------------------------------
    def mark_kind(self, column: Column) -> str:
        """What a watermark over `column` is.

        Returns:
            ``zoned`` for an instant, ``zoneless`` for a time of a zone that the column does not know, ``counter`` for a
            whole number; an empty string where values of this type are no watermark.
        """
        return ""

    def mark_unit(self, column: Column) -> timedelta:
        """The step between two neighbouring values of a clock column; zero for a counter."""
        raise UnsupportedPrimitive(self.name, "mark_unit")

    def mark(self, column: Column, text: exp.Expression) -> exp.Expression:
        """A watermark from its text, as what compares exactly with `column`, by the column's index.

        Args:
            column: One that has a `mark_kind`.
            text: Yields ``YYYY-MM-DD HH:MM:SS.ffffff``, in UTC for a zoned column and in the column's own zone for a
                zoneless one; a whole number for a counter; or what `mark_text` gave.
        """
        raise UnsupportedPrimitive(self.name, "mark")

    def mark_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """A value of `column` as the text from which `mark` makes it again; NULL stays NULL."""
        raise UnsupportedPrimitive(self.name, "mark_text")

    def counter_problem(self, conn: Connection, table: Table, column: Column) -> Counter:
        """Whether the catalog vouches that `column` grows over the whole of `table`, or knows that it does not.

        Neither is the case of a plain whole number: nothing vouches for it, and nothing speaks against it.
        """
        raise UnsupportedPrimitive(self.name, "counter_problem")

    # -- row versions of the system's own ------------------------------------------------------------------------------
    def system_mark(self, conn: Connection) -> str:
        """The mark of the present state: whatever was not yet committed is at or past it.

        It is read in an earlier statement than the snapshot of the rows. No transaction, also no prepared one, can
        later make visible what lies before the mark.
        """
        raise UnsupportedPrimitive(self.name, "system_mark")

    def system_mark_problem(self, conn: Connection, mark: str, table: Table | None = None) -> str:
        """Why rows since `mark` cannot be told, or an empty string.

        Args:
            conn: A session.
            mark: Of an earlier poll; empty where there is none yet.
            table: The table that is read, where its kind is in question too.
        """
        raise UnsupportedPrimitive(self.name, "system_mark_problem")

    def changed_since_mark(self, mark: exp.Expression, alias: str = "") -> exp.Expression:
        """Whether a row, of relation `alias` or of the only one, was written at or after `mark`, or perhaps before."""
        raise UnsupportedPrimitive(self.name, "changed_since_mark")

    def volatile_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Those of a restriction's words whose value can change while the row does not: the time, chance, who asks.

        Args:
            conn: A session.
            words: In lower case; names that are called end in ``(``.
        """
        raise UnsupportedPrimitive(self.name, "unsteady")

    def nondeterministic_calls(self, conn: Connection, words: Sequence[str]) -> list[str]:
        """Those of a restriction's words whose value differs within one statement, so that no two looks agree.

        Args:
            conn: A session.
            words: As `unsteady` takes them.
        """
        return []

    # -- delete flags --------------------------------------------------------------------------------------------------
    def flag_form(self, column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
        """Whether delete flag `value` of `column` says deleted; never NULL, and a NULL flag is not deleted."""
        raise UnsupportedPrimitive(self.name, "flag_form")

    def flag_problem(self, column: Column, literal: bool | int | str) -> str:
        """Why `column` cannot be a delete flag that says deleted by `literal`, or an empty string."""
        raise UnsupportedPrimitive(self.name, "flag_problem")

    def missing_column(self, table: Table, name: str, kind: str) -> str:
        """DDL of a column that a strategy asks for and the table lacks, with what the server itself can keep up.

        Args:
            table: The captured table.
            name: Of the column, plain.
            kind: ``stamp`` for a time-stamp, ``flag`` for a delete flag, ``checksum`` for a checksum.
        """
        raise UnsupportedPrimitive(self.name, "missing_column")

    # -- indexes and rights --------------------------------------------------------------------------------------------
    def indexes(self, conn: Connection, table: Table) -> list[Index]:
        """The usable indexes of `table`; none of a view, the whole table's of a partitioned one."""
        raise UnsupportedPrimitive(self.name, "indexes")

    def create_index(self, name: str, table: Table, columns: Sequence[str], included: Sequence[str]) -> str:
        """DDL of an index over `columns` from which `included` can be read too; all are plain names.

        It keeps writers of the table waiting while it runs. Entries of an index are short (2.7 kB in PostgreSQL, which
        holds values of any type): a row whose values do not go into one can then not be written any more.

        Raises:
            UnsupportedPrimitive: The columns do not go into one index.
        """
        raise UnsupportedPrimitive(self.name, "create_index")

    def index_only(self, conn: Connection, table: Table, sql: str) -> str:
        """What keeps `sql`, a statement without parameters, from reading `table` by index alone; or an empty string.

        The answer is the planner's. Of a small table it says whether an index could do, since the planner itself
        reads such a table whole.
        """
        raise UnsupportedPrimitive(self.name, "index_only")

    def write_rights(self, conn: Connection, table: Table, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """What the role lacks to update columns `update` of `table` and to delete its rows; or an empty string."""
        raise UnsupportedPrimitive(self.name, "write_rights")

    def kin(self, conn: Connection, table: Table, relations: Sequence[str]) -> dict[str, str]:
        """What each of `relations` (``schema.name``) has of the rows of `table`.

        Returns:
            By relation ``same`` where it is the table, a part of it or what it is a part of, with the same columns;
            ``through`` where it is a view of it, or may be; an empty string where it has none of its rows. Default:
            whatever has another name may be a view.
        """
        return {one: "same" if one == f"{table.schema}.{table.name}" else "through" for one in relations}

    def may_share(self, server: str, other: str) -> bool:
        """Whether a table that is reached on `server` may be one that is reached on `other`, by their identities."""
        return server == other

    def is_write_rejected(self, error: DBAPIError) -> bool:
        """Whether the server said no to a write itself, by a constraint or a trigger: not a lock, room, the peer."""
        return isinstance(error, IntegrityError)

    def index_right(self, conn: Connection, table: Table) -> str:
        """Why the role may not create an index on `table`, or an empty string."""
        raise UnsupportedPrimitive(self.name, "index_right")

    def has_shares(self, table: Table) -> bool:
        """Whether scans of parts of `table` by storage make one scan, where they see one snapshot."""
        return False

    def page_share(self, table: Table, number: int, shares: int) -> exp.Expression:
        """The condition that a row stands in part `number` (from 0) of `shares` about equal parts of the storage."""
        raise UnsupportedPrimitive(self.name, "page_share")

    def places_keys(self, key: Sequence[Column]) -> bool:
        """Whether a scan finds the range of each row by its `key` for little, so that `scanned_sums` can be asked."""
        return False

    def scanned_sums(
        self, sums: Mapping[str, str], relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]
    ) -> str:
        """As `per_range` with aggregates, by one scan in the order of storage: ``range_id, <sums>``.

        Args:
            sums: SQL of aggregates over alias ``t``, by the names of their outputs; 0 for a range without rows.
            relation: As in `per_range`; it may be a part of the storage (`page_share`).
            key: One for which `places_keys` holds.
            ranges: Each begins where the one before it ends.
        """
        raise UnsupportedPrimitive(self.name, "scanned_sums")

    # -- ranges of pages, of a table that is `paged` -------------------------------------------------------------------
    def row_page(self) -> exp.Expression:
        """Where a row stands, by which `per_pages` finds it; asked of connectors that export snapshots."""
        raise UnsupportedPrimitive(self.name, "row_page")

    def page_count(self, table: Table) -> str:
        """SQL of the number of pages that a table has now, without a look at them."""
        raise UnsupportedPrimitive(self.name, "page_count")

    def per_pages(self, select: Sequence[str], relation: str, ranges: Sequence[KeyRange]) -> str:
        """One statement over many ranges of pages, each read in the order of storage: ``range_id, <select>``.

        Args:
            select: As in `per_range`; aggregates answer for ranges without rows too.
            relation: SQL of a FROM item without alias, with ``qbcd_page``.
            ranges: One at least; bounds are numbers of pages.
        """
        raise UnsupportedPrimitive(self.name, "per_pages")
