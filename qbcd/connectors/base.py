"""A connector: facts about one database, and collaborators for its differences from others.

A connector opens no connection and keeps no state. Expressions are sqlglot trees; `qbcd.sql.compile` alone makes the
dialect's text of them. An ability that a database may lack is a class ``Supports..``; a collaborator that has the
ability inherits it. The rest of qbcd uses :meth:`Connector.supports` and :meth:`Connector.require`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar, cast

from qbcd.connectors.catalog import Catalog
from qbcd.connectors.ddl import Ddl
from qbcd.connectors.error_templates import Errors
from qbcd.connectors.expressions import Expressions
from qbcd.connectors.facts import Counter, DatabaseFacts, HighWater, Index, JdbcDriver, Privileges
from qbcd.connectors.queries import Queries
from qbcd.connectors.ranges import Ranges
from qbcd.connectors.sessions import Sessions
from qbcd.connectors.watermarks import Watermarks
from qbcd.errors import UnsupportedPrimitive

__all__ = ["Connector", "Counter", "HighWater", "Index", "JdbcDriver", "Privileges"]

Ability = TypeVar("Ability")


class Connector(DatabaseFacts, ABC):
    """The facts of one database, as class attributes, and its collaborators.

    Attributes:
        sessions: URLs, connections, pinned settings, locks.
        errors: One message for each error of a driver.
        catalog: Tables, types, privileges, the server.
        ddl: qbcd's own tables, and grants.
        expressions: Equality, digest, identity, text and travel of values.
        ranges: Statements over many ranges of a key or its hash.
        watermarks: Columns that can be watermarks.
        queries: The user's queries, restrictions and views.
        abilities: Further objects with abilities that none of the above has.
    """

    sessions: Sessions
    errors: Errors
    catalog: Catalog
    ddl: Ddl
    expressions: Expressions
    ranges: Ranges
    watermarks: Watermarks
    queries: Queries
    abilities: tuple[object, ...] = ()

    @abstractmethod
    def __init__(self) -> None:
        """Create the collaborators."""

    def supports(self, ability: Callable[..., object]) -> bool:
        """Return True if a collaborator has an ability, one of the classes ``Supports..``."""
        return self._with(ability) is not None

    def require(self, ability: Callable[..., Ability]) -> Ability:
        """Return the collaborator with an ability.

        If none has it, each primitive of the result raises :class:`~qbcd.errors.UnsupportedPrimitive` with the
        primitive's name. Strategies call primitives when the plan is made, so that a poll never fails by this.
        """
        return cast(Ability, self._with(ability) or _Missing(self.name))

    def _with(self, ability: Callable[..., object]) -> object | None:
        kind = cast("type[Any]", ability)
        parts = (self.sessions, self.catalog, self.ddl, self.expressions, self.ranges, self.watermarks, self.queries)
        return next((part for part in (*parts, *self.abilities) if isinstance(part, kind)), None)


class _Missing:
    """A missing ability: each of its primitives is refused by name."""

    def __init__(self, connector: str) -> None:
        self._connector = connector

    def __getattr__(self, primitive: str) -> NoReturn:
        raise UnsupportedPrimitive(self._connector, primitive)
