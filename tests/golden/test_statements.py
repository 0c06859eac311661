"""Statements of all strategies, for plans without a server, against the golden files.

The plan ``simple`` shows every statement. The other plans show what is special about them: each column type, odd
names, the restriction, a table without values, timestamps. The file of MySQL has the statements that differ from those
of MariaDB. A statement with the text of an earlier one in its file names that one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from qbcd.connectors.base import Connector
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import BatchHeader, KeyRange, Statement
from qbcd.sql import compile_sql, render
from qbcd.strategies import Atdi, ByRanges, Id, IdRcs, InSource, LakeTs, Mds, OutboxSlice, Tdi, Tlcs, Ts, Watermarked
from qbcd.strategies.base import prefixed
from qbcd.strategies.outbox import StagedBatch
from qbcd.strategies.read_position import ReadPosition
from qbcd.watermark import Window
from tests.golden.by_bucket import by_hash, by_page, in_leaves, named, traced, without_key
from tests.golden.by_query import by_changed_rows, by_query, of_one_row
from tests.golden.plans import CONNECTORS, HERE, PLANS, optioned, plan_of, ranges_of
from tests.golden.recorded import check_recorded, script, texts_of

STAMPED: dict[str, dict[str, Any]] = {
    "ts": {"timestamp": ("updated_at",)},
    "ts of two columns": {"timestamp": ("created at", "updated_at")},
    "ts in a zone, of seconds": {"timestamp": ("written",), "zone": "+02:00", "replica": "keys"},
    "ts by a counter": {"timestamp": ("order_id",)},
    "tdi": {"timestamp": ("updated_at",), "delete_flag": "gone", "deleted_value": True, "purge": True},
    "atdi": {"timestamp": ("updated_at",), "delete_flag": "gone", "deleted_value": True},
}
# By plan: the titles that its file shows.
SHOWN: dict[str, str] = {
    "simple": r".*",
    "every_comparison": r"mds: (ddl \d|changes|values no type can hold|rows of the batch.*)|id: changes of range 2"
    r"|id_rcs: (bounds|checksums( of 128 bits)?|images( for typed sinks.*)?)|id_rcs by hash: checksums, connection 1",
    "odd_names": r"mds: .*|id: (bounds in a range|changes of range 2)|tlcs: (changes of range 2|apply .*)"
    r"|id_rcs: (bounds|checksums|images|keys of rows.*)|restriction.*",
    "restricted": r"mds: (baseline, events=True, 1|key problems|changes|keys.*)"
    r"|id: (bounds.*|changes of range 2|rows.*)|tlcs: changes of range 2"
    r"|id_rcs: (bounds|checksums|images|images for typed.*)|vbd.*|restriction.*",
    "key_only": r"mds: .*|id: (changes of range 2|apply .*)|tlcs: (changes of range 2|apply .*)"
    r"|id_rcs: (checksums|images)",
    "stamped": r"(ts|tdi|atdi)\b.*",
}


def statements(which: str, name: str) -> Iterator[tuple[str, Statement]]:
    """Yield (title, statement) of all that every strategy can run."""
    connector: Connector = CONNECTORS[which]
    mds = Mds(connector, plan_of(which, name, "mds"), "qbcd")
    for title, statement in in_source(mds):
        yield f"mds: {title}", statement
    for title, statement in ranged(which, name):
        yield title, statement
    yield from remote(which, name)
    if name == "restricted":
        yield from by_query(connector, mds.plan)
    if name == "simple":
        yield from of_one_row(connector, mds.plan)
    if name == "simple" and connector.supports(SupportsIncrementalQueries):
        yield from by_changed_rows(connector, mds.plan)
    if name == "stamped":
        yield from stamped(which)
    probe = render("restriction_probe", table=mds.plan.table)
    yield "restriction, for EXPLAIN", compile_sql(probe, connector, mds.plan)


def in_source(strategy: InSource) -> Iterator[tuple[str, Statement]]:
    """Yield the statements that all strategies of the database wing run."""
    first, part = OutboxSlice(5, 1), OutboxSlice(5, 2)
    for i, ddl in enumerate(strategy.ddl(), 1):
        yield f"ddl {i}", Statement(ddl)
    for events in (False, True):
        for i, statement in enumerate(strategy.baseline(first, events=events), 1):
            yield f"baseline, events={events}, {i}", statement
    yield "key problems", strategy.key_problems()
    if strategy.name == "mds" and strategy.plan.columns:
        added = tuple(c.name for c in strategy.plan.columns[-2:])
        yield "columns that are captured from now on", strategy.fill(added)
        yield "their old values, which nobody was told", strategy.unknown(added, part)
    yield "changes", strategy.differences(part)
    yield "counts", strategy.counts(part)
    yield "values no type can hold", strategy.untravelled(part)
    yield "keys of the batch", strategy.differing_keys(part, 1000)
    for i, statement in enumerate(strategy.apply(part), 1):
        yield f"apply {i}", statement
    yield from staged(strategy)


def staged(strategy: InSource) -> Iterator[tuple[str, Statement]]:
    """Yield the statements that need only a batch's header."""
    plan, limit = strategy.plan, strategy.connector.identifier_limit
    header = BatchHeader(
        plan.stream,
        5,
        2,
        0,
        {},
        (),
        "",
        plan.source,
        plan.table.name,
        plan.strategy,
        strategy.consistency,
        tuple(c.name for c in plan.key),
        tuple((c.name, c.travel) for c in plan.captured),
    )
    columns = tuple(replace(c, name=prefixed("b_", c.name, limit)) for c in plan.captured)
    batch = StagedBatch(strategy.connector, "qbcd", header, replace(plan.table, columns=columns))
    yield "rows of the batch, by Spark", Statement(batch.rows())
    for i, statement in enumerate([*batch.seal(2), *batch.pair_keys(2)], 1):
        yield f"batch {i}", statement


def ranged(which: str, name: str) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of strategies that work range by range."""
    connector: Connector = CONNECTORS[which]
    column = {"checksums": "column", "checksum_column": "qbcd chk", "deletes": False}
    part, ranges = OutboxSlice(5, 0, 7), ranges_of(which, plan_of(which, name, "id"))
    made: list[ByRanges] = [Id(connector, plan_of(which, name, "id"), "qbcd")]
    made.append(Tlcs(connector, optioned(which, name, "tlcs", deletes=True), "qbcd"))
    made += [Tlcs(connector, optioned(which, name, "tlcs", **column), "qbcd")] if name == "simple" else []
    for strategy in made:
        named = f"{strategy.name}{' in a column' if strategy.keeps == 'nothing' else ''}"
        for i, r in enumerate(ranges, 1):
            yield f"{named}: changes of range {i}", strategy.differences(part, r)
        for i, statement in enumerate(strategy.apply(part, ranges[1]), 1):
            yield f"{named}: apply {i}", statement
        yield f"{named}: key problems of a range", strategy.key_problems(ranges[1])
        yield f"{named}: rows", strategy.row_count()
        if strategy.name == "id":
            yield "id: bounds", strategy.bounds()
            yield "id: bounds in a range", strategy.bounds(ranges[1])
            yield "id: rows of the ranges", strategy.counted(ranges)
            for i, statement in enumerate(strategy.per_range(part, ranges), 1):
                yield f"id: events of the ranges {i}", statement


def stamped(which: str) -> Iterator[tuple[str, Statement]]:
    """Yield the statements of strategies that read by timestamp, over the plan `stamped`."""
    connector: Connector = CONNECTORS[which]
    part, window = OutboxSlice(5, 2), Window("2024-01-01 00:00:00.000001", "2024-01-01 00:00:01.000000")
    for kind, options in STAMPED.items():
        make: Callable[..., Watermarked] = {"ts": Ts, "tdi": Tdi, "atdi": Atdi}[kind.split()[0]]
        strategy = make(connector, optioned(which, "stamped", kind.split()[0], **options), "qbcd")
        strategy.check()
        yield f"{kind}: window", strategy.window_changes(part, window)
        yield f"{kind}: audit", strategy.window_changes(part, Window(None, window.hi), repeats=False, reason="audit")
        yield f"{kind}: window alone", strategy.window_rows(window)
        yield f"{kind}: sweep of a range", strategy.sweep(part, KeyRange(2, ("-5",), ("7",)))
        yield f"{kind}: index", Statement(strategy.index())
        if kind.startswith("ts"):
            yield from windowed(which, kind, options, window)
        if isinstance(strategy, Tdi):
            yield f"{kind}: view", Statement(strategy.view())
            for title, statement in (
                ("note", strategy.note_flagged(window)),
                ("purge", strategy.purge_rows(read_by(strategy, window.hi))),
                ("told", strategy.note_flagged(window, reported=True)),
                ("anything to purge", strategy.listed()),
                ("purged", strategy.forget_unflagged()),
            ):
                yield f"{kind}: {title}", statement


def read_by(strategy: Tdi, at: str) -> list[ReadPosition]:
    """Return the readers of the table of ``stamped``.

    They are the stream itself, by two columns, a counter, and versions of rows.
    """
    versions = [ReadPosition(("xmin",), None, "755")] if strategy.connector.name == "postgresql" else []
    others = [ReadPosition(("written",), "+02:00", at), ReadPosition(("created at", "updated_at"), None, at)]
    return [strategy.read_position(at), *others, ReadPosition(("order_id",), None, "17"), *versions]


def windowed(which: str, kind: str, options: Mapping[str, Any], window: Window) -> Iterator[tuple[str, Statement]]:
    """Yield the statements that TS runs for a lake replica."""
    strategy = LakeTs(CONNECTORS[which], optioned(which, "stamped", "ts", **{**options, "replica": "lake"}))
    ranges = ranges_of(which, strategy.plan)
    yield f"{kind}, under Spark: anything there", strategy.watermarked.any_row(window)
    yield f"{kind}, under Spark: window", strategy.window_images(ranges, window, typed=False)
    yield f"{kind}, under Spark: key sums", strategy.partitioning.checksums(ranges)
    yield f"{kind}, under Spark: keys", strategy.keys(ranges[1:2])
    yield f"{kind}, under Spark: images", strategy.images(ranges[1:2], typed=True)
    yield f"{kind}, under Spark: audit", strategy.settled_images(ranges[1:2], Window(None, window.hi), typed=False)


def remote(which: str, name: str) -> Iterator[tuple[str, Statement]]:
    """Yield the statements that ID/RCS runs for a lake replica."""
    connector: Connector = CONNECTORS[which]
    plan = plan_of(which, name, "id_rcs")
    strategy = IdRcs(connector, plan)
    lone = [KeyRange(1, None, None)]
    bounds = strategy.partitioning.bounds(2000)
    assert bounds is not None
    yield "id_rcs: bounds", bounds
    yield "id_rcs: key problems", strategy.key_problems()
    yield "id_rcs: checksums", strategy.partitioning.checksums(ranges_of(which, plan))
    yield "id_rcs: checksums of the one range", strategy.partitioning.checksums(lone)
    yield "id_rcs: images", strategy.images(ranges_of(which, plan)[1:2], typed=False)
    yield "id_rcs: images of all ranges", strategy.images(ranges_of(which, plan), typed=False)
    if name == "simple":
        yield (
            "id_rcs: images, and the digest of before",
            strategy.with_old_digest(plan.captured[:2]).images(lone, typed=False),
        )
    typed = strategy.images(lone, typed=True)
    yield (
        "id_rcs: images for typed sinks, as the JDBC driver takes them",
        Statement(connector.sessions.jdbc_query(typed.sql)),
    )
    if connector.supports(SupportsLeafChecksums):
        known = ranges_of(which, plan)
        yield "id_rcs: checksums of ranges and leaves", strategy.partitioning.checksums(known, leaves=True)
        yield "id_rcs: images of some leaves", strategy.images([in_leaves(r) for r in known[:2]], typed=False)
        written = strategy.recent_keys(known[:2], since="4294967400", most=100)
        yield "id_rcs: keys of rows written since a mark", written
        some = [known[0], named(known[1], *(r.lo for r in known if r.lo))]
        yield "id_rcs: images of a range, and of rows that were named", strategy.images(some, typed=False)
        if connector.require(SupportsLeafChecksums).whole_number_bytes(plan.key):
            mixed = [in_leaves(known[0]), traced(known[1])]
            yield "id_rcs: images of some leaves, and of rows by trace", strategy.images(mixed, typed=False)
        wide = IdRcs(connector, plan.with_options(digest=128))
        yield "id_rcs: checksums of ranges and leaves, of 128 bits", wide.partitioning.checksums(lone, leaves=True)
    wide = IdRcs(connector, plan.with_options(digest=128))
    yield "id_rcs: checksums of 128 bits", wide.partitioning.checksums(lone)
    if name in ("simple", "every_comparison"):
        yield from by_hash(IdRcs(connector, plan.with_options(buckets="hash")))
    if name == "simple" and connector.supports(SupportsSnapshots):
        yield from by_page(IdRcs(connector, plan.with_options(buckets="page")))
    if name == "simple":
        yield from without_key(connector, plan)


@cache
def made(connector: str, name: str) -> str:
    """Return the text of a golden file; that of MySQL has what differs from MariaDB."""
    mine = texts_of(statements(connector, name), SHOWN[name])
    return script(mine, texts_of(statements("mariadb", name), SHOWN[name]) if connector == "mysql" else None)


@pytest.mark.parametrize("name", PLANS)
@pytest.mark.parametrize("connector", CONNECTORS)
def test_statements_are_as_recorded(connector: str, name: str) -> None:
    check_recorded(HERE / connector / f"{name}.sql", made(connector, name))


def test_no_file_is_left_over() -> None:
    assert {p.relative_to(HERE).as_posix() for p in HERE.rglob("*.sql") if p.parent.name in CONNECTORS} == {
        f"{connector}/{name}.sql" for connector in CONNECTORS for name in PLANS if made(connector, name)
    }


@pytest.mark.parametrize("connector", CONNECTORS)
def test_the_restriction_is_the_users_own_text(connector: str) -> None:
    """The text is unchanged, except for percent signs, doubled in statements with bound values."""
    where = plan_of(connector, "restricted", "mds").where
    seen = 0
    for title, statement in statements(connector, "restricted"):
        text = statement.sql.replace("%%", "%") if statement.params else statement.sql
        if title == "vbd: lock":
            continue  # reads no row
        if "as the JDBC driver" in title:
            text = text.replace("??", "?")
        reads_source = re.search(r"""(["`])(public|shop)\1\.\1restricted\1""", text) is not None
        assert (f"(\n{where}\n)" in text) == reads_source, title
        seen += reads_source
    assert seen >= 10


def test_bound_values_are_those_of_the_batch() -> None:
    bound = [s.params for t, s in statements("postgresql", "simple") if s.params]
    assert bound
    assert all(p["batch_seq"] in (1, 2, 0) and p["epoch"] == 5 for p in bound if "epoch" in p)


def test_mysql_differs_from_mariadb_only_in_the_text_of_floating_point_numbers_and_in_making_an_index() -> None:
    """Variant delta is the exception: MySQL does not have it."""
    differing = set()
    for name in PLANS:
        ours, theirs = dict(statements("mariadb", name)), dict(statements("mysql", name))
        lacking = {title for title in ours if title not in theirs}
        assert all(re.match(r"vbd, (delta: |one row: (affected|changes, by delta))", title) for title in lacking)
        for title, statement in theirs.items():
            plain = statement.sql.replace("concat(json_extract(json_array(", "concat(").replace(
                " + 0e0), '$[0]'))", " + 0e0)"
            )
            plain = plain.replace("CREATE INDEX `", "CREATE INDEX IF NOT EXISTS `")
            assert (plain, statement.params) == (ours[title].sql, ours[title].params), (name, title)
            differing |= {name} if statement.sql != ours[title].sql else set()
    assert differing == {"every_comparison", "stamped"}
