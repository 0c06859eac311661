"""A prepared stream refuses a wrong next poll, changes nothing, and goes on after the fix."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import GuardTripped, LeaseHeld, NotPrepared, QbcdError, SchemaChanged, StateConflict, UnsafeKey
from tests.support.oracle import events
from tests.support.project import config
from tests.support.refusals import STRATEGIES, Place, new_place, polled

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLES = """
CREATE TABLE orders (id int PRIMARY KEY, region text, amount numeric(10,2), note text);
INSERT INTO orders SELECT i, 'EU', i, NULL FROM generate_series(1, 20) i;
CREATE TABLE loose (k int, part int, x text); INSERT INTO loose SELECT i, i, 'x' FROM generate_series(1, 5) i;
"""
AGAIN = "once it is captured again, qbcd resend STREAM SINK delivers its values without a reset"
RESET = "qbcd reset STREAM, then prepare it again; or undo the change at the source"


def missing(column: str) -> str:
    """Return the message about a captured column that no longer exists."""
    return f"captured column '{column}' of public.orders does not exist any more (dropped or renamed)"


def leaving_out(column: str) -> str:
    """Return the remedy where another set of columns would help as well."""
    return f"{RESET}; or leave {column} out by `columns` or `exclude`"


@pytest.fixture(scope="module")
def place(server: EmbeddedPostgres, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    with new_place(server, tmp_path_factory.mktemp("prepared") / "project") as made:
        made.sql(TABLES)
        yield made


def written(place: Place, **more: Any) -> dict[str, Any]:
    """Return streams <strategy> over orders and <strategy>_loose over loose.

    `more` extends the former.
    """
    tables = [{"name": s, "table": "public.orders", "strategy": s, **more} for s in STRATEGIES]
    loose = [{"name": f"{s}_loose", "table": "public.loose", "key": ["k", "part"], "strategy": s} for s in STRATEGIES]
    data = config(place.admin, *tables, *loose)
    data["defaults"]["guards"] = {"max_delete_fraction": 0.25}
    return data


@pytest.fixture(scope="module")
def project(place: Place, spark: SparkSession) -> Iterator[qbcd.Project]:
    with qbcd.Project.from_dict(written(place), spark=spark, base_dir=place.folder) as opened:
        for stream in opened.streams:
            stream.prepare()
        yield opened


@pytest.fixture(params=STRATEGIES)
def stream(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["mds", pytest.param("id_rcs", marks=pytest.mark.campaign)])
def usual_stream(request: pytest.FixtureRequest) -> str:
    """A stream whose refusals come from the same code for every strategy.

    Both have one case of each kind in tests/conformance/test_refusals.py.
    """
    return str(request.param)


def refused_while(place: Place, project: qbcd.Project, stream: str, kind: type[QbcdError], do: str, undo: str) -> str:
    """Return the message of a poll after SQL `do`; after SQL `undo` the stream finds nothing."""
    place.sql(do)
    try:
        message = place.refused(lambda: polled(project, stream), kind, 3)
        with pytest.raises(kind):
            project.stream(stream).verify()
    finally:
        place.sql(undo)
    assert polled(project, stream) == []
    return message.replace(stream, "STREAM")


@pytest.mark.parametrize(
    ("do", "undo", "message"),
    [
        (
            "ALTER TABLE orders DROP COLUMN note",
            "ALTER TABLE orders ADD COLUMN note text",
            f"stream STREAM: {missing('note')} ({leaving_out('note')})",
        ),
        (
            "ALTER TABLE orders RENAME COLUMN region TO area",
            "ALTER TABLE orders RENAME COLUMN area TO region",
            f"stream STREAM: {missing('region')} ({leaving_out('region')})",
        ),
        (
            "ALTER TABLE orders ALTER COLUMN amount TYPE numeric(12,3)",
            "ALTER TABLE orders ALTER COLUMN amount TYPE numeric(10,2)",
            "stream STREAM: captured column 'amount' of public.orders is numeric(12,3) now and was numeric(10,2) "
            f"({leaving_out('amount')}; {AGAIN})",
        ),
        (
            "ALTER TABLE orders ALTER COLUMN id TYPE smallint",
            "ALTER TABLE orders ALTER COLUMN id TYPE int",
            f"stream STREAM: captured column 'id' of public.orders is smallint now and was integer ({RESET})",
        ),
        (
            'ALTER TABLE orders ALTER COLUMN region TYPE text COLLATE "C"',
            'ALTER TABLE orders ALTER COLUMN region TYPE text COLLATE "default"',
            "stream STREAM: captured column 'region' of public.orders is text pg_catalog.\"C\" now and was text "
            f"({leaving_out('region')})",
        ),
        (
            "ALTER TABLE orders RENAME COLUMN id TO order_id",
            "ALTER TABLE orders RENAME COLUMN order_id TO id",
            f"stream STREAM: {missing('id')} ({RESET})",
        ),
        (
            "ALTER TABLE orders RENAME TO orders_of_old",
            "ALTER TABLE orders_of_old RENAME TO orders",
            "stream STREAM: public.orders does not exist any more, or the role may not see it (if it exists, GRANT "
            f"SELECT ON public.orders to the source's user; if not, {RESET})",
        ),
    ],
)
def test_a_changed_table(
    place: Place, project: qbcd.Project, usual_stream: str, do: str, undo: str, message: str
) -> None:
    assert refused_while(place, project, usual_stream, SchemaChanged, do, undo) == message


def test_a_key_that_lost_its_constraint_is_counted_from_then_on(
    place: Place, project: qbcd.Project, stream: str
) -> None:
    place.sql("ALTER TABLE orders DROP CONSTRAINT orders_pkey")
    try:
        [outcome] = project.run([stream], once=True).outcomes
        assert outcome.report is not None
        assert outcome.report.header is None
        assert outcome.report.warnings == [
            "the primary or unique key (id) of public.orders was dropped; the stream keeps it "
            f"(qbcd reset {stream} and prepare to change it)"
        ]
        do, undo = "INSERT INTO orders VALUES (5, 'XX')", "DELETE FROM orders WHERE region = 'XX'"
        assert refused_while(place, project, stream, UnsafeKey, do, undo) == (
            "stream STREAM: key (id) has duplicate or NULL values in public.orders "
            "(choose a key that is unique and never NULL, or fix the rows)"
        )
    finally:
        place.sql("ALTER TABLE orders ADD PRIMARY KEY (id)")


@pytest.mark.parametrize(
    ("do", "undo"),
    [
        (  # the columns are in another order
            "ALTER TABLE orders DROP COLUMN note; ALTER TABLE orders RENAME amount TO old;"
            "ALTER TABLE orders ADD note text, ADD amount numeric(10,2); UPDATE orders SET amount = old;"
            "ALTER TABLE orders DROP old",
            "",
        ),
        (  # another primary key, in another order
            "ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (region, id)",
            "ALTER TABLE orders DROP CONSTRAINT orders_pkey, ADD PRIMARY KEY (id)",
        ),
    ],
)
def test_a_recreated_table_with_the_same_columns_is_no_change(
    place: Place, project: qbcd.Project, stream: str, do: str, undo: str
) -> None:
    place.sql(do)
    try:
        assert polled(project, stream) == []
        assert project.stream(stream).verify() == []
    finally:
        place.sql(undo or "SELECT 1")


def test_an_added_column_is_a_warning_and_events_go_on(place: Place, project: qbcd.Project, stream: str) -> None:
    place.sql("ALTER TABLE orders ADD COLUMN extra text DEFAULT 'e'; UPDATE orders SET region = 'US' WHERE id = 1")
    try:
        [outcome] = project.run([stream], once=True).outcomes
        assert outcome.error is None
        assert outcome.report is not None
        assert outcome.report.warnings == [
            "column 'extra' was added to public.orders after prepare and is not captured "
            "(`new_columns: add` captures it from now on)"
        ]
        last = events(place.folder / "out" / "changes", stream)[-1]
        assert last["op"] == "u"
        assert list(last["after"]) == ["id", "region", "amount", "note"]
    finally:
        place.sql("ALTER TABLE orders DROP COLUMN extra; UPDATE orders SET region = 'EU' WHERE id = 1")
    assert polled(project, stream) == [{"u": 1}]


@pytest.mark.parametrize(
    ("more", "names", "moved"),
    [
        (
            {"exclude": ["note"], "types": {"amount": "text"}},
            "types is fixed at prepare, and was",
            'types was not set and is {"amount": "text"}',
        ),
        ({"key": ["id"]}, "key is fixed at prepare, and was", 'key was not set and is ["id"]'),
        (
            {"table": "public.loose", "key": ["k"]},
            "key, table are fixed at prepare, and were",
            'key was not set and is ["k"]; table was ["public", "orders"] and is ["public", "loose"]',
        ),
    ],
)
def test_a_configuration_that_changed_since_prepare(
    place: Place, project: qbcd.Project, usual_stream: str, more: dict[str, Any], names: str, moved: str
) -> None:
    stream = usual_stream
    with qbcd.Project.from_dict(written(place, **more), base_dir=place.folder) as changed:
        message = (
            f"stream {stream}: {names} changed in the configuration since: {moved} "
            f"(take the change back; to go on with it: qbcd reset {stream}, then qbcd prepare {stream})"
        )
        for action in (lambda: polled(changed, stream), changed.stream(stream).prepare, changed.stream(stream).verify):
            assert place.refused(action, SchemaChanged, 3) == message
    assert polled(project, stream) == []


def test_a_second_poller(place: Place, project: qbcd.Project, stream: str) -> None:
    with (
        qbcd.Project.from_dict(written(place), base_dir=place.folder) as second,
        parts_of(project).open_stream(stream).site.context.hold(),
    ):
        message = place.refused(lambda: polled(second, stream), LeaseHeld, 3)
    before, _, after = message.partition("process ")
    assert before == f"stream {stream}: "
    assert after.partition(" works ")[2] in (
        f"on this stream; its lease ends in {s} s unless renewed "
        "(let only one process poll it: wait for the other one, or end it)"
        for s in (59, 60)
    )
    assert polled(project, stream) == []


def test_another_project(place: Place, project: qbcd.Project, stream: str) -> None:
    """It has its own state database; only schema qbcd of the source is shared."""
    data = {**written(place), "state": "sqlite:///other.db"}
    with qbcd.Project.from_dict(data, base_dir=place.folder) as other:
        assert parts_of(other).state.project_id
        if stream == "mds":
            for action in (lambda: polled(other, stream), other.stream(stream).verify):
                assert place.refused(action, StateConflict, 3) == (
                    "stream mds: schema 'qbcd' holds streams 'mds', 'mds_loose' prepared by another project (another "
                    "state database) (give this project another `schema:`, or use the state database that prepared "
                    "them; if that is lost: qbcd reset mds --discard --take-over, and so for each)"
                )
        else:
            assert place.refused(lambda: polled(other, stream), NotPrepared, 3) == (
                "stream id_rcs: is not prepared (qbcd prepare id_rcs)"
            )


@pytest.mark.parametrize(
    ("do", "undo"),
    [
        ("INSERT INTO loose VALUES (3, 3, 'again')", "DELETE FROM loose WHERE x = 'again'"),
        ("INSERT INTO loose VALUES (3, NULL, 'null')", "DELETE FROM loose WHERE x = 'null'"),
        ("INSERT INTO loose VALUES (NULL, NULL, 'null')", "DELETE FROM loose WHERE x = 'null'"),
    ],
)
def test_keys_that_became_invalid_after_prepare(
    place: Place, project: qbcd.Project, usual_stream: str, do: str, undo: str
) -> None:
    assert refused_while(place, project, f"{usual_stream}_loose", UnsafeKey, do, undo) == (
        "stream STREAM: key (k, part) has duplicate or NULL values in public.loose "
        "(choose a key that is unique and never NULL, or fix the rows)"
    )


def test_guards_stop_emptied_sources_and_mass_deletes_and_are_lifted_once(
    place: Place, project: qbcd.Project, usual_stream: str
) -> None:
    stream = usual_stream
    confirm = f"nothing was changed; if this is right: qbcd run {stream} --once --accept-deletes"
    rows = "SELECT i, 'EU', i FROM generate_series(1, 20) i"
    restore = f"INSERT INTO orders (id, region, amount) {rows} ON CONFLICT DO NOTHING"
    for _ in range(2):  # a confirmation lifts only the refusal that was seen
        place.sql("DELETE FROM orders")
        assert place.refused(lambda: polled(project, stream), GuardTripped, 3) == (
            f"stream {stream}: the source is empty now and held 20 rows before, which guards.allow_empty does not "
            f"allow ({confirm})"
        )
        place.sql(restore)
        assert polled(project, stream) == []
    place.sql("DELETE FROM orders WHERE id <= 6")
    message = (
        f"stream {stream}: this poll would deliver 6 deletes of 20 rows, more than guards.max_delete_fraction 0.25 "
        f"allows ({confirm})"
    )
    assert place.refused(lambda: polled(project, stream), GuardTripped, 3) == message
    assert polled(project, stream, accept_deletes=True) == [{"d": 6}]
    place.sql("DELETE FROM orders WHERE id <= 12")
    again = message.replace("if this is right", "if this is right too, once more").replace(
        "deletes of 20", "deletes of 14"
    )
    first = again.replace("allows", "allows; nothing was refused before that could be accepted")
    assert place.refused(lambda: polled(project, stream, accept_deletes=True), GuardTripped, 3) == first
    place.sql("DELETE FROM orders WHERE id = 13")  # more than were seen when it was refused
    more = again.replace("6 deletes", "7 deletes").replace("allows", "allows; 6 deletes were refused before, 7 now")
    assert place.refused(lambda: polled(project, stream, accept_deletes=True), GuardTripped, 3) == more
    place.sql(restore)
    assert polled(project, stream) == [{"c": 6}]
