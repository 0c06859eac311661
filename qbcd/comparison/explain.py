"""The explanation of a comparison in words; no row is read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from qbcd.comparison.by_ranges import FINE, GROUP, MOST, SUM_BYTES
from qbcd.comparison.compare import DiffOptions, compared_names
from qbcd.comparison.kept import folder_of
from qbcd.comparison.methods import blocks_by_method, expected
from qbcd.comparison.opened import named
from qbcd.comparison.operands import TableOperand
from qbcd.comparison.tables import NamedTable
from qbcd.comparison.wording import worded
from qbcd.sites.eligibility import kind_for, why_complete
from qbcd.snapshots.feeds import JOIN
from qbcd.strategies import AUTO, BY_JOIN

BY_DIGEST = ("smc1", "smc2", "phc1", "phc2", "similar", "growing", "stagnant", "shrinking")
_MEGABYTE = 1 << 20
_JOIN = "join: one full outer join by key, over all values, in this process (DuckDB)"
_MISSES = "a changed row with a probability of 2^-128: digests of rows are compared"


def explanation(old: str, new: str | None, options: DiffOptions) -> dict[str, str]:
    """Return the parts of the explanation by name."""
    with worded():
        return _parts(old, new, options)


def _parts(old: str, new: str | None, options: DiffOptions) -> dict[str, str]:
    options.check()
    places = named([old] if new is None else [old, new], options.project)
    if new is not None and options.method in BY_JOIN and all(one and not one.by_driver for one in places):
        return {"old": old, "new": new, **_of_tables([one for one in places if one], options)}
    sizes = [Path(one).stat().st_size for one in (old, new) if one and Path(one).is_file()]
    total = sum(sizes) / _MEGABYTE
    memory = options.memory / _MEGABYTE
    fits = "both sides may fit into memory" if total < memory else "rows beyond the memory are spilled to disk"
    return {
        "old": "what the first call kept" if new is None else old,
        "new": old if new is None else new,
        "method": _method(old, new, options),
        "reads": _read_of(total, places),
        "memory": f"{memory:,.0f} MB; {fits}",
        "misses": _MISSES if options.method in BY_DIGEST else "nothing: values are compared",
        **_blocks(old, new, options),
    }


def _blocks(old: str, new: str | None, options: DiffOptions) -> dict[str, str]:
    """Return the planner's estimate of each method, for files; empty for tables."""
    paths = [Path(one) for one in (old, new or old) if Path(one).is_file()]
    if len(paths) < 2:
        return {}
    found = blocks_by_method(paths, _kept_folder(old, new, options), options.memory)
    by_value, by_digest = (
        ", ".join(f"{name} {blocks:,.0f}" for name, blocks in found.items() if (name in BY_DIGEST) == digest)
        for digest in (False, True)
    )
    return {"blocks": f"of 16 KB, read and written: {by_value}; with kept digests {by_digest}"}


def _kept_folder(old: str, new: str | None, options: DiffOptions) -> Path | None:
    """Return the folder of what the first call kept, for one operand."""
    return None if new is not None else folder_of(options.workdir, str(Path(old).resolve()), options.key)


def _read_of(megabytes: float, places: Sequence[NamedTable | None]) -> str:
    """Return what is read of files and tables."""
    found = [f"{megabytes:,.1f} MB of files, each once"] if None in places else []
    tables = [one for one in places if one is not None]
    if any(not one.by_driver for one in tables):
        found.append("one statement for each table")
    if any(one.by_driver for one in tables):
        some = " or, if both databases compute one digest, of ranges that differ" if None not in places else ""
        found.append(f"by Spark all rows{some} of each table that a JDBC driver alone reaches")
    return "; ".join(found)


def _of_tables(places: Sequence[NamedTable], options: DiffOptions) -> dict[str, str]:
    """Return the parts about two tables, by their catalogs."""
    with ExitStack() as stack:
        first, second = (stack.enter_context(closing(TableOperand(one, options.wanted))) for one in places)
        names, tables = compared_names(first, second, options), (first, second)
        columns, keys = [one.named(names.all) for one in tables], len(names.key)
        why = f"the method is {options.method}" if options.method != "auto" else why_complete(tables, columns, keys)
        known = [one.plan.table.rows for one in tables]
        rows = " and ".join(f"about {n:,}" if n >= 0 else "an unknown number of" for n in known)
        memory = f"{options.memory / _MEGABYTE:,.0f} MB; rows beyond it are spilled to disk"
        if why:
            reads = f"one statement for each table, {rows} rows: {why}"
            return {
                "method": _method(first.label, second.label, options),
                "reads": reads,
                "memory": memory,
                "misses": "nothing: values are compared",
            }
        kind, because = kind_for(tables, [t.strategy(c, keys) for t, c in zip(tables, columns, strict=True)])
        by = f"ranges of the key {', '.join(names.key)}"
        by = by if kind == "key" else f"buckets of the hash of the key, since {because}"
        return {
            "method": f"checksums: both servers compute count and checksum of {by}; rows of dirty ones are compared",
            "ranges": _ranges(max(known), kind),
            "reads": f"on the servers {rows} rows; over the network {SUM_BYTES} bytes per range, and dirty ranges",
            "memory": memory,
            "misses": "a dirty range with a probability of 2^-64; within dirty ranges nothing",
        }


def _ranges(rows: int, kind: str) -> str:
    """Return the number of ranges for a number of rows, which may be unknown."""
    size = max(FINE, -(-rows // MOST))
    if kind == "hash":
        return f"of about {size:,} rows, {max(1, -(-rows // size)):,} in all"
    number = max(1, -(-rows // (GROUP * size)))
    return f"of {GROUP * size:,} rows, {number:,} in all; each dirty one in {GROUP} parts, of which dirty ones are read"


def _method(old: str, new: str | None, options: DiffOptions) -> str:
    """Return the method; for `auto`, predict it by sizes: it decides after both sides are read."""
    if options.method == JOIN:
        return _JOIN
    if options.method != AUTO:
        return f"{options.method}, over both sides as temporary files"
    paths = [Path(one) for one in (old, new or old) if Path(one).is_file()]
    if len(paths) < 2:
        return "auto: join if both sides fit into memory, else a window over temporary files"
    found = expected(paths, _kept_folder(old, new, options), options.memory)
    name = _JOIN if found.method == JOIN else f"{found.method}, over both sides as temporary files"
    return f"auto, by the sizes of the files {name}. {found.reason[:1].upper()}{found.reason[1:]}"
