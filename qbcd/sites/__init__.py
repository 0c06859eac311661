"""Sites: where a stream's replica, batches and checkpoint live and move in one step."""

from __future__ import annotations

from qbcd.sites.base import Site
from qbcd.sites.checkpoint import last as last_audit
from qbcd.sites.context import kept_row
from qbcd.sites.database.site import DatabaseSite
from qbcd.sites.lake.replica.files import Files
from qbcd.sites.lake.site import LakeSite
from qbcd.sites.query_variant import with_variant
from qbcd.sites.refusals import not_prepared
from qbcd.sites.values import Detection, Difference, Differences, ExplainedStatement, LeasedStream, Settings

__all__ = [
    "DatabaseSite",
    "Detection",
    "Difference",
    "Differences",
    "ExplainedStatement",
    "Files",
    "LakeSite",
    "LeasedStream",
    "Settings",
    "Site",
    "kept_row",
    "last_audit",
    "not_prepared",
    "with_variant",
]
