"""The options of the strategy that captures the result of a query."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import model_validator

from qbcd.config.fields import Count, wrong
from qbcd.config.strategy_section import StrategyConfig


class VbdOptions(StrategyConfig):
    """Options of the strategy that captures the result of a query (paper section 4).

    Attributes:
        variant: How the result is looked at; ``auto`` is what the source allows, settled at prepare.
        buckets: Of variant checksum, whether ranges are of the key or of its hash; None for the hash.
        rows_per_range: Of variant checksum, rows that a range holds when ranges are built.
    """

    meaning = ("variant", "buckets")

    type: Literal["vbd"] = "vbd"
    variant: Literal["auto", "compare", "checksum", "delta"] = "auto"
    buckets: Literal["key", "hash"] | None = None
    rows_per_range: Count | None = None

    @model_validator(mode="after")
    def _fits_variant(self) -> VbdOptions:
        if self.variant == "delta":
            remedy = "write compare, checksum or auto"
            raise wrong("variant delta is not built yet", remedy, at="variant", not_built=True)
        for name in ("buckets", "rows_per_range"):
            if getattr(self, name) is not None and self.variant == "compare":
                raise wrong(f"`{name}` goes with variant checksum only", "remove it", at=name)
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Every option; `variant` is None where the source decides."""
        return {**super().options, "variant": None if self.variant == "auto" else self.variant}
