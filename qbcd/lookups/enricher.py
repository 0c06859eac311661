"""The enricher of lookups: field `lookup`, the partner of each event by lookup."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.config.lookups import Overload
from qbcd.enrichment import BatchToEnrich, Enricher
from qbcd.errors import Refused
from qbcd.event_sql.base import of_key
from qbcd.event_sql.duckdb import object_of, shortest
from qbcd.local.arrow import pieces_of
from qbcd.local.errors import explained_errors
from qbcd.local.query import duckdb_sql
from qbcd.lookups.notes import FOLDER, Notes
from qbcd.lookups.relation import KeyForm, LookupRelation
from qbcd.lookups.search import Search, SearchReport
from qbcd.lookups.shared import SharedSearches, WaitingSearch
from qbcd.meshjoin import ClusterSample, KeepFirst, KeepTop, SampleWindow, Shedding
from qbcd.model import Travel
from qbcd.model.wire import json_text
from qbcd.sql.render import literal
from qbcd.state import ProjectState
from qbcd.state.allocated import allocate_keys, allocated_keys

if TYPE_CHECKING:
    import pyarrow as pa

    from qbcd.local.database import LocalDatabase

FIELD = "lookup"
_ROWS = 16_384  # of a piece


@dataclass(frozen=True)
class LookupOrigin:
    """Everything that lookups need from the project.

    Attributes:
        stream: Names sessions in the monitoring of sources, and the stream in errors.
        resolve: Resolves each lookup against its catalog, in the order of `enrich`.
        workdir: The project's workdir.
        shared: The searches that run now; None to search alone.
    """

    stream: str
    resolve: Callable[[], Sequence[LookupRelation]]
    state: ProjectState
    workdir: Path
    progress: Callable[[str], None] = lambda what: None
    shared: SharedSearches | None = None

    def notes(self, relation: LookupRelation) -> Notes:
        """Return the notes of a lookup."""
        return Notes.read(self.workdir / FOLDER / self.state.project_id / f"{relation.name}.json")


@dataclass(frozen=True)
class IncomingRows:
    """Rows to look up, in a local database.

    Attributes:
        sql: SELECT of the rows, with `ordinal`.
        travels: The columns of the events, by name.
        value: Returns the SQL of a column's value.
    """

    database: LocalDatabase
    sql: str
    travels: Mapping[str, Travel]
    value: Callable[[str], str]


class LookupEnricher(Enricher):
    """Adds field `lookup` to the events of one stream."""

    field = FIELD
    travel = Travel("text")

    def __init__(self, origin: LookupOrigin, *, holds: bool = False) -> None:
        self._origin, self.holds = origin, holds
        self._relations: Sequence[LookupRelation] = ()

    @override
    def begin(self) -> None:
        self._relations = self._origin.resolve()

    @override
    def findings(self, columns: Mapping[str, Travel]) -> Iterator[tuple[str, str]]:
        for relation in self._origin.resolve():
            relation.forms(columns)
            yield f"lookup {relation.name}", relation.describe(self._origin.notes(relation))

    @override
    def estimates(self) -> list[str]:
        return [text for one in self._origin.resolve() if (text := self._origin.notes(one).estimate(one.name))]

    @override
    def values(self, batch: BatchToEnrich) -> Iterator[pa.Array]:
        places = {name: i for i, (name, _) in enumerate(batch.header.columns)}
        rows = IncomingRows(
            batch.rows.database, batch.rows.query.sql, dict(batch.header.columns), lambda name: of_key(places[name])
        )
        yield from LookupJoin(self._origin, self._relations).objects(rows)


class LookupJoin:
    """Joins rows with the relations of some lookups."""

    def __init__(self, origin: LookupOrigin, relations: Sequence[LookupRelation]) -> None:
        self._origin, self._relations = origin, relations

    def objects(self, rows: IncomingRows) -> Iterator[pa.Array]:
        """Yield the JSON text of each row's partners by lookup, in the order of ordinals, in pieces.

        It is NULL for a row that has to wait for a partner.
        """
        database = rows.database
        events = database.new_name()
        forms = [relation.forms(rows.travels) for relation in self._relations]
        columns = ["ordinal"]
        for n, (relation, of_relation) in enumerate(zip(self._relations, forms, strict=True)):
            named = zip(relation.config.on, of_relation, strict=True)
            columns += [f"{form.of(rows.value(name))} AS l{n}_k{i}" for i, (name, form) in enumerate(named)]
        self._execute(database, f"CREATE TABLE {events} AS SELECT {', '.join(columns)} FROM ({rows.sql})")
        self._late: dict[int, str] = {}  # by lookup, the keys that are not searched now
        found = [self._found(database, events, n, of_relation) for n, of_relation in enumerate(forms)]
        yield from self._objects(database, events, found)

    def _found(self, database: LocalDatabase, events: str, n: int, forms: Sequence[KeyForm]) -> str:
        """Return the table of the JSON texts of a lookup, by the columns of its key."""
        relation = self._relations[n]
        search = Search(relation, forms, self._origin.notes(relation), database, self._origin.stream)
        search.progress = self._origin.progress
        keys = [f"l{n}_k{i}" for i in range(len(forms))]
        known = " AND ".join(f"{key} IS NOT NULL" for key in keys)
        self._execute(
            database,
            f"INSERT INTO {search.keys} SELECT row_number() OVER () - 1, * FROM (SELECT DISTINCT {', '.join(keys)} "
            f"FROM {events} WHERE {known} ORDER BY {', '.join(keys)})",
        )
        shed = self._shed(database, events, n, search)
        report = self._searched(search, relation, forms)
        if shed is not None:
            self._origin.notes(relation).note_sample(shed if relation.config.overload == "sample" else (), report.found)
        fields = [
            (column.name, column.travel, shortest(f"t{i}") if column.travel.kind == "float32" else f"t{i}")
            for i, column in enumerate(relation.take)
        ]
        found = database.new_name()
        ks = ", ".join(f"k.k{i} AS k{i}" for i in range(len(forms)))
        self._execute(
            database,
            f"CREATE TABLE {found} AS SELECT {ks}, {duckdb_sql(object_of(fields))} AS object "
            f"FROM {search.partners} JOIN {search.keys} AS k USING (id)"
            + (" WHERE t0 IS NOT NULL" if relation.config.missing == "allocate" else ""),
        )
        if relation.config.missing == "allocate":
            self._allocate(database, relation, search, found)
        self._origin.progress(_described(relation, report))
        return found

    def _shed(self, database: LocalDatabase, events: str, n: int, search: Search) -> tuple[int, int] | None:
        """Let events wait if their keys do not fit into the memory.

        Return the numbers of all keys and of those that are kept; None if they fit.
        """
        relation = self._relations[n]
        [(count,)] = self._execute(database, f"SELECT count(*) FROM {search.keys}")
        if relation.config.overload is None or count <= search.capacity:
            return None
        same = " AND ".join(f"k.k{i} = e.l{n}_k{i}" for i in range(len(relation.match)))
        by_key = self._execute(
            database,
            f"SELECT id, count(*) FROM {search.keys} AS k JOIN {events} AS e ON {same} GROUP BY id "
            "ORDER BY min(ordinal)",
        )
        kept, _ = _policy(relation.config.overload, search.capacity).split(by_key)
        self._late[n] = search.keep([one for one, _ in kept])
        return count, len(kept)

    def _searched(self, search: Search, relation: LookupRelation, forms: Sequence[KeyForm]) -> SearchReport:
        """Search, together with other streams that wait for the same relation."""
        if self._origin.shared is None:
            return search.run()
        reports: list[SearchReport] = []
        mine = WaitingSearch(search.key_texts)

        def work(group: Sequence[WaitingSearch]) -> None:
            reports.append(search.run_with([one for one in group if one is not mine]))

        same = (relation.name, relation.config.model_dump_json(), tuple(forms))
        by_another = self._origin.shared.join(same, mine, work)
        return search.take(mine) if by_another else reports[-1]

    def _allocate(self, database: LocalDatabase, relation: LookupRelation, search: Search, found: str) -> None:
        """Add the allocated keys to the table `found`.

        Raises:
            Refused: The relation has another surrogate key for a key than the one that was allocated.
        """
        state, name = self._origin.state, relation.name
        ks = ", ".join(f"k{i}" for i in range(len(relation.match)))
        joined = f"{search.keys} LEFT JOIN {search.partners} USING (id)"
        rows = self._execute(database, f"SELECT id, t0, {ks} FROM {joined} ORDER BY id")
        names = [column.name for column in relation.match]
        texts = {_canonical(dict(zip(names, row[2:], strict=True))): row for row in rows}
        known = allocated_keys(state, relation.numbered, list(texts))
        for text, number in known.items():
            stored = texts[text][1]
            if stored is not None and int(stored) != number:
                raise Refused(
                    f"lookup {name}: key {text} has surrogate key {stored} in {relation.label}, and {number} was "
                    "allocated and delivered",
                    stream=self._origin.stream,
                    remedy=f"store {number} in {relation.label}; the next poll tries again",
                )
        missing = [text for text, row in texts.items() if row[1] is None]
        new = [text for text in missing if text not in known]
        if new:
            known |= allocate_keys(state, relation.numbered, new, self._next(relation), relation.last_number)
        begin = literal(f"{{{json_text(relation.take[0].name)}:")
        self._execute(
            database,
            f"INSERT INTO {found} SELECT {ks}, {begin} || CAST(number AS VARCHAR) || '}}' "
            f"FROM (SELECT unnest(?) AS id, unnest(?) AS number) JOIN {search.keys} USING (id)",
            [[texts[text][0] for text in missing], [known[text] for text in missing]],
        )

    def _next(self, relation: LookupRelation) -> int:
        """Return the least number that may be allocated: larger than all in the relation."""
        first = relation.config.allocate_from or 0
        with relation.source.read(self._origin.stream) as session:
            largest = session.one(relation.largest(first))[0]
        return first if largest is None else int(largest) + 1

    def _objects(self, database: LocalDatabase, events: str, found: Sequence[str]) -> Iterator[pa.Array]:
        parts, joins = [], []
        for n, (relation, table) in enumerate(zip(self._relations, found, strict=True)):
            parts += [literal(f"{',' if n else '{'}{json_text(relation.name)}:"), f"coalesce(f{n}.object, 'null')"]
            equal = " AND ".join(f"e.l{n}_k{i} = f{n}.k{i}" for i in range(len(relation.match)))
            joins.append(f"LEFT JOIN {table} AS f{n} ON {equal}")
        for n, table in self._late.items():
            equal = " AND ".join(f"e.l{n}_k{i} = w{n}.k{i}" for i in range(len(self._relations[n].match)))
            joins.append(f"LEFT JOIN {table} AS w{n} ON {equal}")
        late = [
            f"f{n}.object IS NULL AND " + " AND ".join(f"e.l{n}_k{i} IS NOT NULL" for i in range(len(relation.match)))
            for n, relation in enumerate(self._relations)
            if relation.config.missing == "hold"
        ] + [f"w{n}.k0 IS NOT NULL" for n in self._late]
        value = f"concat({', '.join(parts)}, '}}')"
        if late:  # a key with NULL never has a partner, so its event does not wait
            value = f"CASE WHEN NOT coalesce(({') OR ('.join(late)}), FALSE) THEN {value} END"
        sql = f"SELECT {value} AS value FROM {events} AS e {' '.join(joins)} ORDER BY e.ordinal"
        with explained_errors(self._origin.stream):
            for piece in pieces_of(database, sql, _ROWS):
                yield piece.column(0)

    def _execute(self, database: LocalDatabase, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with explained_errors(self._origin.stream):
            return database.connection.execute(sql, list(values)).fetchall()


def _policy(overload: Overload, size: int) -> Shedding[tuple[int, int]]:
    """Return the policy that keeps `size` keys, each with the number of its events."""
    drawn = random.Random()
    if overload == "first":
        return KeepFirst(size)
    if overload == "sample":
        return SampleWindow(size, drawn)
    if overload == "top":
        return KeepTop(size, lambda key: key[1])
    return ClusterSample(size, lambda key: key[1], drawn)


def _canonical(key: Mapping[str, Any]) -> str:
    """Return a key as JSON, by column; equal numbers have one text, whatever their scale."""
    return json.dumps({name: _plain(key[name]) for name in sorted(key)}, ensure_ascii=False)


def _plain(value: Any) -> str:
    if not isinstance(value, Decimal):
        return str(value)
    text = format(value, "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def _described(relation: LookupRelation, report: SearchReport) -> str:
    return (
        f"lookup {relation.name}: {counted(report.keys, 'key')}, {report.found:,} found by {report.method}, "
        f"{counted(report.statements, 'statement')}, {counted(report.rows, 'row')} read"
    )
