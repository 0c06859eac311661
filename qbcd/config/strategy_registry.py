"""The registry of strategies. A new one needs a module in `qbcd/strategies` and a line here.

Strategies are above the configuration, which must not import them. So the registry has the path of each class of
options, in the form of an entry point, and imports it when a configuration first uses the strategy. The options know
their strategy (:meth:`StrategyConfig.strategy_class`). An installed package has the same line in the entry-point group
``qbcd.strategies``.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from functools import lru_cache
from importlib.metadata import EntryPoint
from typing import Annotated, Any

from pydantic import PlainValidator, SerializeAsAny, ValidationInfo, WithJsonSchema

from qbcd.common import plugins
from qbcd.config.document import did_you_mean
from qbcd.config.fields import wrong
from qbcd.config.strategy_base import StrategyConfig
from qbcd.errors import ConfigError

BUILT_STRATEGIES = {
    "mds": "qbcd.strategies.mds:MdsOptions",
    "id_rcs": "qbcd.strategies.id_rcs:IdRcsOptions",
    "ts": "qbcd.strategies.ts:TsOptions",
    "tdi": "qbcd.strategies.tdi:TdiOptions",
    "atdi": "qbcd.strategies.atdi:AtdiOptions",
    "tlcs": "qbcd.strategies.tlcs:TlcsOptions",
    "id": "qbcd.strategies.id:IdOptions",
    "vbd": "qbcd.strategies.vbd:VbdOptions",
    "dump": "qbcd.strategies.dump:DumpOptions",
}
CHOSEN_STRATEGIES = {"auto": "qbcd.config.auto_strategy:AutoOptions"}  # needs: the strategy is chosen at `prepare`


def strategy_names() -> tuple[str, ...]:
    """Return the names of strategies: built-in ones, `auto`, then those of installed packages."""
    return tuple(dict.fromkeys((*BUILT_STRATEGIES, *CHOSEN_STRATEGIES, *plugins.installed(plugins.STRATEGIES))))


@lru_cache(maxsize=256)
def options_class(name: str) -> type[StrategyConfig]:
    """Return the class of the options of a strategy; cached, since packages do not change.

    Raises:
        ConfigError: There is no such strategy, or its package is broken.
    """
    own = BUILT_STRATEGIES | CHOSEN_STRATEGIES
    if name in own:
        point = EntryPoint(name, own[name], plugins.STRATEGIES)
    else:
        others = plugins.installed(plugins.STRATEGIES)
        if name not in others:
            known = strategy_names()
            raise ConfigError(f"there is no strategy {name}", remedy=did_you_mean(name, known, _known(known)))
        point = others[name]
    found = plugins.load(point, f"strategy {name}")
    problem = _problem(found, name)
    if problem:
        raise ConfigError(f"strategy {name} ({point.value}) {problem}", remedy=plugins.REMEDY)
    assert isinstance(found, type)
    return found


def frozen_options(strategy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a strategy that are fixed at `prepare`, as JSON-ready data."""
    kind = options_class(strategy)
    return {name: kind.frozen_value(name, options.get(name)) for name in kind.meaning}


def _problem(found: object, name: str) -> str:
    """Return the reason why an object cannot be options of strategy `name`, or an empty text."""
    if not (isinstance(found, type) and issubclass(found, StrategyConfig)):
        return "is not a subclass of qbcd's StrategyConfig"
    if inspect.isabstract(found):
        return "does not define `strategy_class`"
    named = found.model_fields["type"].default == name
    return "" if named else f'does not declare `type: Literal["{name}"] = "{name}"`'


def _known(names: tuple[str, ...]) -> str:
    return f"this version has {', '.join(names[:-1])} and {names[-1]}"


def _strategy(value: Any, info: ValidationInfo) -> StrategyConfig:
    if isinstance(value, StrategyConfig):
        return value
    as_name = isinstance(value, str)
    spelled = {"type": value} if as_name else value
    if not isinstance(spelled, Mapping) or not isinstance(spelled.get("type"), str):
        raise wrong("a strategy is a name, or a mapping with `type` and options", "write `strategy: id_rcs`")
    name, at = spelled["type"], None if as_name else "type"
    known = tuple(BUILT_STRATEGIES) if name in BUILT_STRATEGIES else strategy_names()
    if name not in known:
        raise wrong("there is no strategy <value>", _known(known), at=at, value=name, choices=known)
    try:
        kind = options_class(name)
    except ConfigError as error:
        raise wrong(error.what, error.remedy, at=at) from None
    return kind.model_validate(spelled, context=info.context)


# a placeholder in the JSON Schema: `qbcd.config.schema` inserts the options of all strategies
AnyStrategy = Annotated[
    SerializeAsAny[StrategyConfig], PlainValidator(_strategy), WithJsonSchema({"type": ["string", "object"]})
]
