"""Eligibility: can this strategy run on this source, for this role and table?

`check`, `advise`, `prepare` and `diff` use the same checks, before anything is created. Both wings use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.sites.eligibility.checksums import ComparedTable, Kind, kind_for, why_complete, why_separate
    from qbcd.sites.eligibility.index import STORED, missing_index, refuse_unordered_key
    from qbcd.sites.eligibility.query import refuse_other_columns, why_not_incremental, with_variant
    from qbcd.sites.eligibility.rights import (
        MissingRight,
        grants,
        missing_right,
        missing_schema_right,
        missing_session_right,
        missing_write_rights,
        own_schema,
        refuse_missing,
        refuse_missing_rights,
    )
    from qbcd.sites.eligibility.values import Place, Remark
    from qbcd.sites.eligibility.watermark import refuse_unsafe_watermark, suggestions, watermark_remarks
else:
    __getattr__ = on_demand(
        __name__,
        checksums="ComparedTable Kind kind_for why_complete why_separate",
        index="STORED missing_index refuse_unordered_key",
        query="refuse_other_columns why_not_incremental with_variant",
        rights=(
            "MissingRight grants missing_right missing_schema_right missing_session_right missing_write_rights "
            "own_schema refuse_missing refuse_missing_rights"
        ),
        values="Place Remark",
        watermark="refuse_unsafe_watermark suggestions watermark_remarks",
    )

__all__ = [
    "STORED",
    "ComparedTable",
    "Kind",
    "MissingRight",
    "Place",
    "Remark",
    "grants",
    "kind_for",
    "missing_index",
    "missing_right",
    "missing_schema_right",
    "missing_session_right",
    "missing_write_rights",
    "own_schema",
    "refuse_missing",
    "refuse_missing_rights",
    "refuse_other_columns",
    "refuse_unordered_key",
    "refuse_unsafe_watermark",
    "suggestions",
    "watermark_remarks",
    "why_complete",
    "why_not_incremental",
    "why_separate",
    "with_variant",
]
