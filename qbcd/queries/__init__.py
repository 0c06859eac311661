"""The SELECT of a query stream: parsed once, refused if it cannot be captured, with its key.

Nothing here opens a connection; the connector gives only the dialect.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.queries.called_names import fewest_arguments, words_of
    from qbcd.queries.keys import relation_of
    from qbcd.queries.origins import Origin, column_origins
    from qbcd.queries.parsed import CapturedQuery, parse_query
    from qbcd.queries.relations import OutputColumn, Relation
    from qbcd.queries.tables import BaseTable, base_tables, folded
    from qbcd.queries.text import Unfit
    from qbcd.queries.views import compared_elsewhere, parse_view
else:
    __getattr__ = on_demand(
        __name__,
        called_names="fewest_arguments words_of",
        keys="relation_of",
        origins="Origin column_origins",
        parsed="CapturedQuery parse_query",
        relations="OutputColumn Relation",
        tables="BaseTable base_tables folded",
        text="Unfit",
        views="compared_elsewhere parse_view",
    )

__all__ = [
    "BaseTable",
    "CapturedQuery",
    "Origin",
    "OutputColumn",
    "Relation",
    "Unfit",
    "base_tables",
    "column_origins",
    "compared_elsewhere",
    "fewest_arguments",
    "folded",
    "parse_query",
    "parse_view",
    "relation_of",
    "words_of",
]
