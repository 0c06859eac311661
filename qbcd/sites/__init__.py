"""Sites: replica, batches and checkpoint of a stream, in one of two wings with shared code.

`qbcd.sites.database` keeps them in the source, `qbcd.sites.lake` in the state database and Parquet files. Upper layers
import from here alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.sites.base import Site
    from qbcd.sites.context import StreamContext, own_row, prepared_elsewhere, refuse_prepared_elsewhere
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.database.own_tables import select_only_choice
    from qbcd.sites.database.site import DatabaseSite
    from qbcd.sites.dumps.site import DumpSite
    from qbcd.sites.eligibility import with_variant
    from qbcd.sites.jdbc.site import JdbcSite
    from qbcd.sites.job import StreamJob
    from qbcd.sites.lake import digest_queue
    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.lake.replica.files import Files
    from qbcd.sites.lake.site import LakeSite
    from qbcd.sites.refusals import check_key, not_prepared
    from qbcd.sites.values import (
        Detection,
        Differences,
        ExplainedStatement,
        LeasedStream,
        ReplicaRows,
        Settings,
        UnseenDeletes,
    )
else:
    __getattr__ = on_demand(
        __name__,
        base="Site",
        context="StreamContext own_row prepared_elsewhere refuse_prepared_elsewhere",
        database__context="DatabaseContext",
        database__own_tables="select_only_choice",
        database__site="DatabaseSite",
        dumps__site="DumpSite",
        eligibility="with_variant",
        jdbc__site="JdbcSite",
        job="StreamJob",
        lake="digest_queue",
        lake__context="LakeContext",
        lake__replica__files="Files",
        lake__site="LakeSite",
        refusals="check_key not_prepared",
        values="Detection Differences ExplainedStatement LeasedStream ReplicaRows Settings UnseenDeletes",
    )

__all__ = [
    "DatabaseContext",
    "DatabaseSite",
    "Detection",
    "Differences",
    "DumpSite",
    "ExplainedStatement",
    "Files",
    "JdbcSite",
    "LakeContext",
    "LakeSite",
    "LeasedStream",
    "ReplicaRows",
    "Settings",
    "Site",
    "StreamContext",
    "StreamJob",
    "UnseenDeletes",
    "check_key",
    "digest_queue",
    "not_prepared",
    "own_row",
    "prepared_elsewhere",
    "refuse_prepared_elsewhere",
    "select_only_choice",
    "with_variant",
]
