"""Handling of a Spark session that ended, tested without Spark.

tests/faults/test_spark_dies.py kills a session.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from qbcd.config import SparkConfig
from qbcd.errors import Refused
from qbcd.spark.provider import SparkProvider


class Session:
    """The part of a session that the provider uses; it lives until `stopped`."""

    def __init__(self) -> None:
        self.stopped = False
        self.conf = SimpleNamespace(get=lambda name: "UTC")
        context = SimpleNamespace(isStopped=lambda: self.stopped)
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context))


def test_a_given_session_is_never_replaced() -> None:
    session = Session()
    handed_in: Any = session
    provider = SparkProvider(SparkConfig(), list, session=handed_in)
    assert provider.get() is handed_in
    session.stopped = True
    for _ in range(2):
        with pytest.raises(Refused, match="the Spark session handed in has stopped"):
            provider.get()
    provider.stop()  # this provider does not own the session, dead or not
