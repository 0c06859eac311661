"""Options of a comparison as users write them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import TypeAdapter, ValidationError

from qbcd.comparison.compare import DiffOptions
from qbcd.comparison.joined import JoinMethod, JoinOptions
from qbcd.config.document import names_of, parse_yaml
from qbcd.config.fields import Size
from qbcd.config.files import FileFormat
from qbcd.errors import ConfigError


def diff_options(
    key: str | Sequence[str], method: str, memory: str | int, form: str | Mapping[str, Any] | None, **more: Any
) -> DiffOptions:
    """Return the options that a user has written.

    Args:
        key: One name, or several.
        memory: Bytes, or ``256MB``.
        form: The format of files as in the configuration, as YAML or as a mapping.
        more: Further options of :class:`DiffOptions`.

    Raises:
        ConfigError: One is wrong.
    """
    values: dict[str, Any] = {
        **more,
        "key": _names(key),
        "method": method,
        "memory": _checked("memory", Size, memory),
        "form": _format(form),
    }
    for name in ("columns", "exclude"):
        values[name] = _names(more.get(name) or ())
    for name in more.keys() & {"workdir", "project"}:
        values[name] = Path(more[name])
    return DiffOptions(**values)


def join_options(
    on: str, take: str, memory: str | int, method: str, form: str | Mapping[str, Any] | None
) -> JoinOptions:
    """Return the options of a join that a user has written.

    Raises:
        ConfigError: One is wrong.
    """
    child, _, parent = (part.strip() for part in on.partition("="))
    if not child:
        raise ConfigError("--on names no column", remedy="--on order_no, or --on order_no=id")
    known = get_args(JoinMethod)
    if method not in known:
        raise ConfigError(f"there is no method {method!r}", remedy=f"there are {', '.join(known)}")
    names = tuple(part.strip() for part in take.split(",") if part.strip())
    checked: JoinMethod = _checked("method", JoinMethod, method)
    return JoinOptions((child, parent or child), names, _checked("memory", Size, memory), checked, _format(form))


def _names(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(names_of(names or (), "column"))


def _format(form: str | Mapping[str, Any] | None) -> FileFormat:
    if isinstance(form, str):
        form = parse_yaml(form, "--format")[0] if form.strip() else {}
    values = {} if form is None else form
    if not isinstance(values, Mapping):
        raise ConfigError("--format is no mapping of keys and values", remedy="--format '{delimiter: \";\"}'")
    checked: FileFormat = _checked("format", FileFormat, values)
    return checked


def _checked(name: str, kind: Any, value: Any) -> Any:
    try:
        return TypeAdapter(kind).validate_python(value)
    except ValidationError as error:
        found = error.errors(include_url=False, include_input=False)[0]
        context = found.get("ctx", {})
        path = ".".join([name, *map(str, found["loc"])])
        if found["type"] == "extra_forbidden":
            remedy = f"there are {', '.join(FileFormat.keys())}"
            raise ConfigError(f"{path}: there is no such key", remedy=remedy) from None
        what = str(context.get("what", found["msg"])).replace("<value>", repr(context.get("value")))
        raise ConfigError(f"{path}: {what}", remedy=str(context.get("remedy", ""))) from None
