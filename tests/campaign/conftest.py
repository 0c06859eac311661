"""Cases of the campaign take minutes, and have limits of their own."""

from __future__ import annotations

import faulthandler

import pytest


@pytest.fixture(autouse=True)
def _no_dump_of_stacks() -> None:
    """Cancel pytest's dump of all stacks: of a long case it shows nothing, and it can end the process."""
    faulthandler.cancel_dump_traceback_later()
