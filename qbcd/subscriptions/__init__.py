"""Subscriptions: thousands of conditions over the events of a stream, matched together.

Carnes & Hanson's future work: conditions that differ in their literals become one query, joined with a relation of
the literals.
"""

from __future__ import annotations

from qbcd.subscriptions.definition import ConditionRefused, Subscription, When
from qbcd.subscriptions.matcher import Matcher

__all__ = ["ConditionRefused", "Matcher", "Subscription", "When"]
