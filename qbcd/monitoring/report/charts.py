"""Charts of a report as SVG of numbers only: polls and events over time, cost, ranges."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markupsafe import Markup, escape

from qbcd.common.wording import counted
from qbcd.monitoring.report.facts import ShownRange
from qbcd.monitoring.report.words import age, moment
from qbcd.state import Run

SLOTS = 60  # of time
WIDTH, HEIGHT, LEFT = 660, 90, 60
MOST_CELLS = 400
CELLS_A_ROW = 50
CELL = 12
OPS = ("c", "u", "d", "r")
WORST = ("refused", "failed", "ok", "empty")
AGES = (60.0, 600.0, 3600.0, 86400.0)  # upper bounds of the shades of a visit's age, in seconds


@dataclass(frozen=True)
class Slot:
    """The polls of one part of the time that a chart shows."""

    start: float
    end: float
    runs: Sequence[Run]

    @property
    def outcome(self) -> str:
        """The worst outcome, or an empty string without polls."""
        seen = {run.outcome for run in self.runs}
        return next((one for one in WORST if one in seen), "")

    def count(self, op: str) -> int:
        """Return the number of events of an op."""
        return sum(int(run.counts.get(op, 0)) for run in self.runs)

    def most(self, key: str) -> int:
        """Return the highest cost of a poll."""
        return max((int(run.cost.get(key, 0)) for run in self.runs), default=0)


def slots(runs: Sequence[Run]) -> list[Slot]:
    """Divide the time of the polls into `SLOTS` equal parts; empty without polls."""
    if not runs:
        return []
    first, last = min(run.started_at for run in runs), max(run.finished_at for run in runs)
    length = max(last - first, 1.0) / SLOTS
    groups: list[list[Run]] = [[] for _ in range(SLOTS)]
    for run in runs:
        groups[min(SLOTS - 1, int((run.finished_at - first) / length))].append(run)
    return [Slot(first + n * length, first + (n + 1) * length, group) for n, group in enumerate(groups)]


def polls(parts: Sequence[Slot]) -> Markup:
    """Return a strip with the worst outcome of each slot."""
    width, shapes = (WIDTH - LEFT) / SLOTS, [_rect((LEFT, 0, WIDTH - LEFT, 16), "o-none")]
    shapes += [
        _rect((LEFT + n * width, 0, width - 1, 16), f"o-{one.outcome}", _said(one))
        for n, one in enumerate(parts)
        if one.runs
    ]
    return _svg(shapes, 18, "Polls over time")


def events(parts: Sequence[Slot]) -> Markup:
    """Return stacked bars with the events of each slot, by op."""
    top = max((sum(map(one.count, OPS)) for one in parts), default=0)
    width, shapes = (WIDTH - LEFT) / SLOTS, _axis(top)
    for n, one in enumerate(parts):
        base = float(HEIGHT)
        for op in OPS:
            if number := one.count(op):
                tall = max(1.0, number / top * (HEIGHT - 12))
                base -= tall
                said = f"{moment(one.start)}: {number:,} of op {op}"
                shapes.append(_rect((LEFT + n * width, base, width - 1, tall), f"op-{op}", said))
    return _svg(shapes, HEIGHT + 2, "Events over time")


def cost(parts: Sequence[Slot], rows: int | None) -> Markup:
    """Return bars of the most rows that a poll of each slot scanned, and a full-scan line."""
    top = max([rows or 0, *(one.most("rows_scanned") for one in parts)])
    width, shapes = (WIDTH - LEFT) / SLOTS, _axis(top)
    for n, one in enumerate(parts):
        for key in ("rows_scanned", "rows_shipped"):
            if number := one.most(key):
                tall = max(1.0, number / top * (HEIGHT - 12))
                said = f"{moment(one.start)}: {number:,} {key.replace('_', ' ')} by one poll"
                shapes.append(_rect((LEFT + n * width, HEIGHT - tall, width - 1, tall), f"c-{key}", said))
    if rows and top:
        y = HEIGHT - rows / top * (HEIGHT - 12)
        said = f"<title>a scan of the table: {counted(rows, 'row')}</title>"
        shapes.append(f'<line x1="{LEFT}" x2="{WIDTH}" y1="{y:.1f}" y2="{y:.1f}" class="scan">{said}</line>')
    return _svg(shapes, HEIGHT + 2, "Rows scanned by polls, and rows of the table")


def ranges(found: Sequence[ShownRange]) -> Markup:
    """Return a map of the ranges in key order; each cell is one range, or several if many."""
    size = math.ceil(len(found) / MOST_CELLS)
    shapes, first = [], 1
    groups = [found[n : n + size] for n in range(0, len(found), size)]
    for n, group in enumerate(groups):
        place = (n % CELLS_A_ROW * (CELL + 1), n // CELLS_A_ROW * (CELL + 1), CELL, CELL)
        last, heat = first + len(group) - 1, max(one.heat for one in group)
        ago = None if any(one.ago is None for one in group) else max(one.ago or 0.0 for one in group)
        names = f"range {first:,}" if last == first else f"ranges {first:,} to {last:,}"
        visited = "never visited" if ago is None else f"visited {age(ago)} ago"
        said = f"{names}: {counted(sum(one.rows for one in group), 'row')}, {visited}"
        said += f", heat {heat:.2f}" if heat else ""
        shapes.append(_rect(place, f"age-{shade(ago)}{' hot' if heat else ''}", said))
        first = last + 1
    return _svg(shapes, math.ceil(len(groups) / CELLS_A_ROW) * (CELL + 1), "Ranges by their last visit")


def shade(ago: float | None) -> int:
    """Return the shade of an age: 0 for a recent visit, the last for a range never visited."""
    return len(AGES) + 1 if ago is None else sum(ago > limit for limit in AGES)


def _said(slot: Slot) -> str:
    numbers = [f"{sum(run.outcome == one for run in slot.runs)} {one}" for one in WORST]
    shown = [text for text in numbers if not text.startswith("0 ")]
    return f"{moment(slot.start)} to {moment(slot.end)}: {', '.join(shown) or 'no poll'}"


def _axis(top: int) -> list[str]:
    texts = ((10, f"{top:,}"), (HEIGHT, "0"))
    line = f'<line x1="{LEFT}" x2="{WIDTH}" y1="{HEIGHT}" y2="{HEIGHT}" class="axis"></line>'
    return [*(f'<text x="{LEFT - 6}" y="{y}" text-anchor="end">{text}</text>' for y, text in texts), line]


def _rect(place: tuple[float, float, float, float], kind: str, title: str = "") -> str:
    """Return a rectangle; `kind` is one of the classes of the style, `title` any text."""
    x, y, width, height = place
    said = f"<title>{escape(title)}</title>" if title else ""
    return f'<rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{height:.1f}" class="{kind}">{said}</rect>'


def _svg(shapes: Iterable[str], height: int, label: str) -> Markup:
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return Markup(f'<svg {size} role="img" aria-label="{escape(label)}">{"".join(shapes)}</svg>')
