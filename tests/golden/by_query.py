"""What is read of a query: statements for the files beside this one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qbcd import buckets
from qbcd.connectors.base import Connector
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.strategies import Part, VbdChecksum, VbdCompare


def by_query(connector: Connector, plan: StreamPlan) -> Iterator[tuple[str, Statement]]:
    """The statements of both variants that read the source, over a query that reads the plan's table."""
    read = ".".join(map(connector.quote, (plan.table.schema, plan.table.name)))
    text = f"SELECT *, '100% :x ?' AS told\nFROM {read} /* \"QBCD_PLACE\" */ LIMIT 5"
    table = replace(plan.table, schema="", name=plan.stream, kind="query", query=text, bases=(plan.table,))
    compare = VbdCompare(connector, replace(plan, strategy="vbd", table=table), "qbcd")
    for i, statement in enumerate(compare.baseline(Part(5, 1), events=False), 1):
        yield f"vbd, compare: baseline {i}", statement
    yield "vbd, compare: key problems", compare.key_problems()
    yield "vbd, compare: changes", compare.differences(Part(5, 2))
    for kind in ("hash", "key"):
        strategy = VbdChecksum(connector, replace(plan, strategy="vbd", table=table).with_options(buckets=kind))
        whole = [KeyRange(1, None, None)]
        some = buckets.divided(1, first_id=3)[:1] if kind == "hash" else whole
        bounds = strategy.cut.bounds(2000)
        assert bounds is not None
        yield f"vbd, checksum by {kind}: bounds", bounds
        yield f"vbd, checksum by {kind}: checksums", strategy.cut.checksums(whole)
        yield f"vbd, checksum by {kind}: images", strategy.images(some, typed=False)
    yield "vbd: lock", Statement(connector.lock_against_rewrite(table) or "")
