"""Sites: where a stream's replica, batches and checkpoint live and move in one step."""

from __future__ import annotations

from qbcd.sites.base import Site
from qbcd.sites.checkpoint import last as last_audit
from qbcd.sites.context import kept_row
from qbcd.sites.database.site import DatabaseSite
from qbcd.sites.lake.replica.files import Files
from qbcd.sites.lake.site import SparkSite
from qbcd.sites.query_variant import with_variant
from qbcd.sites.refusals import not_prepared
from qbcd.sites.values import Detection, Difference, Differences, Held, Settings, Step

__all__ = [
    "DatabaseSite",
    "Detection",
    "Difference",
    "Differences",
    "Files",
    "Held",
    "Settings",
    "Site",
    "SparkSite",
    "Step",
    "kept_row",
    "last_audit",
    "not_prepared",
    "with_variant",
]
