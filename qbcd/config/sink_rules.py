"""Rules between a stream and its sinks.

A sink may need a key, old values, or all rows from the beginning.
"""

from __future__ import annotations

from collections.abc import Iterator

from qbcd.config.document import Document, KeyPath, Problem
from qbcd.config.models import ProjectConfig, TableConfig
from qbcd.config.sink_options import SinkNeeds


def check_sink_needs(config: ProjectConfig, document: Document) -> list[Problem]:
    """Return the problems of streams that do not give what their sinks need."""
    found: dict[Problem, None] = {}
    for index, table in enumerate(config.tables):
        names = config.setting(table, "sinks") or []
        for name in names:
            if name in config.sinks:
                needs = config.sinks[name].needs
                found.update(dict.fromkeys(_problems(config, table, ("tables", index), name, needs)))
    return list(found)


def _problems(
    config: ProjectConfig, table: TableConfig, here: KeyPath, sink: str, needs: SinkNeeds
) -> Iterator[Problem]:
    baseline = config.setting(table, "baseline")
    if needs.baseline and baseline == "silent":
        place = (*(config.place_of(table, "baseline") or here), "baseline")
        what = f"sink {sink} ({needs.subject}) shows all rows, and with `baseline: silent` it would lack those of today"
        yield Problem(place, what, "remove `baseline`: its default is then events")
    if needs.key and table.key == []:
        what = f"sink {sink} ({needs.subject}) finds rows by their key"
        yield Problem((*here, "key"), what, "name the key's columns, or write mode: log for the sink")
    strategy = config.setting(table, "strategy")
    if needs.old_values and strategy is not None and strategy.without_old_values:
        what = f"sink {sink} ({needs.subject}) needs old values: {strategy.without_old_values}"
        yield Problem((*here, "sinks"), what, f"{strategy.old_values_remedy}, or write envelope: qbcd for the sink")
