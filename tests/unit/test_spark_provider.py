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
    """As much of a session as the provider asks for; it lives until `stopped`."""

    def __init__(self) -> None:
        self.stopped = False
        self.conf = SimpleNamespace(get=lambda name: "UTC")
        context = SimpleNamespace(isStopped=lambda: self.stopped)
        self.sparkContext = SimpleNamespace(_jsc=SimpleNamespace(sc=lambda: context))


def test_a_passed_session_is_never_replaced() -> None:
    session = Session()
    passed: Any = session
    provider = SparkProvider(SparkConfig(), list, session=passed)
    assert provider.get() is passed
    session.stopped = True
    for _ in range(2):
        with pytest.raises(Refused, match="the Spark session passed to qbcd has stopped"):
            provider.get()
    provider.stop()  # it is not this provider's to stop, dead or not
