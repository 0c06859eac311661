"""Work side by side: one thread for each source, so that none waits for another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed

THREADS = "qbcd-source"


def side_by_side(works: Sequence[Callable[[], object]], on_error: Callable[[], object] = lambda: None) -> None:
    """Run each in a thread of its own, a single one in the caller's; return when all have ended.

    Args:
        on_error: Called at the first exception; should make the others end soon.

    Raises:
        BaseException: The first exception of one of them, or of the waiting thread.
    """
    if len(works) < 2:
        for work in works:
            work()
        return
    with ThreadPoolExecutor(len(works), thread_name_prefix=THREADS) as pool:
        futures = [pool.submit(work) for work in works]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            on_error()
            raise


def first_true(questions: Sequence[Callable[[], bool]]) -> bool:
    """Ask in threads; return True at the first one that is True, and do not wait for the others."""
    if not questions:
        return False
    pool = ThreadPoolExecutor(len(questions), thread_name_prefix=THREADS)
    try:
        return any(future.result() for future in as_completed([pool.submit(question) for question in questions]))
    finally:
        pool.shutdown(wait=False)
