"""The strategies that can be chosen for a stream, with the options that its needs give them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from qbcd.config import StrategyConfig
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.strategies import strategy_class

SWEEP = "1h"  # interval of sweeps for deletes, which a timestamp does not show
ORDER = ("atdi", "tdi", "ts", "mds", "id", "tlcs", "id_rcs", "vbd")  # at equal cost, the first one is chosen


@dataclass(frozen=True)
class Candidate:
    """A strategy with options; or the reason why it cannot be tried at all."""

    name: str
    options: StrategyConfig | None
    missing: str = ""


def needs_of(written: StrategyConfig) -> AutoOptions:
    """Return the needs of a stream: those of `auto`, or what the options of another strategy say about them."""
    if isinstance(written, AutoOptions):
        return written
    given: dict[str, Any] = {"type": "auto"}
    for name in ("timestamp", "zone", "lag", "delete_flag", "deleted_value"):
        value = getattr(written, name, None)
        if value is not None:
            given[name] = list(value) if isinstance(value, tuple) else value
    return AutoOptions.model_validate(given)


def candidates(needs: AutoOptions, *, query: bool) -> list[Candidate]:
    """Return every strategy, in the order of preference at equal cost.

    Args:
        needs: The stream's.
        query: The stream captures the result of a query.
    """
    if query:
        what = "reads a table; this stream captures a query"
        others = [Candidate(name, None, what) for name in BUILT_STRATEGIES if name != "vbd"]
        return [_made("vbd", {}), *others]
    found = {
        **{name: _made(name, {}) for name in ("mds", "id", "tlcs")},
        "id_rcs": _made("id_rcs", {}),
        "vbd": Candidate("vbd", None, "captures a query; this stream captures a table"),
        **_by_timestamp(needs),
    }
    return [found[name] for name in ORDER]


def _by_timestamp(needs: AutoOptions) -> dict[str, Candidate]:
    if needs.timestamp is None:
        what = "no timestamp is named: no probe can prove that every writer moves it"
        return {name: Candidate(name, None, what) for name in ("ts", "tdi", "atdi")}
    marked: dict[str, Any] = {"timestamp": list(needs.timestamp)}
    marked |= {name: value for name in ("zone", "lag") if (value := getattr(needs, name)) is not None}
    sweep = {"deletes": {"every": SWEEP}} if needs.need.deletes else {}
    place = {} if needs.write_source else {"replica": "spark"}
    found = {"ts": _made("ts", {**marked, **sweep, **place})}
    if needs.delete_flag is None:
        what = "no delete flag is named"
        return found | {name: Candidate(name, None, what) for name in ("tdi", "atdi")}
    flagged = {**marked, "delete_flag": needs.delete_flag, "deleted_value": needs.deleted_value}
    return found | {name: _made(name, flagged) for name in ("tdi", "atdi")}


def _made(name: str, options: Mapping[str, Any]) -> Candidate:
    return Candidate(name, options_class(name).model_validate({"type": name, **options}))


def finds_deletes(options: StrategyConfig) -> bool:
    """Return True if polls or sweeps show deleted rows; a query is compared as a whole."""
    return options.type == "vbd" or bool(getattr(options, "deletes", True))


def unmet(needs: AutoOptions, options: StrategyConfig) -> str:
    """Return the need or permission that a strategy does not fit, by its options alone; empty if it fits."""
    if needs.need.deletes and not finds_deletes(options):
        return "finds no deletes"
    if needs.need.old_values and options.without_old_values:
        return "has no old values"
    if needs.need.old_values and options.type == "tlcs":
        return "has no old values"
    if not needs.write_source and strategy_class(options.type, options.options).site == "database":
        return "writes to the source, which `write_source: false` forbids"
    return ""
