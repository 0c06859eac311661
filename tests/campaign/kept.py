"""Cases of long tests that stay in `make test`; their other cases run in the campaign.

A test is named by file and function. The cases that stay are named by their ids, as pytest prints them in brackets;
none means that all of the test runs in the campaign, where the comment names the test that covers its behaviour.
"""

from __future__ import annotations

KEPT: dict[str, tuple[str, ...]] = {}


def is_kept(nodeid: str) -> bool:
    """Return False if a test of :data:`KEPT` is not among its cases that stay."""
    test, _, case = nodeid.partition("[")
    return test not in KEPT or case.removesuffix("]") in KEPT[test]
