"""The picture of costs shows exactly the measured figures of `benchmarks/README.md`."""

from __future__ import annotations

import re

import pytest

from tools.draw_cost import FIGURES, PICTURE, drawn, figures

TABLE = """## `volume`

Text. `volume --rows 20 --polls 1`.

| rows | changed | pages | x table | rows shipped |
| --- | --- | --- | --- | --- |
| 2 | none | 1 | 1.00 | 1,000 |
| 20 | none | 9 | 1.50 | 2,500 |

## `next`
"""


def test_the_picture_is_that_of_the_figures() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawn(*figures(FIGURES.read_text(encoding="utf-8")))


def test_each_bar_is_a_cell_of_the_table() -> None:
    picture = drawn(*figures(TABLE))
    assert re.findall(r'"/><text[^>]*>([\d.,]+)</text>', picture) == ["1.00", "1.50", "1,000", "2,500"]
    assert re.findall(r'width="(\d+\.\d)"', picture) == ["166.7", "250.0", "100.0", "250.0"]
    assert "volume --rows 20 --polls 1" in picture


@pytest.mark.parametrize("removed", ["## `volume`", "`volume --rows 20 --polls 1`", "| x table |"])
def test_a_missing_table_is_refused(removed: str) -> None:
    with pytest.raises(ValueError, match="volume"):
        figures(TABLE.replace(removed, "| |" if "|" in removed else ""))
