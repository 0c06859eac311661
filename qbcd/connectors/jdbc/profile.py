"""A profile: what qbcd knows about a database that it reads through JDBC alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from qbcd.connectors.base import JdbcDriver

Executed = Literal["CI", "campaign", "never"]


@dataclass(frozen=True)
class UrlForm:
    """The form of a JDBC URL: prefix, place, and parameters.

    Attributes:
        prefix: ``jdbc:h2:``.
        place: Regular expression of the text between prefix and parameters.
        first: The text before the first parameter.
        between: The text between parameters.
        parameters: Allow-list of parameters, in lower case.
        fixed: Parameters that qbcd adds, such as one that makes sessions read-only.
    """

    prefix: str
    place: str
    first: str = ";"
    between: str = ";"
    parameters: frozenset[str] = frozenset()
    fixed: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Profile:
    """The dialect of a database.

    Attributes:
        name: The value of `dialect` in the configuration.
        product: The name of the database, for messages.
        executed: The tests that run on it: ``CI`` on each run, ``campaign`` on demand, ``never`` on golden SQL alone.
        driver: Class and coordinates of the JDBC driver.
        reference: The page of the vendor's reference that documents the functions of this profile.
        properties: Allow-list of driver properties, in lower case.
        fixed_properties: Driver properties that qbcd sets.
        bundled: Spark's own folder of jars has the driver.
        sqlglot: sqlglot's name of the dialect; empty if it has none.
        quotes: The character before and after a quoted name; the second one is doubled in it.
        from_nothing: The FROM clause of a SELECT without a table.
        text: The text of a value, for types that Spark would read with a loss.
        inexact: Regular expression of the driver's names of types that are refused: two of their values may have one
            text.
        null_safe: A comparison in which NULL equals NULL.
        limit: A SELECT of the first rows.
        digest: A 64-bit digest of a text as a signed integer; empty if the database has no sound hash function.
        total: The sum of digests, which cannot overflow; empty without `digest`.
        exact: By Spark's type of a value (without its size): SQL of its exact text, with ``{v}`` for the value. Rows
            with other types cannot be digested by the database.
        unhashed: Names of types, in upper case, whose values the hash function does not take whole, such as LOBs.
        part: The text of one value among several, with ``{t}`` for its text: its length, a colon and the text; NULL
            differs from each text.
        plus: The operator that concatenates texts.
        shared: By the driver's name of a type: the form of its values and, after a colon, SQL of their text, in the
            digest that other databases compute alike (`qbcd.connectors.shared_digests`), with ``{c}`` for the column
            and ``{s}`` for its scale.
        shared_digest: That digest of ``{row}``.
        shared_part: What a value of form ``text`` adds to the row, with ``{t}``.
        bucket: The remainder of a digest ``{d}`` by ``{n}``, from 0 on.
        clock: The clock as text ``YYYY-MM-DD HH:MM:SS.FFFFFF`` in UTC; empty if strategy `ts` is not possible.
        moment: A timestamp without zone from ``{t}``, such a text.
        session: Statements at the start of each session.
        snapshot: The clause after a table by which several sessions read one state; empty if there is none.
        position: Query of the value for `snapshot`.
        fetchsize: Rows that a reader holds at a time.
        types: By the driver's name of a type: how its values are read, instead of the rule for its JDBC type. Each is
            ``text``, ``refused: reason``, ``SPARK TYPE`` or ``SPARK TYPE: expression``, with ``{c}`` for the column and
            ``{s}`` for its scale.
        other: How values of a type that has no rule are read.
        widest: Numbers are read in the widest type, since nobody has seen what the driver's types hold.
        misfit: Part of the driver's message about a value that the rule of its column refuses; empty if it has none.
        notes: What users must know, one sentence each.
    """

    name: str
    product: str
    executed: Executed
    driver: JdbcDriver
    url: UrlForm
    reference: str
    properties: frozenset[str] = frozenset()
    fixed_properties: Mapping[str, str] = field(default_factory=dict)
    bundled: bool = False
    sqlglot: str = ""
    quotes: tuple[str, str] = ('"', '"')
    from_nothing: str = ""
    text: str = "CAST({c} AS VARCHAR)"
    inexact: str = ""
    null_safe: str = "{a} IS NOT DISTINCT FROM {b}"
    limit: str = "{select} FETCH FIRST {n} ROWS ONLY"
    digest: str = ""
    total: str = ""
    exact: Mapping[str, str] = field(default_factory=dict)
    unhashed: frozenset[str] = frozenset()
    part: str = "COALESCE(CAST(CHAR_LENGTH({t}) AS VARCHAR(20)) || ':' || {t}, '-')"
    plus: str = " || "
    shared: Mapping[str, str] = field(default_factory=dict)
    shared_digest: str = ""
    shared_part: str = ""
    bucket: str = "MOD(MOD({d}, {n}) + {n}, {n})"
    clock: str = ""
    moment: str = "TIMESTAMP '{t}'"
    session: tuple[str, ...] = ()
    snapshot: str = ""
    position: str = ""
    fetchsize: int = 5_000
    types: Mapping[str, str] = field(default_factory=dict)
    other: str = "text"
    widest: bool = False
    misfit: str = ""
    notes: tuple[str, ...] = ()

    def quote(self, name: str) -> str:
        """Return `name` as a quoted identifier.

        Names enter SQL of this tier only through this function.

        Raises:
            ValueError: The name is empty or contains a NUL character.
        """
        if not name or "\x00" in name:
            raise ValueError(f"{name!r} cannot be an identifier of {self.product}")
        before, after = self.quotes
        return f"{before}{name.replace(after, after * 2)}{after}"

    def quoted_table(self, schema: str, name: str) -> str:
        """Return schema and name of a table as SQL.

        The schema may have parts with dots, or be empty.
        """
        return ".".join(self.quote(part) for part in (*filter(None, schema.split(".")), name))

    def rule(self, type_name: str) -> str:
        """Return the rule for the driver's name of a type, without its modifiers.

        Empty if there is none.
        """
        return self.types.get(bare_type(type_name), "")


def bare_type(type_name: str) -> str:
    """Return the driver's name of a type without its modifiers, in upper case."""
    return re.sub(r"\s*\([^)]*\)", "", type_name).strip().upper()
