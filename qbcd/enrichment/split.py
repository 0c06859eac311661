"""A batch split by subscription: a view for each, with a file of its own."""

from __future__ import annotations

import hashlib
import json
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import quote

import pyarrow as pa
from pyarrow import parquet

from qbcd.model import digest_of

if TYPE_CHECKING:
    from qbcd.enrichment.view import BatchView
    from qbcd.stores.parts import PartStore

LONGEST = 150  # characters of an id in the name of a folder


def split_views(view: BatchView, column: str, ops: Sequence[str], parts: PartStore) -> Iterator[BatchView]:
    """Yield a view for each id in the lists of a column; its file goes before the next one.

    Args:
        ops: Those of all events.
        parts: The place of the files.
    """
    assert view.path is not None
    table = parquet.read_table(view.path)
    found: dict[str, list[int]] = {}
    for place, text in enumerate(table.column(column).to_pylist()):
        for each in json.loads(text or "[]"):
            found.setdefault(each, []).append(place)
    for each in sorted(found):
        places = found[each]
        some = table.take(pa.array(places, pa.int64()))
        changed = {column: [json.dumps([each], ensure_ascii=False)] * len(places), "place": range(len(places))}
        for name, values in changed.items():
            at = some.column_names.index(name)
            some = some.set_column(at, some.schema.field(at), pa.array(values, some.schema.field(at).type))
        name = f"{view.whole.epoch}-{view.whole.seq}-0-{uuid.uuid4().hex}.parquet"
        header = replace(
            view.header,
            counts=dict(Counter(ops[place] for place in places)),
            fingerprint=digest_of([view.whole.fingerprint, each]),
            part=folder_of_id(each),
        )
        try:
            parts.create()
            parquet.write_table(some, parts.workplace(name))
            parts.keep(name)
            yield replace(view, header=header, path=parts.kept(name), place=parts.place(name))
        finally:
            parts.remove(name)


def folder_of_id(name: str) -> str:
    """Return the part of a folder's name for an id: itself if it is plain and short."""
    plain = quote(name, safe=" ")
    if 0 < len(plain) <= LONGEST and plain == plain.strip(" ."):
        return plain
    return f"{plain[:LONGEST]}~{hashlib.sha256(name.encode()).hexdigest()[:16]}"
