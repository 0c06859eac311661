"""The explanation of a comparison in words; no row is read."""

from __future__ import annotations

from pathlib import Path

from qbcd.comparison.compare import DiffOptions
from qbcd.comparison.kept import folder_of
from qbcd.comparison.methods import expected
from qbcd.snapshots.feeds import JOIN
from qbcd.strategies import AUTO

_MEGABYTE = 1 << 20
_JOIN = "join: one full outer join by key, over all values, in this process (DuckDB)"
_MISSES = "a changed row with a probability of 2^-128: digests of rows are compared"


def explanation(old: str, new: str | None, options: DiffOptions) -> dict[str, str]:
    """Return the parts of the explanation by name."""
    options.check()
    sizes = [Path(one).stat().st_size for one in (old, new) if one and Path(one).is_file()]
    total = sum(sizes) / _MEGABYTE
    memory = options.memory / _MEGABYTE
    fits = "both sides may fit into memory" if total < memory else "rows beyond the memory are spilled to disk"
    return {
        "old": "what the first call kept" if new is None else old,
        "new": old if new is None else new,
        "method": _method(old, new, options),
        "reads": f"{total:,.1f} MB of files, each once" if sizes else "one statement for each table",
        "memory": f"{memory:,.0f} MB; {fits}",
        "misses": _MISSES if options.method in ("smc1", "smc2", "phc1", "phc2") else "nothing: values are compared",
    }


def _method(old: str, new: str | None, options: DiffOptions) -> str:
    """Return the method; `auto` decides when both sides were read, and this is what it will do by their sizes."""
    if options.method == JOIN:
        return _JOIN
    if options.method != AUTO:
        return f"{options.method}, over both sides as temporary files"
    paths = [Path(one) for one in (old, new or old) if Path(one).is_file()]
    if len(paths) < 2:
        return "auto: join if both sides fit into memory, else a window over temporary files"
    folder = None if new is not None else folder_of(options.workdir, str(paths[0].resolve()), options.key)
    found = expected(paths, folder, options.memory)
    name = _JOIN if found.method == JOIN else f"{found.method}, over both sides as temporary files"
    return f"auto, by the sizes of the files {name}. {found.reason[:1].upper()}{found.reason[1:]}"
