"""Sites: where a stream's replica, batches and checkpoint live and move in one step."""

from __future__ import annotations

from qbcd.sites.auditing import last as last_audit
from qbcd.sites.base import Site
from qbcd.sites.database import DatabaseSite
from qbcd.sites.files import Files
from qbcd.sites.guards import not_prepared
from qbcd.sites.moved import kept_row
from qbcd.sites.spark import SparkSite
from qbcd.sites.values import Detection, Difference, Differences, Held, Settings, Step
from qbcd.sites.variant import with_variant

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
