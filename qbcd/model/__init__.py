"""Frozen values that pass through all layers: tables of a source, plans, ranges, batches.

Nothing here opens a connection, reads a clock or imports Spark.
"""

from qbcd.model.batches import PART, WAITED, WHOLE, BatchHeader, Consistency, Cost, PlannedBatch, ResentRows, digest_of
from qbcd.model.columns import Column, Comparison, ServerIdentity, Table, Travel, TravelKind, names, travel_from_json
from qbcd.model.plans import KeyRange, NamedKey, RowSelection, Statement, StreamPlan

__all__ = [
    "PART",
    "WAITED",
    "WHOLE",
    "BatchHeader",
    "Column",
    "Comparison",
    "Consistency",
    "Cost",
    "KeyRange",
    "NamedKey",
    "PlannedBatch",
    "ResentRows",
    "RowSelection",
    "ServerIdentity",
    "Statement",
    "StreamPlan",
    "Table",
    "Travel",
    "TravelKind",
    "digest_of",
    "names",
    "travel_from_json",
]
