"""Draw `docs/images/cost.svg` from the table `volume` of `benchmarks/README.md`.

    python -m tools.draw_cost

The picture shows measured figures alone: each bar is a cell of that table, and its label is the cell's number. The
output depends on the table and on nothing else, and a test compares it with the file.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "benchmarks/README.md"
PICTURE = ROOT / "docs/images/cost.svg"
SECTION = re.compile(r"^## `volume`$(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"`(volume --[^`]+)`")
LEFT, WIDTH = (150, 610), 250  # of the bars of both panels; of the longest bar
TOP, GROUP, BAR = 118, 66, 22  # of the first bar; distance of two groups, of two bars
STYLE = """
    .page { fill: #ffffff; stroke: #c9d1d9 }
    .head { fill: #1f2328; font-size: 17px; font-weight: 600 }
    .text { fill: #3d444d; font-size: 14px }
    .note { fill: #57606a; font-size: 12px }
    .axis { stroke: #8c959f; stroke-width: 1 }
    .size0 { fill: #54aeff }
    .size1 { fill: #0a58ca }
    @media (prefers-color-scheme: dark) {
      .page { fill: #0d1117; stroke: #3d444d }
      .head { fill: #f0f6fc }
      .text { fill: #d1d7e0 }
      .note { fill: #9198a1 }
      .axis { stroke: #656c76 }
      .size0 { fill: #a5d6ff }
      .size1 { fill: #388bfd }
    }
"""


@dataclass(frozen=True)
class Figure:
    """One row of the table.

    Attributes:
        rows: Rows of the table that was polled.
        changed: Share and place of the changes.
        scans: Pages that the poll read, as a multiple of the table's pages.
        shipped: Rows that it shipped.
    """

    rows: int
    changed: str
    scans: float
    shipped: int


def figures(text: str) -> tuple[str, list[Figure]]:
    """Return the command and the rows of table `volume` in the text of `benchmarks/README.md`.

    Raises:
        ValueError: The section, its command or its table is missing or has other columns.
    """
    section = SECTION.search(text)
    command = COMMAND.search(section.group(1)) if section else None
    if section is None or command is None:
        raise ValueError("section `volume`, or its command, is missing")
    lines = [line for line in section.group(1).splitlines() if line.startswith("|")]
    names, *found = (
        [cell.strip() for cell in line.strip("|").split("|")] for line in lines if not set(line) <= set("|- ")
    )
    rows = [dict(zip(names, cells, strict=True)) for cells in found]
    try:
        return command.group(1), [
            Figure(number(row["rows"]), row["changed"], float(row["x table"]), number(row["rows shipped"]))
            for row in rows
        ]
    except KeyError as missing:
        raise ValueError(f"table `volume` has no column {missing}") from None


def number(cell: str) -> int:
    """Return a number that is written with commas."""
    return int(cell.replace(",", ""))


def drawn(command: str, table: Sequence[Figure]) -> str:
    """Return the picture as SVG."""
    sizes, changes = sorted({one.rows for one in table}), list(dict.fromkeys(one.changed for one in table))
    height = TOP + GROUP * len(changes) + 48
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 960 {height}" width="960" height="{height}" role="img"',
        """     aria-label="Pages read and rows shipped by a poll, by size of the table and share of changed rows\"""",
        """     font-family="system-ui, -apple-system, 'Segoe UI', Roboto, Arial, sans-serif">""",
        f"  <style>{STYLE}  </style>",
        f'  <rect class="page" x="1" y="1" width="958" height="{height - 2}" rx="10"/>',
        '  <text class="head" x="30" y="36">A poll of id_rcs: what it reads at the source, and what it ships</text>',
    ]
    for index, size in enumerate(sizes):
        at = 30 + 190 * index
        lines.append(f'  <rect class="size{index}" x="{at}" y="52" width="14" height="14"/>')
        lines.append(f'  <text class="text" x="{at + 22}" y="64">{size:,} rows</text>')
    for left, heading, form, values in (
        (LEFT[0], "pages read, x pages of the table", ".2f", {(one.rows, one.changed): one.scans for one in table}),
        (LEFT[1], "rows shipped", ",.0f", {(one.rows, one.changed): one.shipped for one in table}),
    ):
        bottom = TOP + GROUP * len(changes) - 8
        lines.append(f'  <text class="head" x="{left}" y="{TOP - 16}">{heading}</text>')
        lines.append(f'  <text class="note" x="{left - 12}" y="{TOP - 16}" text-anchor="end">rows changed</text>')
        lines.append(f'  <path class="axis" d="M{left} {TOP - 4}V{bottom}"/>')
        for row, change in enumerate(changes):
            y = TOP + GROUP * row
            lines.append(f'  <text class="text" x="{left - 12}" y="{y + BAR + 5}" text-anchor="end">{change}</text>')
            of, greatest = [values[size, change] for size in sizes], max(values.values())
            lines += _bars(left, y, [(value / greatest, format(value, form)) for value in of])
    lines.append(f'  <text class="note" x="30" y="{height - 18}">Measured by: python -m benchmarks {command}</text>')
    return "\n".join([*lines, "</svg>", ""])


def _bars(left: int, top: int, values: Sequence[tuple[float, str]]) -> list[str]:
    """Return one bar for each size of the table: its share of the longest bar, and its number."""
    lines = []
    for index, (share, shown) in enumerate(values):
        y, width = top + BAR * index, max(1.0, share * WIDTH)
        lines.append(
            f'  <rect class="size{index}" x="{left}" y="{y}" width="{width:.1f}" height="{BAR - 4}"/>'
            f'<text class="text" x="{left + width + 8:.1f}" y="{y + 14}">{shown}</text>'
        )
    return lines


def main() -> int:
    """Write the picture."""
    try:
        command, table = figures(FIGURES.read_text(encoding="utf-8"))
    except ValueError as error:
        print(f"{FIGURES}: {error}", file=sys.stderr)
        return 1
    PICTURE.write_text(drawn(command, table), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
