"""What a connector is: the facts about one database and the primitives whose meaning differs between databases.

A connector opens no connection and keeps no state. Expressions are sqlglot trees; the dialect's text is made in one
place, `qbcd.sql.compile`. A primitive that a database cannot offer raises
:class:`~qbcd.errors.UnsupportedPrimitive` when the plan is made; those that may be missing are in
`qbcd.connectors.optional`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from sqlalchemy.engine import URL, Connection
from sqlalchemy.exc import DataError, DBAPIError, NotSupportedError, ProgrammingError
from sqlglot import exp

from qbcd.connectors import buckets
from qbcd.connectors.facts import Counter, HighWater, Index, JdbcDriver, Privileges
from qbcd.connectors.optional import OptionalPrimitives
from qbcd.connectors.range_case import range_case
from qbcd.errors import QbcdError
from qbcd.model import Column, KeyRange, ServerIdentity, Table, Travel

__all__ = ["Connector", "Counter", "HighWater", "Index", "JdbcDriver", "Privileges"]


class Connector(OptionalPrimitives, ABC):
    """Facts and primitives of one database: what is abstract every connector states, the defaults are right for most.

    What a connector may leave out is in the class above, apart so that the author of a new one sees what comes first.
    """

    dialect: str  # sqlglot's name
    driver: JdbcDriver
    other_drivers: tuple[JdbcDriver, ...] = ()  # that serve where the user brings their jar
    sqlalchemy_driver: str  # "postgresql+psycopg2"
    # of row_digest and key_identity; a change is a change of meaning (docs/design/protocol.md#rule-16)
    encoder_version: int
    identifier_limit: int
    column_limit: int  # columns of one table
    session_reset_sql = (
        ""  # SQL, outside a transaction, after which a session is as it began; empty where there is none
    )
    hides_tables = False  # the catalog shows a role only what it has a right on
    unqualified_names = True  # sessions know tables without their schema
    exports_snapshots: bool  # other sessions can read in a transaction's snapshot; else each statement has its own
    full_join: bool
    bucket_words: buckets.Words
    random_key_types: frozenset[str] = frozenset()  # base types whose values come in no order
    ranges_per_statement: int  # how many ranges one statement may answer for
    jdbc_properties: frozenset[str]  # allow-list of what users may set

    def quote(self, name: str) -> str:
        """`name` as a quoted identifier; the one way in which names get into SQL.

        Raises:
            ValueError: The name is empty, too long, or holds a NUL character.
        """
        if not name or "\x00" in name or len(name.encode()) > self.identifier_limit:
            raise ValueError(f"{name!r} cannot be an identifier of {self.name}")
        return exp.to_identifier(name, quoted=True).sql(dialect=self.dialect)

    # -- connections -------------------------------------------------------------------------------------------------
    @abstractmethod
    def sqlalchemy_url(self, url: URL) -> URL:
        """The URL with the driver that qbcd uses and TLS settings kept."""

    @abstractmethod
    def connect_args(self, url: URL, *, stream: str, read_only: bool, statement_timeout: int = 0) -> dict[str, Any]:
        """Arguments of the driver's connect(): application name, time-outs (seconds, 0 is none), read-only sessions.

        `url` is the source's own; what of it `sqlalchemy_url` leaves out belongs here.
        """

    @abstractmethod
    def engine_options(self, *, read_only: bool) -> dict[str, Any]:
        """Arguments of create_engine(): isolation and access mode of a transaction that reads, or that detects."""

    @abstractmethod
    def session_pins(self) -> tuple[str, ...]:
        """Statements that make a session's text output and name resolution independent of its settings, sent as one."""

    @abstractmethod
    def jdbc_url(
        self, url: URL, properties: Mapping[str, str] | None = None, *, stream: str = "", statement_timeout: int = 0
    ) -> str:
        """The JDBC URL of a read-only session, without user and password.

        The driver's properties are part of it, because Spark hands options over in lower case where predicates split a
        read, and drivers do not know them so.

        Args:
            url: The source's URL.
            properties: The user's JDBC properties, checked against `jdbc_properties`.
            stream: Names the session in the source's own monitoring.
            statement_timeout: Seconds after which the source cancels a statement, 0 for never.
        """

    def jdbc_options(self, url: URL, *, fetchsize: int) -> dict[str, str]:
        """Options of a Spark JDBC read beside the URL, with names in lower case."""
        return self.driver.options(url, fetchsize)

    def jdbc_query(self, sql: str) -> str:
        """`sql` as the JDBC driver takes it, whose parser may see placeholders in the database's own operators."""
        return sql

    @abstractmethod
    def explain_error(self, error: BaseException, *, stream: str, source: str) -> QbcdError:
        """The one message for a driver's error: host, role, privilege, row security, time-out, lost column."""

    def is_statement_error(self, error: DBAPIError) -> bool:
        """Whether the text of a statement is at fault, and not the connection, a lock or a right."""
        return isinstance(error, (ProgrammingError, DataError, NotSupportedError))

    # -- catalog -----------------------------------------------------------------------------------------------------
    @abstractmethod
    def probe_tables(self, conn: Connection, names: Sequence[tuple[str, str]]) -> list[Table | None]:
        """Each table of `names` (schema, name; an empty schema is the role's default), or None, in their order."""

    def probe_table(self, conn: Connection, schema: str, name: str) -> Table | None:
        """Table `schema`.`name`, as `probe_tables`."""
        return self.probe_tables(conn, [(schema, name)])[0]

    @abstractmethod
    def table_names(self, conn: Connection) -> list[str]:
        """Qualified names of the readable tables, for "did you mean"."""

    @abstractmethod
    def privileges(self, conn: Connection, table: Table, columns: Sequence[str], schema: str) -> Privileges:
        """What the role may do with `columns` of `table` and with qbcd's own `schema`."""

    @abstractmethod
    def server_identity(self, conn: Connection) -> ServerIdentity:
        """Which server this is."""

    def view_definition(self, conn: Connection, view: Table) -> str:
        """The SELECT that a view stands for, every name with its schema but those of the server's own; or nothing.

        Nothing where the source does not tell it so that it means the same wherever it is written.
        """
        return ""

    @abstractmethod
    def lock_against_rewrite(self, table: Table) -> str | None:
        """The statement that keeps DDL away from `table` until the transaction ends, or None where there is none."""

    def check_in_source(self, conn: Connection, table: Table, *, stream: str, own: Sequence[str] = ()) -> None:
        """Whether `table` can be compared in this very server in one transaction with tables `own` (schema, names ..).

        Raises:
            Refused: It cannot, by the storage engine of one of them or a setting of the server.
        """
        return  # by default it can

    @abstractmethod
    def clock_ms(self, conn: Connection) -> int:
        """The source's clock, milliseconds since 1970 UTC."""

    def override_travel(self, column: Column, kind: str) -> Column:
        """The column with `types: {column: kind}` applied; a ValueError where the kind is unknown."""
        if kind != "text":
            raise ValueError(f"a column can only be made to travel as text, not as {kind!r}")
        return replace(column, travel=Travel("text"))

    @abstractmethod
    def type_problem(self, column: Column) -> str:
        """Why values of `column` cannot be captured, or an empty string."""

    @abstractmethod
    def key_problem(self, column: Column) -> str:
        """Why `column` cannot be part of a key, or an empty string."""

    # -- column primitives -------------------------------------------------------------------------------------------
    @abstractmethod
    def comparison_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        """The expression whose equality means "unchanged"; feeds `null_safe_distinct` and `row_digest` alike."""

    @abstractmethod
    def null_safe_distinct(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        """Whether two values of `column` differ, NULL-safe; never NULL."""

    @abstractmethod
    def row_digest(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Signed 64-bit digest of a row over `columns`; never NULL, sound under SUM.

        See docs/design/architecture.md#reading-4.
        """

    @abstractmethod
    def key_identity(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Binary identity of a key: equal exactly when the columns' own equality says so."""

    @abstractmethod
    def key_hash(self, columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
        """Signed 64-bit hash of a key's identity: equal for equal keys, and spread evenly."""

    def key_equal(self, column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
        """Whether two keys are equal under the column's own equality; what a join on the key compares."""
        return exp.EQ(this=left.copy(), expression=right.copy())

    @abstractmethod
    def canonical_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """The value as text that casts back to it, independent of session settings; NULL stays NULL."""

    @abstractmethod
    def travel_form(self, column: Column, value: exp.Expression) -> exp.Expression:
        """The value as it travels on the wire (see :class:`~qbcd.model.Travel`)."""

    @abstractmethod
    def fits_typed_sink(self, column: Column, value: exp.Expression) -> exp.Expression | None:
        """Whether a typed sink can hold the value (never NULL), or None where every value travels."""

    @abstractmethod
    def bound(self, column: Column, text: str) -> exp.Expression:
        """A key bound from its canonical text, typed as `column`, as a literal that is safe to print."""

    def column_type(self, column: Column) -> str:
        """The type of `column` in qbcd's own tables: with its collation, without the source's constraints."""
        base = column.fact("storage_type") or column.sql_type
        return f"{base} COLLATE {column.collation}" if column.collation else base

    def image_type(self, column: Column) -> str:
        """The type of an image of `column` in an outbox, which holds two of each and compares none but keys."""
        return self.column_type(column)

    def statement_form(self, tree: exp.Expression) -> exp.Expression:
        """The statement in forms that the database has, where it lacks one of canonical SQL."""
        return tree

    # -- statement primitives (arguments in, whole statement out, in the connector's own dialect) ---------------------
    @abstractmethod
    def per_range(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        ranges: Sequence[KeyRange],
        *,
        aggregate: bool,
    ) -> str:
        """One statement that answers for many ranges: ``SELECT range_id, <select> FROM relation t WHERE key in range``.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias; aggregates when `aggregate`.
            relation: SQL of a FROM item without alias: a derived table that holds projection and restriction.
            key: Key columns, compared as the database orders them.
            ranges: Every range asked for, ids unique; bounds become typed literals.
            aggregate: One row a range, also for empty ranges.
        """

    def bucket_sums(self, sums: Mapping[str, str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """One statement of one scan: `sums` of many buckets (`qbcd.ranges.hash_buckets`), rows ``range_id, <sums>``.

        Args:
            sums: By name, SQL of an aggregate over alias ``t`` of which a whole is the sum of its parts.
            relation: As in `per_range`.
            hashed: The relation's column of hashes.
            ranges: Every range asked for, ids unique; one without rows may have no answer.
        """
        return buckets.bucket_sums(self.bucket_words, sums, relation, hashed, ranges)

    def bucket_rows(self, select: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """One statement of one scan: the rows of many hash buckets, ``SELECT range_id, <select>`` over alias ``t``."""
        return buckets.bucket_rows(self.bucket_words, select, relation, hashed, ranges)

    @abstractmethod
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        """A statement for the first key of every range but the first, in key order, as canonical text k0..kn."""

    def range_of(self, key: Sequence[Column], alias: str, ranges: Sequence[KeyRange]) -> str:
        """SQL of the id of the range in which a row of relation `alias` lies.

        Args:
            key: Key columns.
            alias: Of the relation that has them.
            ranges: Adjoining ranges in key order, one at least; each row's key is taken to lie in one of them.
        """
        return range_case(ranges, lambda hi: self.key_between(key, alias, KeyRange(0, None, hi)))

    # -- DDL of qbcd's own tables ------------------------------------------------------------------------------------
    @abstractmethod
    def grants(self, schema: str, role: str) -> list[str]:
        """What a DBA who made qbcd's tables grants to the role that polls."""

    def grantee(self, role: str) -> str:
        """`role`, as the server calls it, in the form that GRANT takes."""
        return self.quote(role)

    def write_grant(self, table: Table, role: str, *, update: Sequence[str] = (), delete: bool = False) -> str:
        """The GRANT of what `write_rights` looks for, for a DBA: UPDATE of single columns, DELETE, or both."""
        rights = [f"UPDATE ({', '.join(map(self.quote, update))})"] if update else []
        rights += ["DELETE"] if delete else []
        place = f"{self.quote(table.schema)}.{self.quote(table.name)}"
        return f"GRANT {', '.join(rights)} ON {place} TO {self.grantee(role)}"

    @abstractmethod
    def create_table(
        self, name: str, columns: Sequence[tuple[str, str]], primary_key: Sequence[str], *, written_over: bool = False
    ) -> str:
        """CREATE TABLE IF NOT EXISTS of a table of qbcd's own.

        Args:
            name: Quoted SQL.
            columns: Plain names with types.
            primary_key: Plain names.
            written_over: Its rows are updated where they stand, for which pages had better keep some room.
        """
