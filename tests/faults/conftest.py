"""What fault tests share: hooks end with their test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from qbcd import hooks


@pytest.fixture(autouse=True)
def _no_hooks_afterwards() -> Iterator[None]:
    yield
    for point in hooks.POINTS:
        hooks.register(point, None)
