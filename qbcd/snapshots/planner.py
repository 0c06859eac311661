"""Choose the method: the planner of Labio & Garcia-Molina 1995, section 4.8.

It uses the facts that the last comparison kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from qbcd.snapshots.base import Dump, Options, weight_of
from qbcd.snapshots.formulas import Sizes, costs
from qbcd.snapshots.memory import entry_bytes
from qbcd.snapshots.replica import DumpReplica

_FEW = 0.02  # share of updated rows of a stagnant file
_ROW, _ENTRY = 150, 24  # bytes of a row and of its entry, where they are not known
_CHANGED = 0.005  # share of inserts, and of updates, where no comparison has seen them


@dataclass(frozen=True)
class MethodChoice:
    """The chosen method, the reason, and the estimated blocks of all methods that could run."""

    method: str
    reason: str
    blocks: dict[str, float]


def estimate(size: int, memory: int, seen: Mapping[str, float]) -> dict[str, float]:
    """Return the blocks that each method reads and writes, for files that were not read.

    The methods of digests are counted with digests that an earlier comparison kept.

    Args:
        size: Bytes of a file; both are taken to be of one size.
        seen: `rows`, and the shares of `inserts` and `updates`, of the last comparison; without one those of the paper.
    """
    block = Options.block
    small = (seen.get("rows") or max(1.0, size / _ROW)) * _ENTRY / block
    return costs(_in_blocks(size / block, small, seen, _small(size, memory)))


def choose(old: Dump | DumpReplica, new: Dump, options: Options) -> MethodChoice:
    """Return the method for two snapshots.

    A special form is chosen only if the last comparison saw what it assumes; each one checks that again and restarts.
    Exact methods are chosen where whole rows are there on both sides, since they also give old values.
    """
    facts = old.statistics if isinstance(old, DumpReplica) else {}
    estimated = costs(_sizes(old, new, options, facts))
    whole = not isinstance(old, DumpReplica) or old.whole
    in_order = not isinstance(old, DumpReplica) or old.order == "file"
    special = None if whole else _special(facts, in_order)
    if special is not None:
        method, reason = special
    elif whole:
        method, reason = _exact(old, facts, options)
    elif _fits(old, options):
        method, reason = "phc1", "the digests of the old snapshot fit into memory"
    else:
        method = "phc1" if estimated["phc1"] <= estimated["phc2"] else "phc2"
        reason = (
            "the digests do not fit into memory, and so many rows change" if method == "phc1" else "few rows change"
        )
    return MethodChoice(method, reason, estimated)


def _exact(old: Dump | DumpReplica, facts: dict[str, float], options: Options) -> tuple[str, str]:
    """Choose among the methods that compare values."""
    if facts.get("duplicates"):
        return "ph", "keys occurred several times"
    if isinstance(old, DumpReplica) and old.order == "file":
        return "window", "the replica is in the order of the file"
    if isinstance(old, Dump) and not options.keep_rows and 4 * weight_of(old) > options.memory:
        return "window", "two large files in an unknown order: each is read once"
    return "ph", "whole rows are compared by partitions"


def _special(facts: dict[str, float], in_order: bool) -> tuple[str, str] | None:
    """Return the form for what the last comparison saw, if any."""
    if not facts or facts.get("duplicates") or not facts.get("compared"):
        return None
    inserts, updates, deletes = (facts.get(name, 0.0) for name in ("inserts", "updates", "deletes"))
    if in_order and inserts and not updates and not deletes:
        return "growing", "the last file only had new rows"
    if in_order and updates <= _FEW and not inserts and not deletes:
        return "stagnant", "the last file had few updates and the same rows"
    if in_order:
        return "similar", "the replica is in the order of the file"
    return None


def _fits(old: Dump | DumpReplica, options: Options) -> bool:
    if not isinstance(old, DumpReplica):
        return _small(old.size, options.memory)
    return 2 * entry_bytes(old.size, old.rows, old.whole) < options.memory


def _small(size: int, memory: int) -> bool:
    """Return True if the entries of a file fit into half of the memory."""
    return 2 * entry_bytes(size, 0, whole=True) < memory


def _sizes(old: Dump | DumpReplica, new: Dump, options: Options, facts: dict[str, float]) -> Sizes:
    """Return sizes in blocks, measured where they are known."""
    rows = facts.get("rows") or max(1.0, new.size / _ROW)
    kept = isinstance(old, DumpReplica) and not old.whole
    small = old.size / options.block if kept else rows * _ENTRY / options.block
    return _in_blocks(new.size / options.block, small, {**facts, "rows": rows}, _fits(old, options))


def _in_blocks(blocks: float, small: float, seen: Mapping[str, float], fits: bool) -> Sizes:
    full = max(1.0, blocks)
    rows = seen.get("rows") or max(1.0, blocks * Options.block / _ROW)
    ratio = max(1.0, full / max(small, 1e-9))
    changed = rows * (seen.get("inserts", _CHANGED) + seen.get("updates", _CHANGED))
    pointers = max(1.0, full / (small + rows * 8 / Options.block))
    return Sizes(full, ratio, pointers, changed, float("inf") if fits else 0.0)
