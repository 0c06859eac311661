"""The explanation of a comparison in words; no row is read."""

from __future__ import annotations

from pathlib import Path

from qbcd.comparison.compare import DiffOptions
from qbcd.strategies import BY_JOIN

_MEGABYTE = 1 << 20
_METHOD = "join: one full outer join by key, over all values, in this process (DuckDB)"
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
        "method": _METHOD if options.method in BY_JOIN else f"{options.method}, over both sides as temporary files",
        "reads": f"{total:,.1f} MB of files, each once" if sizes else "one statement for each table",
        "memory": f"{memory:,.0f} MB; {fits}",
        "misses": _MISSES if options.method in ("smc1", "smc2", "phc1", "phc2") else "nothing: values are compared",
    }
