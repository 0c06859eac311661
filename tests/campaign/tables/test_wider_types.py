"""Each row of the table of types in docs/how-to/schema-changes.md: strategies, keys, all targets; drawn ALTERs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pytest
from _pytest.mark import ParameterSet

from qbcd.errors import SchemaChanged
from tests.support.drawn_alters import DrawnAlters
from tests.support.oracle import events
from tests.support.places import Place, kinds, over
from tests.support.project import config, opened, poll
from tests.support.table_targets import TargetPlace, new_target
from tests.support.widenings import IN_SOURCE, STRATEGIES, WIDER, Widening, WideStream, WideTable

pytestmark = pytest.mark.campaign
TARGETS = ("postgresql", "mariadb", "duckdb", "sqlite")
MODES: Mapping[str, dict[str, str]] = {"mirror": {}, "scd2": {"mode": "scd2"}, "log": {"mode": "log"}}
EVERY = [(kind, case) for kind in kinds() for case in WIDER["postgresql" if kind == "postgresql" else "mariadb"]]
OF_ROWS = ("mds", "id_rcs", "id", "tlcs_lake", "vbd", "ts_lake")
OF_KEYS = ("mds", "id_rcs", "id", "hash", "tlcs_lake")
SEEDS = range(20)


def in_turn(widenings: Sequence[tuple[str, Widening]], names: Sequence[str]) -> list[ParameterSet]:
    """Give each widening two strategies, the next ones in turn."""
    return [
        pytest.param(kind, case, name, id=f"{kind}-{case.label}-{name}")
        for i, (kind, case) in enumerate(widenings)
        for name in (names[2 * i % len(names)], names[(2 * i + 1) % len(names)])
    ]


@dataclass
class Targets:
    """A database of each kind, with a sink for each mode."""

    places: dict[str, TargetPlace]

    def sinks(self, *modes: str) -> dict[str, Any]:
        """Return the sinks; tables are named after mode and stream."""
        return {
            f"{kind}_{mode}": {"type": "database", "url": at.url, "table": f"{mode}_{{stream}}", **MODES[mode]}
            for kind, at in self.places.items()
            for mode in modes
        }

    def equal(self, mode: str) -> None:
        """Check that the tables of streams `s` and `again` are equal in rows."""
        for kind, at in self.places.items():
            one, other = (
                sorted(map(_text, at.sql(f"SELECT * FROM {at.quote(f'{mode}_{stream}')}"))) for stream in ("s", "again")
            )
            assert one == other, kind


def _text(row: tuple[Any, ...]) -> str:
    return str(tuple(bytes(value) if isinstance(value, memoryview) else value for value in row))


@contextmanager
def targets(request: pytest.FixtureRequest, folder: Path, *wanted: str) -> Iterator[Targets]:
    with ExitStack() as made:
        yield Targets({kind: made.enter_context(new_target(kind, request, folder)) for kind in wanted})


def engine(name: str) -> dict[str, Any]:
    return {} if name in IN_SOURCE else {"engine": "local"}


@pytest.mark.parametrize(("database", "case", "name"), in_turn(EVERY, OF_ROWS), indirect=["database"])
def test_each_row(
    case: Widening, name: str, place: Place, workspace: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    unsigned = case.now in ("bigint unsigned",)
    table = WideTable(place, [case])
    with targets(request, tmp_path, *(kind for kind in TARGETS if kind != "sqlite" or not unsigned)) as found:
        sinks = {**found.sinks(*MODES), "lake": {"type": "parquet", "path": "out/lake"}}
        with WideStream(table, workspace, STRATEGIES[name], sinks, **engine(name)) as seen:
            table.touch("2", "c0", case.held[0])
            assert len(seen.poll()) == 1
            table.widen()
            assert seen.poll() == []
            noted = any(one.startswith("wider type in the source: c0 from ") for one in seen.warnings)
            assert noted or name == "vbd"  # the result of a query may have a type without its length
            table.use()
            assert table.used(seen.poll())
            assert seen.verify() == []
            seen.prepare_again()
        found.equal("mirror")
        for kind, at in found.places.items():
            current = f"SELECT count(*) FROM {at.quote('scd2_s')} WHERE valid_to IS NULL"
            assert at.sql(current) == at.sql(f"SELECT count(*) FROM {at.quote('mirror_s')}"), kind
    with duckdb.connect() as duck:
        (rows,) = duck.execute(
            f"SELECT count(*) FROM read_parquet('{workspace}/out/lake/s/*/*/*.parquet', union_by_name = true)"
        ).fetchall()
    assert rows == (len(events(workspace / "out/changes", "s")),)


@pytest.mark.parametrize(
    ("database", "case", "name"), in_turn([one for one in EVERY if one[1].in_key], OF_KEYS), indirect=["database"]
)
def test_each_key(
    case: Widening, name: str, place: Place, workspace: Path, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    place.sql(f"CREATE TABLE t (id {case.then} NOT NULL PRIMARY KEY, v int, at int)")
    place.sql("; ".join(f"INSERT INTO t VALUES ({value}, 1, 0)" for value in case.held))
    table = WideTable.of(place)
    with targets(request, tmp_path, "postgresql", "mariadb", "duckdb") as found:
        with WideStream(table, workspace, STRATEGIES[name], found.sinks("mirror"), **engine(name)) as seen:
            table.retype("id", case.now)
            assert seen.poll() == []
            place.sql(f"INSERT INTO t VALUES ({case.beyond}, 2, 0)")
            place.sql("UPDATE t SET v = v + 1")
            assert sorted(e["op"] for e in seen.poll()) == ["c", *["u"] * len(case.held)]
            assert seen.verify() == []
            place.sql(f"DELETE FROM t WHERE id = {case.held[0]}")
            place.sql("UPDATE t SET v = v + 1")
            assert sorted(e["op"] for e in seen.poll()) == ["d", *["u"] * len(case.held)]
            assert (seen.verify(), seen.poll()) == ([], [])
            seen.prepare_again()
        found.equal("mirror")


@over("seed", SEEDS)
def test_drawn_alters(seed: int, place: Place, workspace: Path, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A poll after a drawn ALTER is refused, or every batch is delivered and the targets are equal to the source."""
    name = [one for one in STRATEGIES if not one.startswith("ts") and one not in ("digest", "remote", "tlcs", "vbd")][
        seed % 6
    ]
    kind = TARGETS[seed % 4]
    table = DrawnAlters(place, seed, skip=["bigint unsigned"])
    with targets(request, tmp_path, kind) as found:
        sinks = {"changes": {"type": "jsonl", "path": "out/changes"}, **found.sinks("mirror")}
        adds = {"new_columns": "add_with_values" if name not in ("tlcs_source", "tlcs_lake") else "ignore"}
        stream = {"name": "s", "table": place.table("t"), "strategy": STRATEGIES[name], **engine(name), **adds}
        streams = [stream]
        with opened(config(place.url, *streams, sinks=sinks), workspace) as project:
            project.stream("s").prepare()
            for _ in range(5):
                table.write()
                expected = table.alter()
                if table.random.random() < 0.7:
                    table.write()
                if expected == "refused":
                    with pytest.raises(SchemaChanged, match="now and was"):
                        poll(project, "s")
                    return
                poll(project, "s")
                assert list(project.stream("s").verify()) == []
        streams.append({**stream, "name": "again", "strategy": "mds", "engine": "local", "baseline": "events"})
        if adds["new_columns"] == "ignore":
            streams[-1]["exclude"] = [f"n{i + 1}" for i in range(table.added)]
        del streams[-1]["engine"]
        with opened(config(place.url, *streams, sinks=sinks), workspace) as project:
            project.stream("again").prepare()
        found.equal("mirror")
