"""Digests of rows with a set on PostgreSQL: in the order of elements, sorted, and by a sum over elements."""

from __future__ import annotations

import time
from pathlib import Path

from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.connectors.postgresql.sets import canonical_form
from qbcd.model import Column, Travel

DATABASES = ("postgresql",)
ROWS = """
CREATE TABLE public.sets AS SELECT i AS id,
  (SELECT array_agg('tag' || (i * 7 + k * 13) % 1000) FROM generate_series(1, 8) AS k) AS a, NULL::jsonb AS j
FROM generate_series(1, {rows}) AS i;
UPDATE public.sets SET j = to_jsonb(a);
VACUUM ANALYZE public.sets;
"""
DIGEST = "SELECT sum(('x' || substr(md5({form}), 1, 16))::bit(64)::bigint) FROM public.sets"
TEXT = Travel("text")
ARRAY = Column("a", "text[]", "text[]", True, "", "text", Travel("array", element=TEXT, unordered="set"))
JSON = Column("j", "jsonb", "jsonb", True, "", "text", Travel("text", unordered="set"))
SUM = "(SELECT count(*) || ':' || sum(hashtextextended(x, 7)) FROM (SELECT DISTINCT {x} AS x FROM {rows} AS e(e)) AS q)"
FORMS = {
    "array, as it is": "a::text",
    "array, sorted (qbcd)": f"({canonical_form(ARRAY).format(v='a')})::text",
    "array, a sum": SUM.format(x="e", rows="unnest(a)"),
    "jsonb, as it is": "j::text",
    "jsonb, sorted (qbcd)": f"({canonical_form(JSON).format(v='j')})::text",
    "jsonb, a sum": SUM.format(x="e::text", rows="jsonb_array_elements(j)"),
}


def measure(place: Place, _folder: Path, options: Options) -> Table:
    """Add up the digests of all rows, in turn by each form; the sums are of 64-bit digests of the elements."""
    place.run(ROWS.format(rows=options.rows))
    best = dict.fromkeys(FORMS, float("inf"))
    for _ in range(options.repeats):
        for name, form in FORMS.items():
            start = time.perf_counter()
            place.one(DIGEST.format(form=form))
            best[name] = min(best[name], time.perf_counter() - start)
    table = Table(
        ("form of 8 elements", "seconds", "of an array as it is"), f"{place.version()}, {options.rows:,} rows"
    )
    for name, seconds in best.items():
        table.rows.append((name, f"{seconds:.2f}", f"{seconds / best['array, as it is']:.1f}"))
    return table
