"""The strategies that can be chosen for a stream, with the options that its needs give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from qbcd.config import StrategyConfig
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.strategies import QueuedTlcs, strategy_class

_KEYS = {"events": ["insert", "delete"]}
SWEEP = "1h"  # interval of sweeps for deletes, which a timestamp does not show
ORDER = ("atdi", "tdi", "ts", "mds", "id", "tlcs", "id_rcs", "vbd")  # at equal cost, the first one is chosen


VARYING = ("replica", "checksums", "events")  # options that make a variant


@dataclass(frozen=True)
class Candidate:
    """A strategy with options; or the reason why it cannot be tried at all.

    Attributes:
        name: The strategy.
        variant: What its options keep or find, other than the strategy does by default: ``replica digest``.
    """

    name: str
    options: StrategyConfig | None
    missing: str = ""
    variant: str = ""

    @property
    def label(self) -> str:
        """The strategy with its variant."""
        return labeled(self.name, self.variant)

    @property
    def keeps_twice(self) -> bool:
        """True if digests and a copy are kept, with two places or tables that a poll changes."""
        return self.name == "tlcs" and self.variant.startswith("replica")


def labeled(name: str, variant: str) -> str:
    """Return a strategy's label with its variant."""
    return f"{name}, {variant}" if variant else name


def needs_of(written: StrategyConfig) -> AutoOptions:
    """Return the needs of a stream: those of `auto`, or what the options of another strategy say about them.

    What a strategy that the user wrote does not find or keep is not needed.
    """
    if isinstance(written, AutoOptions):
        return written
    need = {
        "deletes": finds_deletes(written),
        "updates": finds_updates(written),
        "old_values": not written.without_old_values,
    }
    given: dict[str, Any] = {"type": "auto", "need": need}
    for name in ("timestamp", "zone", "lag", "delete_flag", "deleted_value"):
        value = getattr(written, name, None)
        if value is not None:
            given[name] = list(value) if isinstance(value, tuple) else value
    return AutoOptions.model_validate(given)


def candidates(needs: AutoOptions, *, query: bool) -> list[Candidate]:
    """Return every strategy with its variants, in the order of preference at equal cost.

    Args:
        needs: The stream's.
        query: The stream captures the result of a query.
    """
    if query:
        what = "reads a table; this stream captures a query"
        others = [Candidate(name, None, what) for name in BUILT_STRATEGIES if name != "vbd"]
        digest = _made("vbd", {"variant": "compare", "replica": "digest"}, "replica digest")
        return [_made("vbd", {}), digest, *others]
    found = {
        **{name: [_made(name, {}), _made(name, _KEYS, "inserts and deletes")] for name in ("mds", "id")},
        "tlcs": [_made("tlcs", {}), *(_made("tlcs", {"replica": at}, f"replica {at}") for at in ("source", "lake"))],
        "id_rcs": [_made("id_rcs", {}), _made("id_rcs", {"replica": "digest"}, "replica digest")],
        "vbd": [Candidate("vbd", None, "captures a query; this stream captures a table")],
        **{name: [one] for name, one in _by_timestamp(needs).items()},
    }
    return [one for name in ORDER for one in found[name]]


def alike(some: Iterable[Candidate], strategy: str, options: Mapping[str, Any]) -> Candidate | None:
    """Return the candidate of a strategy whose variant is that of `options`; None if there is none."""
    wanted = _variant(options)
    able = (one for one in some if one.name == strategy and one.options is not None)
    return next((one for one in able if one.options and _variant(one.options.options) == wanted), None)


def _variant(options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the options that make a variant; a list of a file is as good as a tuple."""
    values = (options.get(name) for name in VARYING)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


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


def _made(name: str, options: Mapping[str, Any], variant: str = "") -> Candidate:
    return Candidate(name, options_class(name).model_validate({"type": name, **options}), variant=variant)


def finds_deletes(options: StrategyConfig) -> bool:
    """Return True if polls or sweeps show deleted rows; a query is compared as a whole."""
    return options.type == "vbd" or bool(getattr(options, "deletes", True))


def finds_updates(options: StrategyConfig) -> bool:
    """Return True if updated rows are reported."""
    return not options.options.get("events")


def writes_source(options: StrategyConfig) -> bool:
    """Return True if the strategy keeps tables in the source; its replica may be elsewhere."""
    kind = strategy_class(options.type, options.options)
    return kind.site == "database" or issubclass(kind, QueuedTlcs)


def unmet(needs: AutoOptions, options: StrategyConfig) -> str:
    """Return the need or permission that a strategy does not fit, by its options alone; empty if it fits."""
    if needs.need.deletes and not finds_deletes(options):
        return "finds no deletes"
    if needs.need.updates and not finds_updates(options):
        return "finds no updates"
    if needs.need.old_values and options.without_old_values:
        return "has no old values"
    if not needs.write_source and writes_source(options):
        return "writes to the source, which `write_source: false` forbids"
    return ""
