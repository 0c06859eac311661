"""Work that makes very many objects at once."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def many_objects() -> Iterator[None]:
    """Pause the collection of cycles in the block, whose objects stay and have none.

    Python would search all objects again each time their number has grown by a quarter.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()
