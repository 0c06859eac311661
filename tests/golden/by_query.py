"""Statements over queries, for the golden files in this folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from qbcd.connectors.base import Connector
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.ranges import hash_buckets
from qbcd.strategies import OutboxSlice, VbdChecksum, VbdCompare, VbdDelta


def by_query(connector: Connector, plan: StreamPlan) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of both variants that read the source, over a query."""
    read = ".".join(map(connector.quote, (plan.table.schema, plan.table.name)))
    text = f"SELECT *, '100% :x ?' AS told\nFROM {read} /* \"QBCD_PLACE\" */ LIMIT 5"
    table = replace(plan.table, schema="", name=plan.stream, kind="query", query=text, bases=(plan.table,))
    compare = VbdCompare(connector, replace(plan, strategy="vbd", table=table), "qbcd")
    for i, statement in enumerate(compare.baseline(OutboxSlice(5, 1), events=False), 1):
        yield f"vbd, compare: baseline {i}", statement
    yield "vbd, compare: key problems", compare.key_problems()
    yield "vbd, compare: changes", compare.differences(OutboxSlice(5, 2))
    for kind in ("hash", "key"):
        strategy = VbdChecksum(connector, replace(plan, strategy="vbd", table=table).with_options(buckets=kind))
        whole = [KeyRange(1, None, None)]
        some = hash_buckets.divided(1, first_id=3)[:1] if kind == "hash" else whole
        bounds = strategy.partitioning.bounds(2000)
        assert bounds is not None
        yield f"vbd, checksum by {kind}: bounds", bounds
        yield f"vbd, checksum by {kind}: checksums", strategy.partitioning.checksums(whole)
        yield f"vbd, checksum by {kind}: images", strategy.images(some, typed=False)
    yield "vbd: lock", Statement(connector.sessions.lock_against_rewrite(table) or "")


def of_one_row(connector: Connector, plan: StreamPlan) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of an aggregate over the plan's table that an empty key changes."""
    read, shown = ".".join(map(connector.quote, (plan.table.schema, plan.table.name))), plan.columns[:2]
    text = f"SELECT {', '.join(f'MAX({q}) AS {q}' for q in (connector.quote(c.name) for c in shown))} FROM {read}"
    table = replace(
        plan.table, schema="", name=plan.stream, kind="query", query=text, bases=(plan.table,), one_row=True
    )
    plan = replace(plan, strategy="vbd", table=table, key=(), columns=shown)
    compare, checksum = VbdCompare(connector, plan, "qbcd"), VbdChecksum(connector, plan.with_options(buckets="hash"))
    yield "vbd, one row: replica", Statement(compare.ddl()[0])
    yield "vbd, one row: changes", compare.differences(OutboxSlice(5, 2))
    yield "vbd, one row: keys of the batch", compare.differing_keys(OutboxSlice(5, 2), 1000)
    for i, statement in enumerate(compare.apply(OutboxSlice(5, 2)), 1):
        yield f"vbd, one row: apply {i}", statement
    yield "vbd, one row: images", checksum.images([KeyRange(1, None, None)], typed=False)
    if connector.supports(SupportsIncrementalQueries):
        delta = VbdDelta(connector, plan, "qbcd")
        assert not delta.refused
        yield "vbd, one row: affected", delta.find_affected(delta.lineages)
        yield "vbd, one row: changes, by delta", delta.affected_differences(OutboxSlice(5, 2))


def by_changed_rows(connector: Connector, plan: StreamPlan) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of variant delta, over a query that reads the plan's table twice."""
    read, key = ".".join(map(connector.quote, (plan.table.schema, plan.table.name))), connector.quote(plan.key[0].name)
    text = (
        f"SELECT t.*, n.others FROM {read} AS t LEFT JOIN (SELECT o.{key}, COUNT(*) AS others FROM {read} AS o "
        f"GROUP BY o.{key}) AS n ON n.{key} = t.{key} "
        f"WHERE NOT EXISTS (SELECT 1 FROM {read} AS e WHERE e.{key} = t.{key})"
    )
    table = replace(plan.table, schema="", name=plan.stream, kind="query", query=text, bases=(plan.table,) * 3)
    strategy = VbdDelta(connector, replace(plan, strategy="vbd", table=table), "qbcd")
    assert not strategy.refused
    for i, ddl in enumerate([*strategy.ddl()[2:], *strategy.indexes()], 1):
        yield f"vbd, delta: ddl {i}", Statement(ddl)
    for lineage in strategy.lineages:
        named = {"fill": lineage.fill(), "changed": lineage.find(None), "gone": lineage.find_deleted()}
        for title, statement in named.items():
            yield f"vbd, delta: {title}", statement
        for i, statement in enumerate(lineage.follow(), 1):
            yield f"vbd, delta: lineage {i}", statement
    yield "vbd, delta: affected keys", strategy.find_affected(strategy.lineages)
    yield "vbd, delta: NULL among them", strategy.affected_nulls()
    yield "vbd, delta: key problems", strategy.affected_key_problems()
    yield "vbd, delta: changes", strategy.affected_differences(OutboxSlice(5, 2))
    yield "vbd, delta: affected keys forgotten", strategy.forget_affected()
