"""Digests of a few bits, and changes that do not show in their sums.

A sound digest hides no change that a test could find. With eight bits, a search over new values finds two rows whose
digests change while their sum stays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import make_url
from sqlglot import exp

from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.sql.compile import _expanded
from tests.support.places import Place

BITS = 8
TRIED = 200  # new values of each row


@contextmanager
def weak(place: Place, monkeypatch: pytest.MonkeyPatch, bits: int = BITS) -> Iterator[None]:
    """In the block, let row digests of the place's database have `bits` bits."""
    expressions = type(connector_for(place.url).expressions)
    whole: Callable[..., exp.Expression] = expressions.row_digest
    mask = "({d} & %d)" if place.kind == "postgresql" else "cast({d} & %d AS SIGNED)"

    def row_digest(columns: Any) -> exp.Expression:
        text = whole(columns).sql(dialect=connector_for(place.url).dialect)
        return exp.Var(this=(mask % (2**bits - 1)).format(d=text))

    with monkeypatch.context() as patch:
        patch.setattr(expressions, "row_digest", staticmethod(row_digest))
        _expanded.cache_clear()
        try:
            yield
        finally:
            _expanded.cache_clear()


def cancelling(place: Place, first: int, second: int, columns: Sequence[str] = ("id", "v")) -> dict[int, str]:
    """Return new values of `v`, by id, for two rows of table `t`: each digest changes, and their sum does not.

    Args:
        place: A database whose digests are `weak`.
        first: The id of a row.
        second: The id of another row.
        columns: The captured columns, key first.
    """
    more = ", ".join(c for c in columns if c != "v")
    numbers = " UNION ALL ".join(f"SELECT 'tried {n}' AS tried_v" for n in range(TRIED))
    rows = f"FROM t WHERE id IN ({first}, {second})"
    place.sql(f"CREATE TABLE tried AS SELECT * {rows}")
    place.sql(f"INSERT INTO tried ({more}, v) SELECT {more}, tried_v FROM ({numbers}) AS n CROSS JOIN t {rows[7:]}")
    found = digests(place, "tried", columns)
    place.sql("DROP TABLE tried")
    before = {key: digest for (key, value), digest in found.items() if not value.startswith("tried")}
    total = sum(before.values())
    seconds = {digest: value for (key, value), digest in found.items() if key == second}
    for (key, value), digest in found.items():
        other = seconds.get(total - digest)
        if key == first and digest != before[first] and other is not None:
            return {first: value, second: other}
    raise AssertionError("no values with an equal sum among those tried")


def digests(place: Place, table: str, columns: Sequence[str]) -> dict[tuple[int, str], int]:
    """Return the digest over `columns` of each row of a table, by (id, v)."""
    connector = connector_for(place.url)
    source = Source("shop", make_url(place.url), connector, place.own_schema)
    with source.read("s") as session:
        probed = connector.catalog.probe_table(session.connection, place.schema, table)
        assert probed is not None
        parts = [(c, exp.column(c.name, quoted=True)) for name in columns if (c := probed.column(name)) is not None]
        digest = connector.expressions.row_digest(parts).sql(dialect=connector.dialect)
        rows = session.rows(f"SELECT id, v, {digest} AS d FROM {place.table(table)}")
    source.close()
    return {(row.id, row.v): int(row.d) for row in rows}
