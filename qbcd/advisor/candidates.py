"""The strategies that can be chosen for a stream, with the options that its needs give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from qbcd.config import StrategyConfig
from qbcd.config.auto_strategy import AutoOptions
from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.strategies import strategy_class


@dataclass(frozen=True)
class Candidate:
    """A strategy with options; or the reason why it cannot be tried at all.

    Attributes:
        name: The strategy.
        variant: What its options keep or find, other than the strategy does by default: ``replica digest``.
        keeps_twice: Digests and a copy are kept, with two places or tables that a poll changes.
        for_auto: `auto` may choose it.
    """

    name: str
    options: StrategyConfig | None
    missing: str = ""
    variant: str = ""
    keeps_twice: bool = False
    for_auto: bool = True

    @property
    def label(self) -> str:
        """The strategy with its variant."""
        return labeled(self.name, self.variant)


def labeled(name: str, variant: str) -> str:
    """Return a strategy's label with its variant."""
    return f"{name}, {variant}" if variant else name


def needs_of(written: StrategyConfig) -> AutoOptions:
    """Return the needs of a stream: those of `auto`, or as another strategy's options imply.

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
        query: The stream captures the result of a query.
    """
    kinds = {name: options_class(name) for name in BUILT_STRATEGIES}
    if query:
        what = "reads a table; this stream captures a query"
        others = [Candidate(name, None, what) for name, kind in kinds.items() if not kind.reads_query]
        return [one for kind in kinds.values() if kind.reads_query for one in _variants(kind, needs)] + others
    found = []
    for kind in sorted((one for one in kinds.values() if one.preference), key=lambda one: one.preference):
        what = "captures a query; this stream captures a table"
        found += [Candidate(_name(kind), None, what)] if kind.reads_query else _variants(kind, needs)
    return found


def _variants(kind: type[StrategyConfig], needs: AutoOptions) -> list[Candidate]:
    """Return a strategy with the options of each of its variants."""
    return [
        Candidate(_name(kind), None, one.missing)
        if one.missing
        else Candidate(
            _name(kind),
            kind.model_validate({"type": _name(kind), **one.options}),
            variant=one.label,
            keeps_twice=one.keeps_twice,
        )
        for one in kind.variants(needs)
    ]


def _name(kind: type[StrategyConfig]) -> str:
    return str(kind.model_fields["type"].default)


def alike(some: Iterable[Candidate], strategy: str, options: Mapping[str, Any]) -> Candidate | None:
    """Return the candidate of a strategy whose variant is that of `options`, or None."""
    varying = options_class(strategy).varying
    wanted = _values(varying, options)
    able = (one for one in some if one.name == strategy and one.options is not None)
    return next((one for one in able if one.options and _values(varying, one.options.options) == wanted), None)


def _values(names: Sequence[str], options: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return the values of some options; a list of a file is as good as a tuple."""
    values = (options.get(name) for name in names)
    return tuple(tuple(value) if isinstance(value, list) else value for value in values)


def finds_deletes(options: StrategyConfig) -> bool:
    """Return True if polls or sweeps show deleted rows; a query is compared as a whole."""
    return options.type == "vbd" or bool(getattr(options, "deletes", True))


def finds_updates(options: StrategyConfig) -> bool:
    """Return True if updated rows are reported."""
    return not options.options.get("events")


def unmet(needs: AutoOptions, options: StrategyConfig) -> str:
    """Return the need or permission that a strategy does not fit, by its options alone.

    Empty if it fits.
    """
    if needs.need.deletes and not finds_deletes(options):
        return "finds no deletes"
    if needs.need.updates and not finds_updates(options):
        return "finds no updates"
    if needs.need.old_values and options.without_old_values:
        return "has no old values"
    if not needs.write_source and strategy_class(options.type, options.options).writes_source:
        return "writes to the source, which `write_source: false` forbids"
    return ""
