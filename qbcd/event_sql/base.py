"""Events of staged rows in SQL: typed values and the fields of an event.

The types are those of docs/design/interface.md#types, last column.

A staged row is flat (`op, reason, pair_id, ordinal, changed, b_0.., a_0..`) and in wire form; both wings stage in the
same form. The public form of an event depends only on the columns in the header.

A value that does not fit its type raises an error, unless a sink's policy makes it NULL. Detection has refused such
values before, so this is a second check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import ELEMENTS, EVENT_FIELDS, PLAIN_TYPES, YEAR, json_text, typed_name

Field = tuple[str, Travel, str]  # name, form of its values, SQL of its value

MISFIT = "not a value of type"  # in the message of the error
DELETED, OLD, NEW = "op = 'd'", "op IN ('u', 'd')", "op <> 'd'"
# Legal inside a JSON text, but line ends for consumers that split by Unicode's rules.
_LINE_ENDS = ("\u0085", "\u2028", "\u2029")
# Escapes in texts of JSON, and characters that JSON does not have: with them a text ends at its quotation mark.
_HIDDEN = (("\\\\", "\x01"), ('\\"', "\x02"))
_TOKEN = '"[^"]*"|[^",\\[\\]{}: ]+'  # a scalar of JSON with hidden escapes
_DATE = f"{YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = "[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
_WHOLE = "[+-]?[0-9]+"
# Texts that engines may cast. They would also accept infinities, rounded numbers, the words `today` and `epoch`, and a
# date without the `BC` after it.
FORMS = {
    "date": _DATE,
    "timestamp": _DATE + _TIME,
    "timestamptz": _DATE + _TIME + "Z",
    **dict.fromkeys(("int16", "int32", "int64", "uint64"), _WHOLE),
}


@dataclass(frozen=True)
class EventForm:
    """The form of an event's fields: typed values, or their JSON.

    Attributes:
        image: Makes an object of columns.
        text: Returns the value of a text.
        changed: The names of changed columns.
        event_id: The text of the field `event_id`.
        absent: The value of an image that an event does not have.
        no_key: The value of a key without columns.
        elements: The text of the field `elements`.
        added: Returns the value of an added field from its name, form and the JSON text of its value.
    """

    image: Callable[[Sequence[Field]], str]
    text: Callable[[str], str]
    changed: str
    source: str
    event_id: str
    ts_ms: str
    absent: str
    no_key: str
    elements: str
    added: Callable[[str, Travel, str], str]


@dataclass(frozen=True)
class EventSql:
    """The spelling of an engine.

    It is SQL of values, in which ``{}`` are SQL of other values; elements are named ``item``.

    Attributes:
        literal: Returns a text.
        fitting: Returns a text in its type; NULL if it does not fit.
        plain: ``{value}``, whose type ``{kind}`` is that of typed sinks too.
        texts: The elements of the array ``{value}`` as texts; NULL if it is not an array.
        each: The values of ``{item}`` over each element of ``{values}``.
        some: Some element of ``{values}`` fulfills ``{condition}``.
        error: Raises an error: the text ``{message}`` and the start of ``{value}``.
        byte_length: The number of bytes of the text ``{text}``.
        matched: The parts of the text ``{value}`` that match the regular expression ``{pattern}``.
        split: The parts of the text ``{value}`` between ``{separator}``.
        parts: A list of the texts ``{values}``.
        joined: The texts of the list ``{values}``, with ``{separator}`` between them.
        bound: The value of ``{result}``, in which ``{name}`` is ``{value}``.
        pair: A list of the values ``{one}`` and ``{other}``.
        item: The value of a list ``{values}`` at ``{place}``, from 1.
        numbered: The texts of list ``t``, each after the number of equal ones before it and a colon; equal texts are
            neighbors.
        minus: The texts of the list ``{values}`` that are not in ``{others}``; each list has a text once.
        unnumbered: The texts of the list ``{values}`` without their numbers.
        quoted: The JSON of each text of the list ``{values}``.
        members: Returns the members of a JSON object as one text; NULL is no member.
    """

    literal: Callable[[str], str]
    fitting: Callable[[Travel, str], str]
    plain: str
    texts: str
    each: str
    some: str
    error: str
    byte_length: str
    matched: str
    split: str
    parts: str
    joined: str
    bound: str
    pair: str
    item: str
    numbered: str
    minus: str
    unnumbered: str
    quoted: str
    members: Callable[[Sequence[str]], str]

    # -- typed values ------------------------------------------------------------------------------------------------
    def typed_value(self, travel: Travel, value: str, name: str, *, lenient: bool = False) -> str:
        """Return the wire value of column `name` in its type; NULL remains NULL.

        With `lenient` a value that does not fit is NULL, in an array its element.
        """
        kind, insist = typed_name(travel), self._leave if lenient else self._insist
        if travel.kind in PLAIN_TYPES:
            return self.plain.format(value=value, kind=kind)
        if travel.element is None:
            return insist(value, self.fitting(travel, value), name, kind)
        texts, element = insist(value, self.texts.format(value=value), name, kind), travel.element
        if element.kind in ("text", "time"):
            return texts
        item = insist("item", self.fitting(element, "item"), name, typed_name(element))
        return self.each.format(values=texts, item=item)

    def misfit(self, travel: Travel, value: str) -> str | None:
        """Return SQL that is true if `typed_value` would fail; None if it never fails."""
        if travel.kind in PLAIN_TYPES:
            return None
        if travel.element is None:
            return _unfit(value, self.fitting(travel, value))
        whole, element = _unfit(value, self.texts.format(value=value)), travel.element
        if element.kind in ("text", "time", "binary"):
            return whole
        failing = self.some.format(
            values=self.texts.format(value=value), condition=_unfit("item", self.fitting(element, "item"))
        )
        return f"({whole} OR COALESCE({failing}, FALSE))"

    def misfits(self, header: BatchHeader) -> dict[str, str]:
        """Return, by column, the condition that an event has a value that does not fit.

        Columns that always fit are left out.
        """
        found: dict[str, str] = {}
        for i, (name, travel) in enumerate(header.columns):
            conditions = [condition for side in "ba" if (condition := self.misfit(travel, f"{side}_{i}")) is not None]
            if conditions:
                found[name] = " OR ".join(conditions)
        return found

    def _insist(self, wire: str, result: str, name: str, kind: str) -> str:
        """Return `result`; raise an error if it is NULL although `wire` is not."""
        error = self.error.format(message=self.literal(f"column {name}: {MISFIT} {kind}: "), value=wire)
        return f"CASE WHEN {wire} IS NULL THEN NULL ELSE COALESCE({result}, {error}) END"

    def _leave(self, wire: str, result: str, name: str, kind: str) -> str:
        return result

    # -- events ------------------------------------------------------------------------------------------------------
    def elements(self, header: BatchHeader) -> str:
        """Return the JSON of field `elements`, by changed set; NULL of events that are no updates.

        A column whose old or new value is NULL or no set has null.
        """
        members = []
        for i, (name, travel) in enumerate(header.columns):
            if travel.unordered:
                named = f"{self.literal(json_text(name) + ':')} || {self._changed_set(travel, f'b_{i}', f'a_{i}')}"
                members.append(f"CASE WHEN b_{i} IS DISTINCT FROM a_{i} THEN {named} END")
        listed = f"{self.literal('{')} || {self.members(members)} || {self.literal('}')}"
        return f"CASE WHEN op = 'u' AND {str(header.before).upper()} THEN {listed} END"

    def _changed_set(self, travel: Travel, old: str, new: str) -> str:
        # A name is bound to each part, because a part that is written twice is planned twice.
        then, now = (self.item.format(values="pair", place=place) for place in (1, 2))
        added, removed = self._difference(travel, now, then), self._difference(travel, then, now)
        text, comma, end = (self.literal(one) for one in ('{"added":', ',"removed":', "}"))
        found = f"{text} || {added} || {comma} || {removed} || {end}"
        result = f"CASE WHEN {then} IS NULL OR {now} IS NULL THEN 'null' ELSE {found} END"
        pair = self.pair.format(one=self._elements(travel, old), other=self._elements(travel, new))
        return self.bound.format(name="pair", value=pair, result=result)

    def _elements(self, travel: Travel, value: str) -> str:
        if travel.separator:
            separator = self.literal(travel.separator)
            none, one = self.parts.format(values=""), self.parts.format(values="''")
            split = self.split.format(value=value, separator=separator)
            alone = f"WHEN {value} = {separator} THEN {one} " if travel.unordered == "set" else ""
            found = f"CASE WHEN {value} = '' THEN {none} {alone}ELSE {split} END"
        else:
            found = self._tokens(value)
        return found if travel.unordered == "set" else self.bound.format(name="t", value=found, result=self.numbered)

    def _tokens(self, value: str) -> str:
        """Return the list of a JSON array's scalars, with hidden escapes; NULL of other texts."""
        hidden = value
        for escape, other in _HIDDEN:
            hidden = f"REPLACE({hidden}, {self.literal(escape)}, {self.literal(other)})"
        joined = (self.joined.format(values="t", separator=self.literal(one)) for one in (",", ", "))
        whole = ", ".join(f"'[' || {one} || ']'" for one in joined)
        matched = self.matched.format(value="h", pattern=self.literal(_TOKEN))
        tokens = self.bound.format(name="t", value=matched, result=f"CASE WHEN h IN ({whole}) THEN t END")
        return self.bound.format(name="h", value=hidden, result=tokens)

    def _difference(self, travel: Travel, values: str, others: str) -> str:
        found = self.minus.format(values=values, others=others)
        found = found if travel.unordered == "set" else self.unnumbered.format(values=found)
        found = self.quoted.format(values=found) if travel.separator else found
        text = self.joined.format(values=found, separator=self.literal(","))
        for escape, hidden in () if travel.separator else _HIDDEN:
            text = f"REPLACE({text}, {self.literal(hidden)}, {self.literal(escape)})"
        return f"'[' || {text} || ']'"

    def one_line(self, column: str) -> str:
        """Return a column's JSON text without characters that a consumer could read as a line end."""
        escaped = column
        for character in _LINE_ENDS:
            escaped = f"REPLACE({escaped}, {self.literal(character)}, {self.literal(_escaped(character))})"
        # A text of one-byte characters has none of them; this check is faster than three searches.
        return f"CASE WHEN LENGTH({column}) = {self.byte_length.format(text=column)} THEN {column} ELSE {escaped} END"


def event_fields(header: BatchHeader, form: EventForm) -> list[tuple[str, str]]:
    """Return the SQL of an event's fields, in order."""
    key = [(*header.columns[place], of_key(place)) for place in key_places(header)]
    more = [(ELEMENTS, form.elements)] if has_sets(header) else []
    old = f"{OLD} AND {str(header.before).upper()}"
    values = {
        "op": form.text("op"),
        "key": form.image(key) if key or header.one_row else form.no_key,
        "before": f"CASE WHEN {old} THEN {form.image(_image(header, 'b'))} ELSE {form.absent} END",
        "after": f"CASE WHEN {NEW} THEN {form.image(_image(header, 'a'))} ELSE {form.absent} END",
        "changed": form.changed,
        "reason": form.text("reason"),
        "pair_id": form.text("pair_id"),
        "source": form.source,
        "event_id": form.text(form.event_id),
        "ts_ms": form.ts_ms,
    }
    added = [(name, form.added(name, travel, f"e_{i}")) for i, (name, travel) in enumerate(header.added)]
    return [*((name, values[name]) for name in EVENT_FIELDS), *more, *added]


def has_sets(header: BatchHeader) -> bool:
    """Return True if events have the field `elements`, since a column is a set."""
    return any(travel.unordered for _, travel in header.columns)


def ordinal_of(header: BatchHeader) -> str:
    """Return the column with the number of an event in its batch."""
    return "event_ordinal" if header.selected else "ordinal"


def _image(header: BatchHeader, side: str) -> list[Field]:
    return [(name, travel, f"{side}_{i}") for i, (name, travel) in enumerate(header.columns)]


def key_places(header: BatchHeader) -> list[int]:
    """Return the places of the key columns among all columns."""
    names = [name for name, _ in header.columns]
    return [names.index(name) for name in header.key]


def of_key(place: int) -> str:
    """Return a value of the key: the old one of a deleted row, the new one of others."""
    return f"CASE WHEN {DELETED} THEN b_{place} ELSE a_{place} END"


def source_of(header: BatchHeader) -> dict[str, str | int]:
    """Return the field `source` of a batch's events."""
    return {
        "name": header.source,
        "table": header.table,
        "strategy": header.strategy,
        "consistency": header.consistency,
        "epoch": header.epoch,
        "batch_seq": header.seq,
    }


def _unfit(wire: str, result: str) -> str:
    return f"({wire} IS NOT NULL AND {result} IS NULL)"


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
