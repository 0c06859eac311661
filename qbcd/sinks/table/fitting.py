"""Events made to fit a target.

Values that the target cannot hold are refused with their key, or replaced by the user's policy.

Detection has refused such values before they were committed. They still come here in a batch that is older than the
sink or its policy, in the rows of a resend, and in a replay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from qbcd.errors import Undeliverable
from qbcd.model import BatchHeader, Travel
from qbcd.model.value_limits import FLOATS, TEXTS, ValueClass, ValueLimits, words_of_class, words_of_text
from qbcd.sinks.table.flat_rows import event_texts

NUL_SHOWN = "\u2400"  # the symbol for NUL, which policy `text` writes in place of the character


@dataclass(frozen=True)
class Fit:
    """The conditions that the events of a batch must meet.

    Attributes:
        limits: The values that the target cannot hold, and the policy.
        sink: The sink's name.
        is_log: The table has every event, and no key.
        texts: Numbers that the target has as texts, by policy, with their own form.
    """

    limits: ValueLimits
    header: BatchHeader
    sink: str
    is_log: bool
    texts: Mapping[str, Travel] = field(default_factory=dict)


def fitting(pieces: Iterable[pa.RecordBatch], fit: Fit) -> Iterator[pa.RecordBatch]:
    """Yield the events with values that the target can hold.

    Raises:
        Undeliverable: One has a value that it cannot hold; names key, column and the way past.
    """
    forms = {**dict(fit.header.columns), **fit.texts}
    judged = {name: one for name, one in forms.items() if fit.limits.of(one) or fit.limits.longest(one, 1)}
    keys = {name: one for name, one in judged.items() if name in fit.header.key}
    for piece in pieces:
        if judged:
            columns = {name: piece.column(name) for name in piece.schema.names}
            for image in ("key", "after", "before"):
                wanted = judged if fit.limits.old or image != "before" else keys  # by an old key rows are found
                columns[image] = _fitted(columns[image], columns["key"], wanted, fit, in_key=image == "key")
            yield pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
        else:
            yield piece


def _fitted(image: pa.Array, keys: pa.Array, judged: Mapping[str, Travel], fit: Fit, *, in_key: bool) -> pa.Array:
    """Return one image of the events, fitted."""
    if not pa.types.is_struct(image.type):
        return image  # a key without columns
    names = [field.name for field in image.type]
    values = [pc.struct_field(image, [i]) for i in range(len(names))]
    changed = False
    for i, name in enumerate(names):
        travel = judged.get(name)
        if travel is None:
            continue
        fitted = _column(values[i], travel, keys, fit, name)
        changed, values[i] = changed or fitted is not values[i], fitted
    if not changed:
        return image
    mask = None if in_key else pc.is_null(image)
    return pa.StructArray.from_arrays(values, names=names, mask=mask)


def _column(values: pa.Array, travel: Travel, keys: pa.Array, fit: Fit, name: str) -> pa.Array:
    in_key, policy = name in fit.header.key, fit.limits.policy
    if name in fit.texts:
        return event_texts(values, travel)
    longest = fit.limits.longest(travel, len(fit.header.key)) if in_key else 0
    for kind in (*fit.limits.of(travel), *(("long",) if longest else ())):
        mask = _mask(values, kind, longest)
        if not pc.any(mask).as_py():
            continue
        if kind == "nul" and policy == "text" and travel.element is None:
            values = pc.replace_substring(values, "\0", NUL_SHOWN)
        elif policy == "null" and not in_key:
            values = pc.if_else(mask, pa.scalar(None, values.type), values)
        else:
            raise _refusal(kind, fit, name, _key_at(keys, mask), longest)
    return values


def _mask(values: pa.Array, kind: ValueClass, longest: int) -> pa.Array:
    """Return which values are of a class, or arrays have such an item; NULL is of none."""
    if pa.types.is_list(values.type):
        places = pc.list_parent_indices(values).filter(_mask(values.flatten(), kind, longest))
        return pc.is_in(pa.array(range(len(values)), places.type), places)
    if kind == "nul":
        found = pc.match_substring(values, "\0")
    elif kind == "nan":
        found = pc.is_nan(values)
    elif kind == "infinity":
        found = pc.is_inf(values)
    else:
        is_text = pa.types.is_string(values.type) or pa.types.is_large_string(values.type)
        found = pc.greater(pc.utf8_length(values) if is_text else pc.binary_length(values), longest)
    return pc.fill_null(found, False)


def _key_at(keys: pa.Array, mask: pa.Array) -> str:
    """Return the key of the first event of a mask, as messages have it."""
    if not pa.types.is_struct(keys.type):
        return ""
    row = keys[pc.index(mask, True).as_py()].as_py()
    return f"({', '.join(row)}) = ({', '.join(_shown(value) for value in row.values())})"


def _shown(value: object) -> str:
    text = value.hex() if isinstance(value, bytes) else str(value)
    text = text.replace("\0", NUL_SHOWN)
    return text if len(text) <= 60 else f"{text[:60]}.."


def _refusal(kind: ValueClass, fit: Fit, name: str, key: str, longest: int) -> Undeliverable:
    row = f", in the row with key {key}" if key else ""
    what = f"column {name} of the target cannot hold {words_of_class(kind, longest)}{row}"
    return Undeliverable(what, remedy=way_past(fit, name), stream=fit.header.stream)


def refused_text(fit: Fit, pieces: Iterable[pa.RecordBatch]) -> Undeliverable | None:
    """Return the refusal of the first value that the type of its column does not have.

    Args:
        fit: The conditions that the events must meet.
        pieces: Events whose columns arrive as texts where a type is narrower than that of a source.
    """
    narrow = {name: travel for name, travel in fit.header.columns if travel.kind not in (*TEXTS, *FLOATS)}
    for piece in pieces:
        for image in ("after", "key", "before") if fit.limits.old else ("after", "key"):
            column = piece.column(image)
            for i, one in enumerate(column.type) if pa.types.is_struct(column.type) else ():
                travel = narrow.get(one.name)
                if travel is None or not pa.types.is_string(one.type):
                    continue
                for at, text in enumerate(pc.struct_field(column, [i]).to_pylist()):
                    if text is not None and (words := words_of_text(travel, text)):
                        only = pa.array([n == at for n in range(len(column))])
                        row = f", in the row with key {key}" if (key := _key_at(piece.column("key"), only)) else ""
                        what = f"column {one.name} of the target cannot hold {words}{row}"
                        return Undeliverable(what, remedy=way_past(fit, one.name), stream=fit.header.stream)
    return None


def way_past(fit: Fit, column: str) -> str:
    """Return what a user can do about a batch with a value that the target cannot hold."""
    stream, in_key = fit.header.stream, column in fit.header.key
    policy = "`unsupported: null` of the sink, or `text` if the column of the target is for texts: the next poll then "
    past = [] if in_key else [f"{policy}delivers the batch"]
    if fit.is_log or not fit.header.before:  # there are no rows to send again
        again = f"qbcd reset {stream} --discard, then prepare it again"
    else:
        again = f"correct the value at the source and, once a poll has found that, qbcd resend {stream} {fit.sink}"
    return "; or ".join([*past, again])
