"""Load a YAML file or a dict as a :class:`~qbcd.config.models.ProjectConfig`.

The steps are: text -> values with lines -> placeholders replaced -> models -> rules between sections. For any input
the only errors are :class:`~qbcd.errors.ConfigError` and its subclasses. One error reports all problems of a step, and
no message contains a secret.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from qbcd.config.document import (
    Document,
    KeyPath,
    Problem,
    did_you_mean,
    parse_yaml,
    plain_data,
    quoted,
    raise_problems,
)
from qbcd.config.fields import Section
from qbcd.config.files import FileFormat, FilesConfig, FixedField
from qbcd.config.hints import merged, missing_key, shape, unknown_key
from qbcd.config.jdbc_source import JdbcDriverConfig, JdbcSourceConfig, ProfileConfig
from qbcd.config.lookups import LookupConfig
from qbcd.config.models import (
    DefaultsConfig,
    JdbcConfig,
    ProjectConfig,
    SourceConfig,
    SparkConfig,
    TableConfig,
    source_class,
)
from qbcd.config.notify import NotifyConfig
from qbcd.config.openlineage import OpenLineageConfig
from qbcd.config.rules import check_rules
from qbcd.config.secrets import expand
from qbcd.config.sink_registry import sink_options
from qbcd.config.storage import StorageConfig
from qbcd.config.strategy_registry import options_class
from qbcd.config.streams import GuardsConfig, StreamDefaults
from qbcd.config.subscriptions import InlineConfig, RelationConfig, SubscriptionsConfig
from qbcd.errors import ConfigError

MAX_BYTES = 1_000_000

# By pydantic's name of an error: message and remedy.
_WORDS = {
    "string_type": ("expected text", "put it in quotes"),
    "string_unicode": ("this text is not valid Unicode", "correct it"),
    "int_type": ("expected a whole number", "write one such as 10"),
    "int_parsing": ("expected a whole number", "write one such as 10"),
    "int_parsing_size": ("this number is too large", "write a smaller one"),
    "int_from_float": ("expected a whole number", "write one such as 10"),
    "float_type": ("expected a number", "write one such as 0.5"),
    "float_parsing": ("expected a number", "write one such as 0.5"),
    "finite_number": ("expected a finite number", "write one such as 0.5"),
    "list_type": ("expected a list", "write [a, b]"),
    "dict_type": ("expected a mapping", "write keys and values, indented"),
    "model_type": ("expected a mapping", "write keys and values, indented"),
    "too_short": ("the list is empty", "add at least one"),
}
_SHAPED = ("list_type", "dict_type", "model_type")


def load_config(path: str | os.PathLike[str]) -> ProjectConfig:
    """Read a configuration file.

    Args:
        path: The YAML file; relative paths in it start from its folder.

    Raises:
        ConfigError: The file cannot be read or is wrong; `NotBuilt` if it uses a feature that does not exist yet.
    """
    display = os.fspath(path)
    return config_from_text(read_text(Path(display), display), path)


def config_from_text(text: str, path: str | os.PathLike[str]) -> ProjectConfig:
    """Build a configuration from the text of a file, which need not be written yet.

    Raises:
        ConfigError: As :func:`load_config`.
    """
    display = os.fspath(path)
    values, lines = parse_yaml(text, display)
    folder = Path(os.path.abspath(display)).parent
    return _build(Document(display, folder, values, lines))


def config_from_dict(data: Mapping[str, Any], base_dir: str | os.PathLike[str] = ".") -> ProjectConfig:
    """Build a configuration from values of the same shape as the file.

    Errors have a key path, but no file and line.

    Args:
        data: Text, numbers, booleans, lists, mappings; a `SecretStr` is accepted as a password for any host.
        base_dir: The folder from which relative paths start.

    Raises:
        ConfigError: As :func:`load_config`.
    """
    return _build(Document("", Path(os.path.abspath(base_dir)), plain_data(data)))


def read_text(path: Path, display: str) -> str:
    """Return the text of a configuration.

    Raises:
        ConfigError: It cannot be read; the message calls it `display`.
    """
    try:
        if not path.exists():
            remedy = "`qbcd init` writes one; -c FILE names another"
            raise ConfigError(f"there is no configuration file {quoted(display)}", remedy=remedy)
        if not path.is_file():
            raise ConfigError(f"{quoted(display)} is not a regular file", remedy="name a YAML file")
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        what = f"{quoted(display)} cannot be read: {type(error).__name__}"
        raise ConfigError(what, remedy="check the path and its permissions") from None
    if len(data) > MAX_BYTES:
        raise ConfigError("the file is larger than 1 MB", remedy="name a qbcd configuration", where=display)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        where = f"{display}:{data.count(10, 0, error.start) + 1}"
        raise ConfigError("the file is not UTF-8", remedy="save it as UTF-8", where=where) from None


def _build(document: Document) -> ProjectConfig:
    if not isinstance(document.raw, dict):
        what, remedy = "expected a mapping with `version`, `sources` and `tables`", "`qbcd init` writes an example"
        raise_problems(document, [Problem((), what, remedy)])
    values, shown, problems = expand(document)
    document = replace(document, interpolated=shown)
    unresolved = [problem.path for problem in problems]
    if values.get("version") is None:
        problems.append(Problem(("version",), "`version` is missing", "write version: 1"))
        values["version"] = 1  # so that the other problems are reported too
    config, found = _validated(document, values)
    if config is not None:
        found = check_rules(config, document)
    problems += (one for one in found if not any(one.path[: len(path)] == path for path in unresolved))
    # outside the except block of `_validated`, so that no chained exception contains the input
    raise_problems(document, problems)
    if config is None:
        raise ConfigError(
            "the configuration is not valid", remedy="`qbcd schema` prints its JSON Schema", where=document.display
        )
    config._document = document
    return config


def _validated(document: Document, values: Any) -> tuple[ProjectConfig | None, list[Problem]]:
    """Return the models of a configuration, or the problems inside single models."""
    try:
        return ProjectConfig.model_validate(values, context={"base_dir": document.base_dir}), []
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)
        return None, merged(document, [_problem(document, values, details) for details in found])


def _problem(document: Document, values: Any, details: ErrorDetails) -> Problem:
    loc, kind, context = details["loc"], details["type"], details.get("ctx", {})
    path: KeyPath = loc
    if kind == "qbcd":
        return _own(document, path, context)
    if kind == "extra_forbidden":
        return unknown_key(document, path, _model_at(values, loc[:-1]))
    if kind == "missing":
        return missing_key(path, _model_at(values, loc[:-1]))
    if kind == "literal_error":
        number = ", a number without quotes" if context["expected"].isdecimal() else ""
        return Problem(path, "this value is not known here", f"expected {context['expected']}{number}")
    bound = {"greater_than_equal": "ge", "less_than_equal": "le"}.get(kind)
    if bound:
        side = "small" if bound == "ge" else "large"
        return Problem(
            path, f"this number is too {side}", f"it must be at {'least' if bound == 'ge' else 'most'} {context[bound]}"
        )
    what, remedy = _WORDS.get(kind, ("this value is not valid here", "`qbcd schema` prints the JSON Schema"))
    return Problem(path, what, (shape(path) if kind in _SHAPED else "") or remedy)


def _own(document: Document, path: KeyPath, context: Mapping[str, Any]) -> Problem:
    """Return a problem found by a validator of qbcd; values from placeholders are not shown."""
    if context["at"] is not None:
        path = (*path, context["at"])
    what, remedy, value = context["what"], context["remedy"], context["value"]
    if value is not None:
        what = what.replace("<value>", document.shown(path, value))
        if not document.is_hidden(path):
            remedy = did_you_mean(value, context["choices"], remedy)
    return Problem(path, what, remedy, context["not_built"])


def _depth(loc: tuple[str | int, ...]) -> int:
    """Return the length of the location of a table or of `defaults`; 0 elsewhere."""
    if loc[:1] == ("sources",):
        return 3 if loc[2:3] == ("defaults",) else 0
    return {"defaults": 1, "tables": 2}.get(str(loc[0]), 0) if loc else 0


def _model_at(values: Any, loc: tuple[str | int, ...]) -> type[Section]:
    """Return the model of a mapping.

    Args:
        values: The configuration with placeholders replaced, which names the strategy and so the model of its options.
        loc: The location of the mapping, as pydantic gives it.
    """
    if loc[:1] == ("sinks",):
        of_sink: type[Section] = sink_options(values["sinks"][loc[1]]["type"])
        for key in loc[2:]:
            of_sink = of_sink.section(str(key))
        return of_sink
    start = _depth(loc) + 1
    if start > 1 and loc[start - 1 : start] == ("strategy",):
        for part in loc[:start]:
            values = values[part]
        model: type[Section] = options_class(values if isinstance(values, str) else values["type"])
        for key in loc[start:]:
            model = model.section(str(key))
        return model
    if loc[-1:] == ("guards",):
        return GuardsConfig
    if loc[:1] == ("sources",):
        return _source_model(values, loc)
    if loc[:1] == ("subscriptions",) and len(loc) > 1:
        return RelationConfig if loc[1] == "from" else InlineConfig
    sections: dict[str | int, type[Section]] = {
        "subscriptions": SubscriptionsConfig,
        "lookups": LookupConfig,
        "tables": TableConfig,
        "defaults": DefaultsConfig,
        "spark": SparkConfig,
        "storage": StorageConfig,
        "notify": NotifyConfig,
        "openlineage": OpenLineageConfig,
    }
    return sections[loc[0]] if loc else ProjectConfig


def _source_model(values: Any, loc: tuple[str | int, ...]) -> type[Section]:
    written = source_class(values["sources"][loc[1]])
    if written is JdbcSourceConfig:
        parts: dict[str | int, type[Section]] = {"jdbc": JdbcDriverConfig, "profile": ProfileConfig}
        return JdbcSourceConfig if len(loc) == 2 else parts[loc[2]]
    if written is SourceConfig:
        inner: dict[str | int, type[Section]] = {"jdbc": JdbcConfig, "defaults": StreamDefaults}
        return SourceConfig if len(loc) == 2 else inner[loc[2]]
    if len(loc) == 2:
        return FilesConfig
    return FileFormat if len(loc) == 3 else FixedField
