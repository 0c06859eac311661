"""Matching of thousands of subscriptions against events, by one join per condition shape."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import duckdb
import pyarrow as pa

from qbcd.local.query import duckdb_sql
from qbcd.sql.render import render
from qbcd.subscriptions.condition import Anchor, Columns, Shape, divided, kind_of_literal, shape_of
from qbcd.subscriptions.definition import NEEDS_OLD, OPS, WHENS, ConditionRefused, Subscription
from qbcd.subscriptions.few_events import FewEvents, ShapeIndex, TooMany, is_supported
from qbcd.subscriptions.hull import Extent, parts_of

SHAPES_PER_QUERY = 64
MOST_VALUES = 20  # that the hull names
MOST_SHAPES = 1_000
MOST_KEPT = 10_000  # reasons of refused shapes
EVERY_ROW = "TRUE"
MATCHES = pa.schema([("position", pa.int64()), ("id", pa.string())])
FEW = 32  # events that are matched in Python
WORTH = 20  # calls with few events, without another subscription in between, for which that is prepared


@dataclass
class _Relation:
    """Constants of the subscriptions of one shape.

    Attributes:
        name: Of the table in the local database: `number`, the literals ``p0..``, and `anchor`.
        seen: By an element of a set, the subscriptions that are anchored at it.
    """

    name: str
    shape: Shape
    size: int = 0  # live subscriptions
    seen: Counter[str] = field(default_factory=Counter)


class Matcher:
    """Subscriptions of one stream, matched against its typed events in this process.

    The work for a batch is a join for each shape, whatever the number of subscriptions. Equality is that of the values
    as delivered; columns with another equality in the source are refused in conditions.

    Args:
        events: The schema of the events, as that of `Batch.arrow()`.
        folded: Text columns whose source has an equality of its own, such as one that ignores case.
        old_values: The events of updates and deletes have the old row.
        allowed: The columns that subscriptions may use; default: all.
        shapes: Most conditions that differ in more than literals; each costs every batch.
    """

    def __init__(
        self,
        events: pa.Schema,
        *,
        folded: Iterable[str] = (),
        old_values: bool = True,
        allowed: Iterable[str] | None = None,
        shapes: int = MOST_SHAPES,
    ) -> None:
        self._most_shapes = shapes
        image = events.field("after").type
        fields = [image.field(i) for i in range(image.num_fields)]
        digits = {one.name: _digits(one.type) for one in fields if _kind(one.type) == "number"}
        kinds = {one.name: _kind(one.type) for one in fields}
        barred = frozenset[str]() if allowed is None else frozenset(kinds) - frozenset(allowed)
        self._columns = Columns(kinds, frozenset(folded), digits, barred)
        self._old_values, self._image = old_values, image
        self._database = duckdb.connect(":memory:")
        self._database.execute("LOAD icu")
        self._database.execute("SET TimeZone = 'UTC'")  # of literals without a zone
        self._database.execute(
            "CREATE TABLE subscription "
            "(number BIGINT, id VARCHAR, moment VARCHAR, ops VARCHAR, columns VARCHAR[], any_column BOOLEAN)"
        )
        self._relations: dict[tuple[str, tuple[str, ...]], _Relation | ConditionRefused] = {}
        self._numbers: dict[str, int] = {}
        self._homes: dict[str, _Relation] = {}
        self._last = self._made = 0
        self._ones: dict[int, Subscription] = {}
        self._few: FewEvents | None = None
        self._calls = 0  # with few events

    def __len__(self) -> int:
        return len(self._numbers)

    def __enter__(self) -> Matcher:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the memory."""
        self._database.close()

    @property
    def shapes(self) -> dict[str, int]:
        """Conditions without literals, with their numbers of subscriptions, most frequent first."""
        counted: Counter[str] = Counter()
        for home in self._homes.values():
            counted[home.shape.text] += 1
        return dict(counted.most_common())

    @property
    def used_columns(self) -> set[str]:
        """The columns of all conditions."""
        return {name for home in self._homes.values() for name in home.shape.columns}

    @property
    def hull(self) -> str:
        """A condition that each row with a match meets, over one column; empty if none was found."""
        homes = list({id(home): home for home in self._homes.values()}.values())
        anchors = [home.shape.anchor for home in homes]
        places = {anchor.column for anchor in anchors if anchor is not None and not anchor.element}
        if len(places) != 1 or any(anchor is None or anchor.element for anchor in anchors):
            return ""
        union = " UNION ".join(f"SELECT CAST(anchor AS VARCHAR) AS value FROM {home.name}" for home in homes)
        found = self._database.execute(f"SELECT DISTINCT value FROM ({union}) ORDER BY value").fetchall()
        name = list(self._columns.kinds)[places.pop()]
        if len(found) > MOST_VALUES:
            return f"{name} has one of {len(found):,} values"
        plain = self._columns.kinds[name] == "number"
        values = [str(value) if plain else "'" + str(value).replace("'", "''") + "'" for (value,) in found]
        return f"{name} IN ({', '.join(values)})"

    def parts(self, one: Subscription) -> dict[str, Extent]:
        """Return the columns that bound the rows of a subscription, with their values.

        Empty for a subscription that is refused.
        """
        try:
            home, _, literals = self._read(one)
        except ConditionRefused:
            return {}
        return parts_of(one, home.shape.bounds, literals)

    def add(self, subscriptions: Iterable[Subscription]) -> dict[str, str]:
        """Add subscriptions; one of the same id is replaced.

        Returns:
            By id, why a subscription was refused. It has no matches, also no longer those of its earlier definition.
        """
        refused: dict[str, str] = {}
        added: dict[str, tuple[_Relation, Subscription, tuple[str, ...]]] = {}
        for one in subscriptions:
            try:
                added[one.id] = self._read(one)
                refused.pop(one.id, None)
            except ConditionRefused as error:
                refused[one.id] = str(error)
                added.pop(one.id, None)
        self._remove([*added, *refused])
        self._few, self._calls = None, 0
        for home in {id(home): home for home, _, _ in added.values()}.values():
            mine = [(one, literals) for its, one, literals in added.values() if its is home]
            refused |= self._insert(home, mine)
        self._drop_unused()
        return refused

    def _drop_unused(self) -> None:
        """Forget shapes without a subscription."""
        for key, home in list(self._relations.items()):
            if isinstance(home, _Relation) and not home.size:
                del self._relations[key]
                self._database.execute(f"DROP TABLE {home.name}")

    def remove(self, ids: Iterable[str]) -> None:
        """Remove subscriptions; unknown ids are ignored."""
        self._remove(ids)
        self._drop_unused()

    def _remove(self, ids: Iterable[str]) -> None:
        homes: dict[str, list[int]] = {}
        for each in ids:
            home = self._homes.pop(each, None)
            if home is not None:
                home.size -= 1
                number = self._numbers.pop(each)
                homes.setdefault(home.name, []).append(number)
                del self._ones[number]
                self._few, self._calls = None, 0
        for name, numbers in homes.items():
            with _registered(self._database, "removed", pa.table({"number": pa.array(numbers, pa.int64())})):
                for table in (name, "subscription"):
                    self._database.execute(f"DELETE FROM {table} WHERE number IN (SELECT number FROM removed)")

    def match(self, events: pa.RecordBatch | pa.Table) -> pa.Table:
        """Return the matches: `position` of the event, from 0, and subscription `id`, in that order."""
        table = events if isinstance(events, pa.Table) else pa.Table.from_batches([events])
        if table.num_rows <= FEW and (few := self._few_events()) is not None:
            try:
                pairs = few.matches(*(table.column(name) for name in ("op", "before", "after", "changed")))
            except (TooMany, OverflowError, RecursionError):  # such as a date that Python does not have
                pass
            else:
                positions = pa.array([position for position, _ in pairs], pa.int64())
                ids = pa.array([one for _, one in pairs], pa.string())
                return pa.Table.from_arrays([positions, ids], schema=MATCHES)
        found = [MATCHES.empty_table()]
        homes = list({id(home): home for home in self._homes.values()}.values())
        if homes and table.num_rows:
            with self._loaded(table) as images:
                # Deletes without old values have no rows that a condition could meet.
                for start in range(0, len(homes) if images else 0, SHAPES_PER_QUERY):
                    some = homes[start : start + SHAPES_PER_QUERY]
                    parts = [_part(home, image) for home in some for image in images]
                    rows: Any = self._database.sql(duckdb_sql(render("subscription_matches", parts=parts)))
                    found.append(_arrow(rows))
        matches = pa.concat_tables([piece.cast(found[0].schema) for piece in found])
        return matches.sort_by([("position", "ascending"), ("id", "ascending")]) if len(found) > 2 else matches

    def _few_events(self) -> FewEvents | None:
        """Return the index for few events, once it is worth its preparation."""
        self._calls += 1
        if self._few is None and self._calls == WORTH:
            homes = {id(home): home for home in self._homes.values()}.values()
            if all(is_supported(home.shape, self._columns, home.size) for home in homes):
                used = frozenset(self._columns.place(name) for name in self.used_columns)
                with suppress(OverflowError, RecursionError):
                    self._few = FewEvents([self._indexed(home) for home in homes], self._ones, used)
        return self._few

    def _indexed(self, home: _Relation) -> ShapeIndex:
        names = ["number", *(f"p{i}" for i in range(len(home.shape.kinds)))]
        rows = _python_rows(self._database.sql(f"SELECT DISTINCT {', '.join(names)} FROM {home.name}"))
        anchors: list[tuple[Any, ...]] = []
        if home.shape.anchor is not None:
            anchors = _python_rows(self._database.sql(f"SELECT number, anchor FROM {home.name}"))
        return ShapeIndex(home.shape, self._columns, rows, anchors)

    def _read(self, one: Subscription) -> tuple[_Relation, Subscription, tuple[str, ...]]:
        """Return the relation of a subscription's shape, and its literals.

        Raises:
            ConditionRefused: It cannot be matched exactly.
        """
        if one.when not in WHENS:
            raise ConditionRefused(f"when is {one.when!r}", remedy=f"use one of: {', '.join(WHENS)}")
        if one.when in NEEDS_OLD and not self._old_values:
            raise ConditionRefused(
                f"when: {one.when} needs old values, which the stream's events have not",
                remedy="use when: new, or a strategy with old values",
            )
        if set(one.ops) - set(OPS):
            raise ConditionRefused(f"ops are {', '.join(one.ops)}", remedy=f"use some of: {', '.join(OPS)}")
        for column in one.columns:
            self._columns.place(column)
        if one.columns and not self._old_values:
            raise ConditionRefused(
                "columns needs old values, which the stream's events have not: it is not known what an update changed",
                remedy="leave columns out, or use a strategy with old values",
            )
        skeleton, literals = divided(one.condition or EVERY_ROW)
        key = (skeleton, tuple(["text" if each[0] == "'" else kind_of_literal(each) for each in literals]))
        home = self._relations.get(key)
        if home is None:
            home = self._known_as(key, skeleton, literals)
        if isinstance(home, ConditionRefused):
            raise home
        for place in home.shape.patterns:
            pattern = _value(literals[place])
            if (len(pattern) - len(pattern.rstrip("\\"))) % 2:
                raise ConditionRefused("a pattern of LIKE ends with a single backslash", remedy="write two")
        return home, one, literals

    def _known_as(
        self, key: tuple[str, tuple[str, ...]], skeleton: str, literals: tuple[str, ...]
    ) -> _Relation | ConditionRefused:
        """Return the relation of a shape that is new, or why there is none."""
        if sum(isinstance(one, _Relation) for one in self._relations.values()) >= self._most_shapes:
            return ConditionRefused(
                f"there are {self._most_shapes:,} shapes of conditions already, which differ in more than literals",
                remedy="write it as others are written, or raise `subscriptions.shapes`",
            )
        if len(self._relations) > MOST_KEPT:  # refused ones are read again
            self._relations = {key: one for key, one in self._relations.items() if isinstance(one, _Relation)}
        home = self._relations[key] = self._created(skeleton, literals)
        return home

    def _created(self, skeleton: str, literals: tuple[str, ...]) -> _Relation | ConditionRefused:
        try:
            shape = shape_of(skeleton, self._columns, literals)
        except ConditionRefused as error:
            return error
        self._made += 1
        home = _Relation(f"shape_{self._made}", shape)
        columns = ["number BIGINT", *(f"p{i} {kind}" for i, kind in enumerate(shape.kinds))]
        if shape.anchor is not None:
            columns.append(f"anchor {shape.kinds[shape.anchor.parameters[0]]}")
        self._database.execute(f"CREATE TABLE {home.name} ({', '.join(columns)})")
        fields = [pa.field(f"v{i}", self._image.field(i).type) for i in range(self._image.num_fields)]
        with _registered(self._database, "tried", pa.schema(fields).empty_table()):
            try:  # what cannot be evaluated is refused alone, and not with the batch
                self._database.execute(f"SELECT 1 FROM tried AS e, {home.name} AS c WHERE {shape.sql('e', 'c')}")
            except duckdb.Error as error:
                self._database.execute(f"DROP TABLE {home.name}")
                return ConditionRefused(f"{shape.text} cannot be evaluated: {self._reason(error)}")
        return home

    def _reason(self, error: duckdb.Error) -> str:
        """Return why the local database does not take a condition, with the names of columns."""
        names = list(self._columns.kinds)
        text = str(error).splitlines()[0].partition(": ")[2]
        return re.sub(r"\be\.v(\d+)\b", lambda found: names[int(found[1])], text).rstrip(". ") or "it is not known why"

    def _insert(self, home: _Relation, added: Sequence[tuple[Subscription, tuple[str, ...]]]) -> dict[str, str]:
        """Insert subscriptions of one shape; return those whose literals do not fit their columns."""
        values = [tuple(map(_value, literals)) for _, literals in added]
        numbers = range(self._last + 1, self._last + 1 + len(added))
        self._last += len(added)
        rows: dict[str, Any] = {"number": pa.array(numbers, pa.int64())}
        for i in range(len(home.shape.kinds)):
            rows[f"p{i}"] = pa.array([each[i] for each in values], pa.string())
        unfit = self._unfit(home, rows)
        kept = [place for place, number in enumerate(numbers) if number not in unfit]
        for place in kept:
            one = added[place][0]
            self._numbers[one.id], self._homes[one.id] = numbers[place], home
            home.size += 1
            self._ones[numbers[place]] = one
        self._insert_rows(home, pa.table(rows).take(pa.array(kept, pa.int64())), [values[place] for place in kept])
        ones = [added[place][0] for place in kept]
        described = {
            "number": pa.array([numbers[place] for place in kept], pa.int64()),
            "id": pa.array([one.id for one in ones], pa.string()),
            "moment": pa.array([one.when for one in ones], pa.string()),
            "ops": pa.array(["".join(one.ops) for one in ones], pa.string()),
            "columns": pa.array([list(one.columns) for one in ones], pa.list_(pa.string())),
            "any_column": pa.array([not one.columns for one in ones], pa.bool_()),
        }
        with _registered(self._database, "described", pa.table(described)):
            self._database.execute("INSERT INTO subscription SELECT * FROM described")
        return {added[number - numbers.start][0].id: reason for number, reason in unfit.items()}

    def _unfit(self, home: _Relation, rows: dict[str, Any]) -> dict[int, str]:
        tests = [
            f"WHEN TRY_CAST(p{i} AS {kind}) IS NULL THEN p{i} || ' is not a value of type {kind.lower()}'"
            for i, kind in enumerate(home.shape.kinds)
            if kind != "VARCHAR"
        ]
        if not tests:
            return {}
        with _registered(self._database, "literals", pa.table(rows)):
            found = self._database.execute(
                f"SELECT * FROM (SELECT number, CASE {' '.join(tests)} END AS reason FROM literals) "
                "WHERE reason IS NOT NULL"
            )
            return dict(found.fetchall())

    def _insert_rows(self, home: _Relation, rows: pa.Table, values: Sequence[tuple[str, ...]]) -> None:
        anchor = home.shape.anchor
        if anchor is None:
            places, anchors = list(range(len(values))), None
        else:
            each = [(place, value) for place, one in enumerate(values) for value in _anchors(home, anchor, one)]
            places, anchors = [place for place, _ in each], [value for _, value in each]
        rows = rows.take(pa.array(places, pa.int64()))
        if anchors is not None:
            rows = rows.append_column("anchor", pa.array(anchors, pa.string()))
        kinds = [*home.shape.kinds, *([] if anchor is None else [home.shape.kinds[anchor.parameters[0]]])]
        casts = [f"CAST({name} AS {kind})" for name, kind in zip(rows.column_names[1:], kinds, strict=True)]
        with _registered(self._database, "literals", rows):
            self._database.execute(f"INSERT INTO {home.name} SELECT {', '.join(['number', *casts])} FROM literals")

    @contextmanager
    def _loaded(self, events: pa.Table) -> Iterator[list[_Image]]:
        """Make the events tables of the local database; yield those of new and of old rows."""
        positions = pa.array(range(events.num_rows), pa.int64())
        event = pa.table({"position": positions, "op": events.column("op"), "changed": events.column("changed")})
        tables, images = {"event": event}, []
        for is_new, name in ((True, "after"), (False, "before")):
            rows = events.column(name).combine_chunks()
            rows = rows if isinstance(rows, pa.StructArray) else pa.concat_arrays(rows.chunks)
            present = rows.is_valid()
            columns = {f"v{i}": values.filter(present) for i, values in enumerate(rows.flatten())}
            tables[name] = pa.table({"position": positions.filter(present), **columns})
            if tables[name].num_rows:
                images.append(_Image(name, is_new))
        try:
            for name, table in tables.items():
                self._database.register(name, table)
            yield images
        finally:
            for name in tables:
                self._database.unregister(name)


@dataclass(frozen=True)
class _Image:
    """The rows of one side of the events, in the local database."""

    name: str
    is_new: bool


def _part(home: _Relation, image: _Image) -> dict[str, str]:
    """Return a part of the template: one shape's subscriptions that rows of one side meet."""
    anchor, elements, joined = home.shape.anchor, "", EVERY_ROW
    if anchor is not None and anchor.element:
        column = f"v{anchor.column}"
        elements = f"(SELECT DISTINCT position, UNNEST({column}) AS element FROM {image.name})"
        joined = "t.element = c.anchor"
    elif anchor is not None:
        joined = f"e.v{anchor.column} = c.anchor"
    return {
        "rows": image.name,
        "is_new": str(image.is_new).upper(),
        "constants": home.name,
        "elements": elements,
        "joined": joined,
        "condition": home.shape.sql("e", "c"),
    }


def _anchors(home: _Relation, anchor: Anchor, literals: tuple[str, ...]) -> Iterable[str]:
    """Return the values that find a subscription: each one, or the rarest if all are needed."""
    values = {literals[parameter] for parameter in anchor.parameters}
    if not anchor.every:
        return values
    rarest = min(sorted(values), key=lambda value: home.seen[value])
    home.seen.update(values)
    return [rarest]


def _arrow(rows: Any) -> pa.Table:
    read = getattr(rows, "to_arrow_table", None) or rows.fetch_arrow_table  # the name in older versions
    return read()


def _python_rows(rows: Any) -> list[tuple[Any, ...]]:
    found = _arrow(rows)
    return list(zip(*(column.to_pylist() for column in found.columns), strict=True))


def _value(literal: str) -> str:
    if literal[0] != "'":
        return literal
    return literal[1:-1].replace("''", "'") if "''" in literal else literal[1:-1]


@contextmanager
def _registered(database: duckdb.DuckDBPyConnection, name: str, table: pa.Table) -> Iterator[None]:
    database.register(name, table)
    try:
        yield
    finally:
        database.unregister(name)


def _kind(kind: pa.DataType) -> str:
    """Return the kind of a column for conditions; empty for one that they cannot use."""
    if pa.types.is_list(kind):
        return "set" if pa.types.is_string(kind.value_type) else ""
    if pa.types.is_integer(kind) or pa.types.is_decimal(kind):
        return "number"
    if pa.types.is_floating(kind):
        return "float"
    if pa.types.is_timestamp(kind):
        return "TIMESTAMP" if kind.tz is None else "TIMESTAMPTZ"
    return {"string": "text", "bool": "boolean", "date32[day]": "DATE"}.get(str(kind), "")


def _digits(kind: pa.DataType) -> tuple[int, int]:
    """Return the digits of a number before and after the point."""
    return (kind.precision - kind.scale, kind.scale) if pa.types.is_decimal(kind) else (19, 0)
