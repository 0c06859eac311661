"""Statements of TLCS with a replica, and of streams without updates, against golden files of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from qbcd.model import Statement
from qbcd.strategies import Id, Mds, OutboxSlice, QueuedTlcs, Tlcs, VbdDigest
from tests.golden.plans import CONNECTORS, HERE, optioned, ranges_of
from tests.golden.recorded import check_recorded, script, texts_of

FOLDER = HERE / "replica_choices"
NO_UPDATES = ("insert", "delete")


def statements(which: str) -> Iterator[tuple[str, Statement]]:
    """Yield (title, statement) of the plan ``simple``."""
    connector, part = CONNECTORS[which], OutboxSlice(5, 2)
    source = Tlcs(connector, optioned(which, "simple", "tlcs", deletes=True, replica="source"), "qbcd")
    ranges = ranges_of(which, source.plan)
    yield "tlcs, replica: source: ddl of the copy", Statement(source.ddl()[-1])
    for events in (False, True):
        for i, statement in enumerate(source.baseline(OutboxSlice(5, 1), events=events), 1):
            yield f"tlcs, replica: source: baseline, events={events}, {i}", statement
    for within in (None, ranges[1]):
        for i, statement in enumerate((*source.complete(part, within), *source.apply(part, within)[2:]), 1):
            yield f"tlcs, replica: source: old values, and the copy{' in a range' if within else ''}, {i}", statement
    lake = QueuedTlcs(connector, optioned(which, "simple", "tlcs", deletes=True, replica="lake"), "qbcd")
    yield "tlcs, replica: lake: ddl of the position", Statement(lake.ddl()[-1])
    yield "tlcs, replica: lake: rows of the queue", lake.queued_rows(ranges, part, typed=True)
    yield "tlcs, replica: lake: keys of the queue", lake.queued_keys(ranges, part)
    mds = Mds(connector, optioned(which, "simple", "mds", events=NO_UPDATES), "qbcd")
    yield "mds without updates: ddl", Statement(mds.ddl()[0])
    yield "mds without updates: changes", mds.differences(part)
    for i, statement in enumerate(mds.apply(part), 1):
        yield f"mds without updates: apply {i}", statement
    text = f"SELECT * FROM {connector.quote(mds.plan.table.schema)}.{connector.quote(mds.plan.table.name)} AS q"
    table = replace(mds.plan.table, schema="", name=mds.plan.stream, kind="query", query=text, bases=(mds.plan.table,))
    digest = VbdDigest(connector, replace(mds.plan, strategy="vbd", table=table), "qbcd")
    for i, statement in enumerate(digest.baseline(OutboxSlice(5, 1), events=False), 1):
        yield f"vbd, compare by digests: baseline {i}", statement
    yield "vbd, compare by digests: changes", digest.differences(part)
    yield (
        "id without updates: changes of a range",
        Id(connector, optioned(which, "simple", "id", events=NO_UPDATES), "qbcd").differences(part, ranges[1]),
    )


@pytest.mark.parametrize("connector", CONNECTORS)
def test_statements_are_as_recorded(connector: str) -> None:
    other = texts_of(statements("mariadb")) if connector == "mysql" else None
    check_recorded(FOLDER / f"{connector}.sql", script(texts_of(statements(connector)), other))
