"""A connector of another package that has only the required collaborators."""

from __future__ import annotations

import inspect
from typing import Any, cast

import pytest
from sqlalchemy import make_url
from sqlalchemy.engine import Connection, Engine
from sqlalchemy.pool import NullPool

from qbcd.catalog.source import Source
from qbcd.connectors import CONNECTORS, Connector, catalog, queries, ranges, sessions, watermarks
from qbcd.connectors.postgresql import PostgreSQL
from qbcd.connectors.postgresql.catalog import PostgresCatalog
from qbcd.connectors.postgresql.session import PostgresSessions
from qbcd.errors import UnsupportedPrimitive

MODULES: tuple[Any, ...] = (catalog, queries, ranges, sessions, watermarks)
ABILITIES: list[Any] = [
    ability for module in MODULES for name, ability in vars(module).items() if name.startswith("Supports")
]


class PlainSessions(sessions.Sessions):
    """Sessions without a pool."""

    sqlalchemy_url = PostgresSessions.sqlalchemy_url
    connect_args = PostgresSessions.connect_args
    engine_options = PostgresSessions.engine_options
    pins = PostgresSessions.pins
    jdbc_url = PostgresSessions.jdbc_url
    lock_against_rewrite = PostgresSessions.lock_against_rewrite


class PlainRanges(ranges.Ranges):
    """Ranges without look-ups."""

    bound = staticmethod(PostgreSQL().ranges.bound)
    per_range = staticmethod(PostgreSQL().ranges.per_range)
    range_bounds = staticmethod(PostgreSQL().ranges.range_bounds)
    key_between = staticmethod(PostgreSQL().ranges.key_between)


class Plain(PostgreSQL):
    """PostgreSQL without any ability; a fact of older connectors has no effect."""

    name = "Plain"
    session_reset_sql = "RESET ALL"

    def __init__(self) -> None:
        super().__init__()
        self.sessions = PlainSessions(self)
        self.catalog = PostgresCatalog(self)
        self.ranges = PlainRanges(self)
        self.watermarks = watermarks.Watermarks(self)
        self.queries = queries.Queries(self)
        self.abilities = ()


@pytest.mark.parametrize("ability", ABILITIES, ids=lambda ability: ability.__name__)
def test_a_missing_ability_is_refused_by_the_name_of_its_primitive(ability: Any) -> None:
    connector = Plain()
    assert not connector.supports(ability)
    assert ability.__abstractmethods__
    for primitive in ability.__abstractmethods__:
        with pytest.raises(UnsupportedPrimitive, match=f"^the Plain connector has no {primitive}"):
            getattr(connector.require(ability), primitive)
    assert any(made().supports(ability) for made in CONNECTORS.values()), "some connector has each"


@pytest.mark.parametrize("name", sorted(CONNECTORS))
@pytest.mark.parametrize("ability", ABILITIES, ids=lambda ability: ability.__name__)
def test_an_ability_is_complete_where_it_is_stated(name: str, ability: Any) -> None:
    connector = CONNECTORS[name]()
    if connector.supports(ability):
        assert not inspect.isabstract(type(connector.require(ability)))
        for primitive in ability.__abstractmethods__:
            assert callable(getattr(connector.require(ability), primitive))


def test_the_defaults_say_that_nothing_is_known() -> None:
    connector, column = Plain(), cast(Any, None)
    assert connector.watermarks.mark_kind(column) == ""
    assert connector.queries.nondeterministic_calls(cast(Connection, None), ["rand("]) == []
    assert not connector.ranges.has_shares(cast(Any, None))


def test_a_connector_must_make_its_collaborators() -> None:
    class Bare(Connector):
        """A connector without collaborators."""

    with pytest.raises(TypeError, match="__init__"):
        Bare()  # type: ignore[abstract]


def test_sessions_of_a_connector_without_a_pool_end_with_their_block() -> None:
    source = Source("shop", make_url("postgresql://u@localhost/d"), Plain(), "qbcd")
    with source.pooled():
        engine: Engine = source._engine("s", True)
    assert isinstance(engine.pool, NullPool)
