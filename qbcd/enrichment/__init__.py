"""Enrichment: fields that are added to the events of a batch before its first delivery.

    sealed batch -> every enricher, once -> one file, named by a row in the state -> deliveries and readers

The result is stored: every delivery of the batch has the same values, also after a kill
(docs/design/protocol.md#rule-26).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.common.on_demand import on_demand

if TYPE_CHECKING:
    from qbcd.enrichment.enricher import BatchToEnrich, Enricher, SelectingEnricher
    from qbcd.enrichment.stage import Enrichment, forget_files
    from qbcd.enrichment.view import BatchView
else:
    __getattr__ = on_demand(
        __name__, enricher="Enricher SelectingEnricher BatchToEnrich", stage="Enrichment forget_files", view="BatchView"
    )

__all__ = ["BatchToEnrich", "BatchView", "Enricher", "Enrichment", "SelectingEnricher", "forget_files"]
