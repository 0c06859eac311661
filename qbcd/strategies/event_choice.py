"""Option `events` of MDS and ID: inserts and deletes alone (Carnes & Hanson 3.5).

The replica has keys alone.

For triggers on insert and delete the paper keeps key values alone, which saves .9 N of the copy. Updates are not looked
for, so no value is compared.
"""

from __future__ import annotations

from typing import Any

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.fields import wrong
from qbcd.config.strategy_base import Needs, StrategyConfig, Variant
from qbcd.config.strategy_values import EventNames
from qbcd.connectors.base import Connector
from qbcd.model import StreamPlan
from qbcd.strategies.in_source import InSource

WITHOUT_UPDATES = ("insert", "delete")


class EventOptions(StrategyConfig):
    """Options of strategies that may look for inserts and deletes alone.

    Attributes:
        events: The kinds of changes to look for; default: all.
    """

    meaning = ("events",)
    varying = ("events",)

    events: EventNames | None = None

    @model_validator(mode="after")
    def _with_inserts_and_deletes(self) -> EventOptions:
        if self.events is not None and not {*WITHOUT_UPDATES} <= {*self.events}:
            missing = " and ".join(name for name in WITHOUT_UPDATES if name not in self.events)
            what = f"a replica of keys finds inserts and deletes together, and {missing} is missing"
            raise wrong(what, "write [insert, delete], or remove `events` for all changes", at="events")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        return [Variant(), Variant({"events": [*WITHOUT_UPDATES]}, "inserts and deletes")]

    @property
    @override
    def options(self) -> dict[str, Any]:
        """All options; `events` is None for all changes."""
        return {**super().options, "events": self._chosen}

    @property
    def _chosen(self) -> tuple[str, ...] | None:
        return None if self.events is None or "update" in self.events else WITHOUT_UPDATES

    @property
    @override
    def without_old_values(self) -> str:
        """The reason if the replica has keys only."""
        return "" if self._chosen is None else "`events: [insert, delete]` keeps keys only"

    @property
    @override
    def old_values_remedy(self) -> str:
        """All events."""
        return "remove `events`"


class EventChoice(InSource):
    """A strategy with option `events`."""

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        if not plan.option("events"):
            return
        self.keeps = "keys"
        self.needs = self.needs.replace("a copy of the captured rows", "the keys of the captured rows")
        self.sees = self.sees.replace(
            "every insert, update and delete, with old and new values", "every insert with its values, and every delete"
        )
        self.misses = f"updates; old values of deleted rows; {self.misses}"
