"""`qbcd replay`: a log in files of every type, applied to a table once and in order; files that are refused."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from pyarrow import parquet

from qbcd.errors import ConfigError, QbcdError, Refused
from qbcd.model import ResentRows, Travel, TravelKind
from qbcd.replay.jsonl_log import JsonlFile
from qbcd.replay.replay import Replayed, replay
from qbcd.replay.target import ReplayTarget, target_of
from qbcd.sinks.table.options import TableOptions
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.table_batches import EPOCH, KEY, DrawnTable, MadeBatch, State, batch_of, pieces
from tests.support.table_targets import DuckPlace, TargetPlace, event_value, new_target

FORMATS = ("jsonl", "parquet")
CHOSEN = (("duckdb", "jsonl", 3), ("sqlite", "parquet", 3))
REST = [
    pytest.param(database, kind, seed, marks=pytest.mark.campaign)
    for database in ("sqlite", "duckdb", "postgresql", "mariadb", "mysql")
    for kind in FORMATS
    for seed in range(3, 20)
    if (database, kind, seed) not in CHOSEN and (database, kind) != ("sqlite", "jsonl")  # it has no 32-bit floats
]
Writer = Callable[[Path, MadeBatch], Path]


@pytest.fixture
def file(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target("sqlite", request, tmp_path) as place:
        yield place


def lines_of(batch: MadeBatch) -> list[str]:
    forms = dict(batch.header.columns)
    images = ("key", "before", "after")
    return [
        json.dumps(
            {
                name: {column: event_value(forms[column], one) for column, one in value.items()}
                if name in images and value is not None
                else value
                for name, value in event.items()
            }
        )
        for event in batch.made
    ]


def as_jsonl(folder: Path, batch: MadeBatch) -> Path:
    header = batch.header
    path = folder / header.folder / f"{header.epoch}-{header.seq:012d}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines_of(batch)))
    return path


def as_parquet(folder: Path, batch: MadeBatch) -> Path:
    header = batch.header
    path = folder / header.folder / f"epoch={header.epoch}" / f"batch_seq={header.seq}" / "part-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(batch.arrow().read_all(), path)
    (path.parent / "_SUCCESS").write_text(json.dumps({"events": len(batch.made)}))
    return path


WRITERS: dict[str, Writer] = {"jsonl": as_jsonl, "parquet": as_parquet}


def written(folder: Path, kind: str, batches: Sequence[MadeBatch]) -> list[Path]:
    return [WRITERS[kind](folder, batch) for batch in batches]


def drawn(count: int, seed: int = 3) -> tuple[list[MadeBatch], list[State]]:
    found = list(pieces(DrawnTable(seed), count))
    return [batch for batch, _ in found], [rows for _, rows in found]


def run(target: TargetPlace, *named: Path, mode: Any = "mirror", **options: Any) -> Replayed:
    where = ReplayTarget(DatabaseSink("x", target.url)._url, None, "public_orders")
    return replay(named, where, TableOptions(mode=mode), **options)


def create(target: TargetPlace, batch: MadeBatch) -> None:
    """Create the table with the types of a sink, so that JSON gets them."""
    from qbcd.sinks.table.layout import layout_of

    database = DatabaseSink("x", target.url).database
    columns = layout_of(TableOptions(), batch.header).columns
    with database.open("") as session, session.transaction(ddl=True):
        made = database.table("public_orders", [(one.name, one.travel) for one in columns])
        session.run_ddl(database.create(made, columns))


def plain(state: Mapping[Any, Sequence[Any]]) -> dict[Any, list[Any]]:
    """Return rows with whole numbers as text: those of 64 bits without sign are decimals in Parquet."""
    return {key: [str(v) if isinstance(v, int) else v for v in row] for key, row in state.items()}


@pytest.mark.parametrize(("database", "kind", "seed"), [*CHOSEN, *REST])
def test_the_table_equals_the_source_after_each_part_of_a_log(
    database: str, kind: str, seed: int, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The log comes in two parts, the second one with the first; what is there already is passed over."""
    batches, states = drawn(3, seed)
    with new_target(database, request, tmp_path) as target:
        if kind == "jsonl":
            create(target, batches[0])
        paths = written(tmp_path, kind, batches)
        assert run(target, *reversed(paths[:2])).batches == 2
        assert plain(target.state()) == plain(target.of(states[1]))
        again = run(target, tmp_path / "orders")
        assert (again.batches, again.present) == (1, 2)
        assert plain(target.state()) == plain(target.of(states[-1]))
        assert run(target, *paths[-1:]).batches == 0
        assert target.sql("SELECT epoch, batch_seq FROM qbcd_sink") == [(EPOCH, 3)]


def test_a_log_becomes_a_history_as_by_a_sink(file: TargetPlace, tmp_path: Path) -> None:
    batches, _ = drawn(4)
    run(file, *written(tmp_path, "parquet", batches), mode="scd2")
    sink = DatabaseSink("copy", file.url, mode="scd2", table="kept")
    for batch in batches:
        sink.write(batch)
    names = ("valid_from", "valid_to", "is_deleted", "batch_seq")
    assert sorted(map(repr, file.rows(names=names))) == sorted(map(repr, file.rows(names=names, table="kept")))


def relabelled(batch: MadeBatch, seq: int, label: str) -> MadeBatch:
    """Return a baseline as the rows of a replica after batch `seq`."""
    known = {name: getattr(batch.header, name) for name in type(batch.header).__dataclass_fields__}
    header = ResentRows(**{**known, "seq": seq}, label=label)
    made = [
        {**one, "event_id": f"{header.event_prefix}{n}", "source": {**one["source"], "batch_seq": seq}}
        for n, one in enumerate(batch.made)
    ]
    return MadeBatch(header, made)


def test_rows_of_a_replica_replace_the_table_and_need_nothing_before(file: TargetPlace, tmp_path: Path) -> None:
    """All rows stand for every batch before; a part of the rows replaces no others."""
    batches, _ = drawn(3)
    ((baseline, rows),) = pieces(DrawnTable(8, rows=5), 1)
    written(tmp_path, "parquet", [*batches, relabelled(baseline, 9, "resend-2")])
    assert run(file, tmp_path).batches == 4
    assert file.state() == file.of(rows)
    some = MadeBatch(replace(baseline.header, counts={"r": 2}), baseline.made[:2])
    written(tmp_path, "parquet", [relabelled(some, 9, "part-3")])
    assert run(file, tmp_path).batches == 1
    assert file.state() == file.of(rows)


def test_a_log_has_every_event_although_rows_of_a_replica_follow(file: TargetPlace, tmp_path: Path) -> None:
    batches, _ = drawn(4)
    resent = relabelled(batches[0], 3, "resend-2")
    paths = written(tmp_path, "parquet", [*batches, resent])
    with pytest.raises(Refused, match=r"/3.resend-2 follows batch .*/1: the batches between are missing"):
        run(file, paths[0], *paths[3:], mode="log")
    run(file, paths[0], mode="log")
    with pytest.raises(Refused, match=r"has batch .*/1, and the log begins with batch .*/3.resend-2"):
        run(file, *paths[3:], mode="log")
    run(file, tmp_path, mode="log")
    events = sum(len(batch.made) for batch in (*batches, resent))
    assert file.sql("SELECT count(*) FROM public_orders") == [(events,)]


def test_a_resend_of_no_rows_empties_the_table(file: TargetPlace, tmp_path: Path) -> None:
    """The table may have the batch before already."""
    paths = written(tmp_path, "jsonl", drawn(2)[0])
    resent = tmp_path / "orders.resend-1" / paths[1].name
    resent.parent.mkdir()
    resent.touch()
    assert run(file, *paths).batches == 2
    assert run(file, *paths, noted(resent, 0)).batches == 1
    assert file.state() == {}


def test_types_of_parquet_are_those_of_the_table(file: TargetPlace, tmp_path: Path) -> None:
    """They can get wider, and files of JSON lines can follow."""
    wide: dict[str, Travel] = {"small": Travel("int64"), "amount": Travel("decimal", 14, 3), "ratio": Travel("float64")}
    batches, states = drawn(3)
    forms = tuple((name, wide.get(name, travel)) for name, travel in batches[0].header.columns)
    second = MadeBatch(replace(batches[1].header, columns=forms), batches[1].made)
    run(file, *written(tmp_path, "parquet", [batches[0], second]), *written(tmp_path, "jsonl", batches[2:]))
    types = {name: kind.lower() for _, name, kind, *_ in file.sql("PRAGMA table_info(public_orders)")}
    plain = DatabaseSink("copy", f"{file.url}2", table="public_orders").database
    assert {types[name] for name in KEY} == {"integer", "text"}
    assert {name: types[name] for name in wide} == {name: plain.type_of(travel) for name, travel in wide.items()}
    assert len(file.state()) == len(states[-1])


def test_doubles_of_parquet_are_not_rounded(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    event = {"op": "r", "before": None, "key": {"k": 1}, "after": {"k": 1, "v": 0.1}}
    columns = [("k", Travel("int64")), ("v", Travel("float64"))]
    paths = written(tmp_path, "parquet", [batch_of([event], 1, columns=columns, key=("k",), table="q")])
    with new_target("postgresql", request, tmp_path) as target:
        target.sql("CREATE TABLE q (k bigint PRIMARY KEY, v real)")
        where = ReplayTarget(DatabaseSink("x", target.url)._url, None, "q")
        with pytest.raises(QbcdError, match=r"column v .* has type real, and the stream needs double"):
            replay(paths, where, TableOptions())
        assert target.sql("SELECT * FROM q") == []


def test_names_are_those_of_the_log_and_of_the_command(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """Columns that differ only in case have their own types; a table's name begins with an underscore."""
    rows = [{"k": n, "v": date(2024, 1, n), "V": n} for n in (1, 2)]
    forms = {"columns": [(name, Travel("date" if name == "v" else "int64")) for name in rows[0]], "table": "q"}
    events = [
        {"op": op, "before": None, "key": {"k": row["k"]}, "after": row} for op, row in zip("rc", rows, strict=True)
    ]
    paths = written(tmp_path, "jsonl", [batch_of([one], seq, **forms) for seq, one in enumerate(events, 1)])
    with new_target("postgresql", request, tmp_path) as target:
        target.sql('CREATE TABLE _q (k bigint PRIMARY KEY, v date, "V" bigint)')
        where = ReplayTarget(DatabaseSink("x", target.url)._url, None, "_q")
        assert [replay(named, where, TableOptions()).batches for named in (paths[:1], paths)] == [1, 1]
        assert target.sql('SELECT k, v, "V" FROM _q ORDER BY k') == [tuple(one.values()) for one in rows]


def test_a_source_without_rows_has_none_to_change(file: TargetPlace, tmp_path: Path) -> None:
    paths = written(tmp_path, "parquet", drawn(4)[0])
    with pytest.raises(Refused, match="no baseline: the rows that it changes from before"):
        run(file, *paths[1:], from_empty=True)


HOLD = {"on": {"n": "n"}, "take": ["name"], "missing": "hold"}


@pytest.fixture
def held(place: Place, workspace: Path) -> Path:
    """The folders `jsonl` and `parquet` of a stream whose events wait for rows of `dim`; `t` has its rows."""
    place.sql("CREATE TABLE t (k int PRIMARY KEY, n int)")
    place.sql("CREATE TABLE dim (n int PRIMARY KEY, name text)")
    place.sql("INSERT INTO dim VALUES (1, 'one')")
    place.sql("INSERT INTO t VALUES (1, 1), (2, 1), (3, 9), (4, 1)")
    data = config(
        place.url,
        {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events", "enrich": ["d"]},
        lookups={"d": {"source": "shop", "table": place.table("dim"), **HOLD}},
        sinks={kind: {"type": kind, "path": kind} for kind in FORMATS},
    )
    with opened(data, workspace) as project:
        project.prepare()
        for statement in (
            "UPDATE t SET n = 2 WHERE k = 1",  # all events of the batch wait
            "UPDATE t SET n = CASE k WHEN 4 THEN 1 ELSE 2 END, k = k + 10 WHERE k IN (2, 4)",
            "INSERT INTO dim VALUES (2, 'two'), (9, 'nine')",
            "DELETE FROM t WHERE k = 3",
        ):
            place.sql(statement)
            poll(project)
    return workspace


@pytest.mark.campaign
def test_events_that_waited_are_in_later_batches(held: Path, place: Place, tmp_path: Path) -> None:
    for kind in FORMATS:
        target = DuckPlace(f"duckdb:///{tmp_path}/{kind}.duckdb")
        found = run(target, held / kind)
        assert sorted(target.sql("SELECT k, n FROM public_orders")) == sorted(place.sql("SELECT k, n FROM t"))
        assert (found.batches, found.events) == (7, 10)
        assert run(target, held / kind).present == 7
        log = DuckPlace(f"duckdb:///{tmp_path}/{kind}_log.duckdb")
        assert run(log, held / kind, mode="log").events == 10
        names = "SELECT DISTINCT qbcd_lookup FROM public_orders ORDER BY 1"
        assert log.sql(names) == [(f'{{"d":{{"name":"{name}"}}}}',) for name in ("nine", "one", "two")]


def noted(path: Path, events: int) -> Path:
    path.with_name(f".{path.name}.fingerprint").write_text(json.dumps({"events": events}))
    return path


def test_only_its_sink_knows_that_a_batch_has_no_more_events(file: TargetPlace, tmp_path: Path) -> None:
    """Ordinals are missing where events wait for a row of a lookup; of a batch of them all, the file is empty."""
    batches, _ = drawn(4)
    for batch in batches:
        batch.made = [{**event, "lookup": {"d": {"name": "Zoë"}}} for event in batch.made]
    batches[2].made = batches[2].made[:1] + batches[2].made[2:]
    paths = written(tmp_path, "jsonl", batches)
    paths[1].write_bytes(b"")
    with pytest.raises(Refused, match="the file is empty"):
        run(file, *paths, mode="log")
    noted(paths[1], 0)
    with pytest.raises(Refused, match=r"3\.jsonl:2: event 2 of batch .* follows event 0: events are missing"):
        run(file, *paths, mode="log")
    noted(paths[2], len(batches[2].made) + 1)
    with pytest.raises(Refused, match="are there, and its sink wrote"):
        run(file, *paths, mode="log")
    noted(paths[2], len(batches[2].made))
    assert run(file, *paths[:2], mode="log").batches == 2
    found = run(file, *paths, mode="log")
    assert (found.batches, found.present) == (2, 2)
    events = sum(len(batches[i].made) for i in (0, 2, 3))
    count = "SELECT qbcd_lookup, count(*) FROM public_orders GROUP BY 1"
    assert file.sql(count) == [('{"d":{"name":"Zoë"}}', events)]


def cut(paths: list[Path], place: int, data: bytes) -> list[Path]:
    """Write other content into one of the files; return all."""
    paths[place].write_bytes(data)
    return paths


def without_a_line(paths: list[Path]) -> list[Path]:
    lines = paths[0].read_bytes().split(b"\n")
    return cut(paths, 0, b"\n".join([*lines[:3], *lines[4:]]))


def with_a_copy(paths: list[Path]) -> list[Path]:
    copy = paths[0].with_name("copy.jsonl")
    copy.write_bytes(paths[0].read_bytes())
    return [*paths, copy]


def rolled(paths: list[Path], rest: int) -> list[Path]:
    """Return a file with the first batches, whose sink wrote all of them into it."""
    sizes = [len(path.read_bytes().splitlines()) for path in paths]
    paths[-1].write_bytes(b"".join(path.read_bytes() for path in paths[:rest]))
    note = {"events": sum(sizes), "batches": [[seq, "x", events] for seq, events in enumerate(sizes, 1)]}
    paths[-1].with_name(f".{paths[-1].name}.fingerprint").write_text(json.dumps(note))
    return paths[-1:]


def emptied(paths: list[Path], name: str) -> list[Path]:
    """Return the folder of the log after a file is removed."""
    (paths[-1].parent / name).unlink()
    return [paths[0].parents[2]]


def of_another_stream(paths: list[Path]) -> list[Path]:
    """Return files without the second batch, and a second batch of another stream, which has no events."""
    other = paths[1].parents[1] / "other" / paths[1].name
    other.parent.mkdir()
    other.touch()
    return [noted(other, 0), paths[0], *paths[2:]]


def with_a_field(paths: list[Path], name: str, value: Any) -> list[Path]:
    first, rest = paths[0].read_text().split("\n", 1)
    return cut(paths, 0, f"{json.dumps({**json.loads(first), name: value})}\n{rest}".encode())


LINE = b'{"op":"c"}\n'
BROKEN: dict[str, tuple[str, Callable[[list[Path]], list[Path]], str]] = {
    "a line that is cut off": ("jsonl", lambda p: cut(p, 2, p[2].read_bytes()[:-9]), r"jsonl:\d+: .*cut off"),
    "no JSON": ("jsonl", lambda p: cut(p, 1, b"PK\3\n"), r"2\.jsonl:1: .*not JSON"),
    "another JSON": ("jsonl", lambda p: cut(p, 1, p[1].read_bytes() + LINE), r"2\.jsonl:\d+: .*fields are"),
    "an event that is missing": ("jsonl", without_a_line, r"1\.jsonl:4: event 4 of batch .* follows event 2"),
    "no whole Parquet file": ("parquet", lambda p: cut(p, 1, p[1].read_bytes()[:-9]), r"parquet: .*no complete"),
    "a batch that is missing": ("parquet", lambda p: p[:2] + p[3:], "the batches between are missing"),
    "no baseline": ("jsonl", lambda p: p[1:], "begins with batch .*/2, which is no baseline"),
    "the same file twice": ("jsonl", with_a_copy, "event 0 of batch .* follows event 11"),
    "the last batch of a rolled file": ("jsonl", lambda p: rolled(p, 3), r"4\.jsonl: 0 events of batch .*/4 are there"),
    "a folder without its file": ("parquet", lambda p: emptied(p, p[-1].name), "0 events of batch .*/4 are there"),
    "a folder that is not complete": ("parquet", lambda p: emptied(p, "_SUCCESS"), r"batch_seq=4: .* no _SUCCESS"),
    "a number of another stream": ("jsonl", of_another_stream, "the batches between are missing"),
    "a key of another type": ("jsonl", lambda p: with_a_field(p, "key", ["id"]), r"1\.jsonl:1: .* do not match"),
    "a time of another type": ("jsonl", lambda p: with_a_field(p, "ts_ms", None), r"1\.jsonl:1: .* do not match"),
    "another kind of file": ("jsonl", lambda p: [p[0].parent.parent / "x.csv"], "x.csv does not exist"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_log_that_is_not_whole_is_refused_before_anything_is_applied(
    name: str, file: TargetPlace, tmp_path: Path
) -> None:
    kind, breaks, what = BROKEN[name]
    named = breaks(written(tmp_path, kind, drawn(4)[0]))
    with pytest.raises(QbcdError, match=what) as error:
        run(file, *named)
    assert isinstance(error.value, (Refused, ConfigError))
    assert file.sql("SELECT count(*) FROM sqlite_master WHERE name = 'public_orders'") == [(0,)]


def test_fewer_events_than_its_sink_noted_are_refused(file: TargetPlace, tmp_path: Path) -> None:
    """The file ends with a whole line, so only the note next to it shows that events are missing."""
    (path,) = written(tmp_path, "jsonl", drawn(1)[0])
    path.with_name(f".{path.name}.fingerprint").write_text('{"events": 12}')
    run(file, path)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(Refused, match=r"11 events of batch .* are there, and its sink wrote 12"):
        run(file, path)


def test_another_log_is_refused(file: TargetPlace, tmp_path: Path) -> None:
    first, second = drawn(2)[0], drawn(2, seed=7)[0]
    other = [MadeBatch(replace(one.header, ts_ms=5), [{**e, "ts_ms": 5} for e in one.made]) for one in second]
    run(file, *written(tmp_path / "one", "parquet", first))
    with pytest.raises(Refused, match=r"the table has another batch .*/2"):
        run(file, *written(tmp_path / "two", "parquet", other))


def test_a_value_that_does_not_fit_is_named_by_its_line(file: TargetPlace, tmp_path: Path) -> None:
    target = target_of("duckdb:///typed.duckdb#public_orders", tmp_path)
    database = DatabaseSink("x", target.url).database
    with database.open("") as session, session.transaction(ddl=True):
        session.run_ddl('CREATE TABLE public_orders (id bigint, part text, "Note %s" date, PRIMARY KEY (id, part))')
    (path,) = written(tmp_path, "jsonl", drawn(1)[0])
    with pytest.raises(Refused, match=r"jsonl:\d+: the value of column Note %s is not of type date32"):
        replay([path], target, TableOptions())


@pytest.mark.parametrize(
    ("value", "kind", "made"),
    [
        (2**53, "float64", float(2**53)),
        (2**53 + 1, "float64", None),
        (3.4028235e38, "float32", 3.4028234663852886e38),  # as its sink writes the largest one
        (0.12345678912, "float32", None),
        (1e300, "float32", None),
    ],
)
def test_a_float_has_no_other_value_than_the_event(value: float, kind: TravelKind, made: Any, tmp_path: Path) -> None:
    batch = batch_of([{"op": "r", "before": None, "key": {"k": 1}, "after": {"k": 1, "v": value}}], 1)
    header = replace(batch.header, key=("k",), columns=(("k", Travel("int64")), ("v", Travel(kind))))
    path = tmp_path / "1.jsonl"
    path.write_text(json.dumps(batch.made[0]) + "\n")
    if made is not None:
        (piece,) = JsonlFile(path).events(header, 0, 1)
        assert piece.column("after").to_pylist() == [{"k": 1, "v": made}]
        return
    with pytest.raises(Refused, match="the value of column v is not of type"):
        list(JsonlFile(path).events(header, 0, 1))


@pytest.mark.parametrize(
    ("to", "what"),
    [
        ("postgresql://u:secret@db/x#t", "--to has a password"),
        ("postgresql://u@db/x?password=secret#t", "a password is not allowed in the query part"),
        ("postgresql://u:${env:QBCD_NOT_SET}@db/x#t", "QBCD_NOT_SET is not set"),
        ("postgresql://u@db/x", "--to names no table"),
        ("sqlite://#t", "cannot be in memory"),
        ("secret#t", "not a database URL"),
    ],
)
def test_a_target_that_is_not_clear_is_refused(to: str, what: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=what) as error:
        target_of(to, tmp_path)
    assert "secret" not in str(error.value)


def test_the_password_of_a_target_comes_from_its_file(tmp_path: Path) -> None:
    (tmp_path / "pw").write_text("a#b/c@d\n")
    found = target_of("postgresql://u:${file:pw}@db:5432/x#sales.or%20ders", tmp_path)
    assert (found.url.password, found.schema, found.table) == ("a#b/c@d", "sales", "or ders")
