"""Descriptions of configuration keys, from ``Attributes:`` of the models' docstrings."""

from __future__ import annotations

import inspect
import re

from pydantic import BaseModel

_SECTION = re.compile(r"^Attributes:\n((?:[ \t]+\S.*(?:\n|\Z)|[ \t]*\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^ {4}(\w+): (.+(?:\n {5,}.+)*)", re.MULTILINE)


def descriptions(model: type[BaseModel]) -> dict[str, str]:
    """Return the description of each key of a mapping, by the name that users write.

    The description of ``Field`` comes first, then the docstring of the model, then those of its bases. Packages with
    strategies of their own can use either. A key without a description is missing.
    """
    written: dict[str, str] = {}
    for base in reversed(model.__mro__):
        written.update(_attributes(base))
    found: dict[str, str] = {}
    for name, field in model.model_fields.items():
        text = field.description or written.get(name, "")
        if text:
            found[field.alias or name] = text
    return found


def _attributes(model: type) -> dict[str, str]:
    section = _SECTION.search(inspect.cleandoc(model.__dict__.get("__doc__") or ""))
    entries = _ENTRY.findall(section[1]) if section else []
    return {name: " ".join(text.split()).replace("``", "`") for name, text in entries}
