"""Constraints of a target table that decide how a batch can be applied.

They are read only when a plain way has failed.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

ViolationKind = Literal["unique", "foreign key", "not null", "check", "identity"]


@dataclass(frozen=True)
class Violation:
    """A constraint that rejects a row.

    Attributes:
        kind: `identity` is a column that is GENERATED ALWAYS, in an UPDATE.
        name: The constraint, or the column of NOT NULL; empty if the database does not name it.
        table: Its table; empty if the database does not name it.
    """

    kind: ViolationKind
    name: str = ""
    table: str = ""


@dataclass(frozen=True)
class Reference:
    """A foreign key that refers to the target table.

    Attributes:
        name: The constraint; empty if the database does not name it.
        schema: Schema of the table that has it, None for the database's default.
        columns: Its columns there.
        referred: The columns of the target table.
        refuses: A row to which it refers cannot be deleted. True also if the database has named it.
    """

    name: str
    schema: str | None
    table: str
    columns: tuple[str, ...]
    referred: tuple[str, ...]
    refuses: bool = True


@dataclass(frozen=True)
class TableConstraints:
    """The constraints of one table.

    Attributes:
        columns: Names of all columns that an INSERT can set.
        nullable: Names of those that take NULL.
        unique: Columns of each unique constraint or index, but for the primary key.
        references: Foreign keys that refer to the table, its own ones included.
        has_triggers: Users have defined triggers on it.
        always: Columns that are GENERATED ALWAYS AS IDENTITY.
        moving: Columns whose UPDATE the database executes as a DELETE and an INSERT of the row.
    """

    columns: tuple[str, ...] = ()
    nullable: frozenset[str] = frozenset()
    unique: tuple[tuple[str, ...], ...] = ()
    references: tuple[Reference, ...] = ()
    has_triggers: bool = False
    always: frozenset[str] = frozenset()
    moving: frozenset[str] = frozenset()

    def self_references(self, table: str) -> frozenset[str]:
        """Return the columns by which rows of the table refer to other rows of it."""
        return frozenset(name for one in self.references if one.table == table for name in one.columns)

    def releasable(self, values: Collection[str]) -> dict[str, tuple[str, ...]]:
        """Return a nullable column of each unique constraint, with all columns of the constraint.

        While it is NULL, another row can have its value. Constraints to which a foreign key refers have none, since the
        foreign key's ON UPDATE would change rows of its table.

        Args:
            values: The columns that may be NULL for a time.
        """
        found = {}
        for key in self.unique:
            free = [name for name in key if name in self.nullable and name in values]
            if free and not any(set(one.referred) & set(key) for one in self.references):
                found[free[0]] = key
        return found

    def rigid(self, values: Collection[str]) -> frozenset[str]:
        """Return the columns of unique constraints that have no column to be released."""
        released = self.releasable(values).values()
        return frozenset(name for key in self.unique if key not in released for name in key if name in values)
