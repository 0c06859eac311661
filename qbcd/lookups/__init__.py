"""Lookups: events joined with relations in databases, by three methods with one result.

    keys of a batch -> broadcast | index | mesh -> partners -> field `lookup` of the events

The enrichment stage stores the result with the batch, so it is computed once (docs/internals/lookups.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.lookups.enricher import IncomingRows, LookupEnricher, LookupJoin, LookupOrigin
    from qbcd.lookups.relation import LookupRelation, resolve_relation
    from qbcd.lookups.shared import SharedSearches
else:
    __getattr__ = on_demand(
        __name__,
        enricher="IncomingRows LookupEnricher LookupJoin LookupOrigin",
        relation="LookupRelation resolve_relation",
        shared="SharedSearches",
    )

__all__ = [
    "IncomingRows",
    "LookupEnricher",
    "LookupJoin",
    "LookupOrigin",
    "LookupRelation",
    "SharedSearches",
    "resolve_relation",
]
