"""The stream store in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.state_place import Place, open_place
from tests.support.state_suite import LeaseSuite, OutboxSuite, StreamRowSuite


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    with open_place(f"sqlite:///{tmp_path}/state.db", None) as opened:
        yield opened


class TestStreamRows(StreamRowSuite):
    """In a file."""


class TestOutbox(OutboxSuite):
    """In a file."""


class TestLease(LeaseSuite):
    """In a file."""
