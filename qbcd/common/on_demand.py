"""Names of packages, imported on first use, so that a command loads only what it needs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pkgutil import resolve_name
from typing import Any, TypeVar

from typing_extensions import override

T = TypeVar("T")


def on_demand(package: str, **modules: str) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package that imports a name's module on first use.

    Type checkers read the imports under `TYPE_CHECKING` instead; tests/unit/repository/test_imports.py compares both.

    Args:
        modules: The names that each module has, separated by spaces; `a__b` is the module `a.b` of the package. A name
            may be a module too.
    """
    places = {name: module for module, names in modules.items() for name in names.split()}

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        place = f"{package}.{places[name].replace('__', '.')}"
        module = import_module(place)
        found = getattr(module, name) if hasattr(module, name) else import_module(f"{place}.{name}")
        setattr(sys.modules[package], name, found)  # the next use does not come here
        return found

    return get


class Registry(Mapping[str, type[T]]):
    """Classes by name, each imported when it is first read.

    Args:
        places: The place of each class, in the form of an entry point: ``package.module:Class``.
    """

    def __init__(self, places: Mapping[str, str]) -> None:
        self.places = dict(places)

    @override
    def __getitem__(self, name: str) -> type[T]:
        found: type[T] = resolve_name(self.places[name])
        return found

    @override
    def __contains__(self, name: object) -> bool:
        return name in self.places

    @override
    def __iter__(self) -> Iterator[str]:
        return iter(self.places)

    @override
    def __len__(self) -> int:
        return len(self.places)
