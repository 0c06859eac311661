"""Section `subscriptions`: conditions over changes, in the file or a relation of a source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, model_validator

from qbcd.config.document import Document, KeyPath, Problem, did_you_mean
from qbcd.config.fields import (
    NAMES_SCHEMA,
    Count,
    Filled,
    Names,
    Section,
    SomeNames,
    TableName,
    distinct,
    listed,
    wrong,
)

When = Literal["new", "old", "either", "enters", "leaves"]
OPS = ("r", "c", "u", "d")
EVERY_COLUMN = "all"
READ = ("id", "stream", "condition", "when", "ops", "columns", "active")  # columns of the relation
Equality = Literal["source", "bytes"]


def _ops(value: list[str]) -> list[str]:
    for place, name in enumerate(value):
        if name not in OPS:
            raise wrong("there is no operation <value>", f"name some of {', '.join(OPS)}", at=place, value=name)
    return distinct(value)


def _status(value: str) -> str:
    if value.lower() in READ:
        raise wrong("<value> is a column that qbcd reads, and would be overwritten", "name another column", value=value)
    return value


def _letters(value: object) -> object:
    """Return operations written as one word, such as ``cud``, as a list."""
    return list(value) if isinstance(value, str) and set(value) <= set(OPS) else value


Ops = Annotated[
    list[str],
    AfterValidator(_ops),
    BeforeValidator(listed),
    BeforeValidator(_letters),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": f"^[{''.join(OPS)}]+$"},
                {"type": "array", "items": {"enum": list(OPS)}},
            ]
        }
    ),
]
Allowed = Annotated[SomeNames, WithJsonSchema({"anyOf": [{"type": "string"}, {**NAMES_SCHEMA, "minItems": 1}]})]


class RelationConfig(Section):
    """The relation that has the subscriptions, a row for each.

    Its columns are `id`, `stream` and, if it has them, `condition`, `when`, `ops`, `columns` and `active`.

    Attributes:
        source: Name under `sources` of a database.
        table: The table or view, as ``schema.table``.
        status: A column of the table that qbcd writes: ``active``, or why the subscription is refused.
    """

    example: ClassVar[str] = "write from: {source: shop, table: app.subscription}"

    source: Filled
    table: TableName
    status: Annotated[Filled, AfterValidator(_status)] | None = None


class InlineConfig(Section):
    """A subscription in this file.

    Attributes:
        id: Its name in events, unique among all subscriptions.
        stream: The stream whose events it is about.
        condition: A boolean expression over captured columns; default: every row.
        when: The row that meets the condition; default: ``new``.
        ops: Operations of interest; default: all.
        columns: Columns of which an update must have changed one; default: every update.
    """

    example: ClassVar[str] = "write {id: late, stream: orders, condition: \"status = 'late'\"}"

    id: Filled
    stream: Filled
    condition: Filled | None = None
    when: When = "new"
    ops: Ops = Field(default_factory=list)
    columns: Names = Field(default_factory=list)


class SubscriptionsConfig(Section):
    """Subscriptions: the events of some streams name those whose condition they meet.

    Attributes:
        relation: The relation of a source that has them.
        inline: Subscriptions in this file.
        streams: By stream that may be subscribed to, the columns that conditions may use, or ``all``; default: the
            streams of `inline`, with all columns.
        deliver: Sinks that get the events that meet some condition, and no others.
        quota: Most subscriptions of a stream; further rows are refused, by the order of their ids.
        shapes: Most conditions of a stream that differ in more than literals; further ones are refused.
        equality: Equality of texts: that of the source, or that of their bytes.
        narrow: Streams whose sinks are all in `deliver` capture only rows that some condition may need.
        initial: ``replica``: a new subscription first gets the rows that it matches already.
        split: These sinks get a batch for each subscription, in a folder of its own.
    """

    relation: RelationConfig | None = Field(default=None, alias="from")
    inline: list[InlineConfig] = Field(default_factory=list)
    streams: dict[str, Allowed] = Field(default_factory=dict)
    deliver: Names = Field(default_factory=list)
    quota: Count = 100_000
    shapes: Count = 1_000
    equality: Equality = "source"
    narrow: bool = False
    initial: Literal["replica"] | None = None
    split: bool = False

    @model_validator(mode="after")
    def _has_some(self) -> SubscriptionsConfig:
        if self.relation is None and not self.inline:
            raise wrong("there are neither `from` nor `inline`", RelationConfig.example)
        if self.relation is not None and not self.streams:
            raise wrong(
                "`streams` is missing: it says what those who write to the relation may subscribe to",
                "write streams: {orders: all}, or the columns instead of all",
            )
        return self

    @property
    def known_streams(self) -> list[str]:
        """The streams that may be subscribed to."""
        return list(self.streams) or list(dict.fromkeys(one.stream for one in self.inline))

    def allowed(self, stream: str) -> tuple[str, ...] | None:
        """Return the columns that conditions on a stream may use; empty for all.

        None if nobody may subscribe to it.
        """
        if not self.streams:
            return () if any(one.stream == stream for one in self.inline) else None
        columns = self.streams.get(stream)
        return None if columns is None else () if columns == [EVERY_COLUMN] else tuple(columns)


def check_subscriptions(
    written: SubscriptionsConfig, document: Document, known: dict[str, list[str]], numbered: set[str]
) -> Iterator[Problem]:
    """Yield the problems of the section with others.

    Args:
        known: The names of `sources` that are databases, of `sinks`, and of `streams` with entries of their own; the
            latter are empty if a pattern may bring others.
        numbered: Sinks that accept only the next number: a batch without a match is none for a sink of `deliver`.
    """
    here: KeyPath = ("subscriptions",)
    if written.relation is not None and written.relation.source not in known["sources"]:
        path = (*here, "from", "source")
        what = f"{document.shown(path, written.relation.source)} is no database under `sources`"
        near = f"there are {', '.join(known['sources'])}" if known["sources"] else "add one with a connector of qbcd"
        yield Problem(path, what, did_you_mean(written.relation.source, known["sources"], near))
    for index, name in enumerate(written.deliver):
        path = document.item((*here, "deliver"), index)
        if name not in known["sinks"]:
            near = f"there are {', '.join(known['sinks'])}" if known["sinks"] else "add it under `sinks`"
            what = f"there is no sink {document.shown(path, name)}"
            yield Problem(path, what, did_you_mean(name, known["sinks"], near))
        elif name in numbered:
            yield Problem(
                path,
                f"sink {name} accepts only the next number, and a batch without a match is none for it",
                "deliver to files, an address or a sink of your own",
            )
    ids = [one.id for one in written.inline]
    for place, each in enumerate(ids):
        if each in ids[:place]:
            yield Problem((*here, "inline", place, "id"), "this id is used twice", "give it an id of its own")
    streams = [((*here, "streams", name), name) for name in written.streams]
    inline = [((*here, "inline", place, "stream"), one.stream) for place, one in enumerate(written.inline)]
    for path, name in [*streams, *inline]:
        if known["streams"] and name not in known["streams"]:
            near = f"there are {', '.join(known['streams'])}"
            yield Problem(
                path, f"there is no stream {document.shown(path, name)}", did_you_mean(name, known["streams"], near)
            )
    for path, name in inline:
        if written.streams and name not in written.streams:
            yield Problem(path, f"stream {name} is not under `streams`", f"add {name}: all there")
