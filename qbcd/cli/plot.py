"""The paper's figures 9 and 10 for one table, as an SVG file drawn by matplotlib."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from qbcd.errors import ConfigError, EnvironmentMissing

if TYPE_CHECKING:
    from qbcd.advisor import Advice

SHARES = [number / 100 for number in range(2, 101, 2)]  # of the columns in the replica, figure 9
FEW = [number / 1000 for number in range(10, 101, 5)]  # of the rows in the replica, figure 10
DELTA = 0.01


def draw(found: Sequence[Advice], path: Path) -> None:
    """Draw both figures for the table of one stream.

    Raises:
        ConfigError: There are several streams, the sizes are unknown, or the file cannot be written.
        EnvironmentMissing: The package matplotlib is not installed.
    """
    if len(found) != 1:
        raise ConfigError("--plot draws one table", remedy="name one stream, or --source and --table")
    if path.suffix != ".svg":
        raise ConfigError(f"--plot {path} is no SVG file", remedy="write --plot costs.svg")
    one = found[0]
    if one.facts is None or not one.facts.pages.known or not one.facts.pages.high:
        raise ConfigError(f"the pages of {one.table} are unknown", remedy="run ANALYZE on it")
    if find_spec("matplotlib") is None:
        raise EnvironmentMissing("--plot needs the package matplotlib", remedy='pip install "qbcd[plot]"')
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(10, 4.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    n = one.facts.pages.high
    _curves(left, n, SHARES, by_columns(n, index_share(one)), "columns in the replica")
    _curves(right, n, FEW, by_rows(n, index_share(one)), "rows in the restriction")
    right.set_yscale("log")
    _point(left, right, one)
    right.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(f"pages that a poll of {one.table} reads, 1 % of the rows changed (figures 9 and 10)")
    try:
        figure.savefig(path, format="svg", metadata={"Date": None})
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}", remedy="name a file in a folder") from error


Curves = dict[str, Callable[[float], float]]


def by_columns(n: float, index: float) -> Curves:
    """Curves of figure 9: pages by the share of the columns in the replica (paper, table 3)."""
    from qbcd.strategies import costs

    return {
        "export and compare": lambda share: costs.reported_before_comparison(n),
        "sorted export": lambda share: costs.sliding_window(n),
        "mds": lambda share: costs.mds(n, share * n),
        "id_rcs": lambda share: costs.id_rcs(n, share * n, n / 1000, DELTA),
        "atdi": lambda share: costs.atdi(n * min(1.0, share + index), share * n, DELTA, costs.height(n * share)),
    }


def by_rows(n: float, index: float) -> Curves:
    """Curves of figure 10: pages by the share of the rows in a restriction with an index."""
    from qbcd.strategies import costs

    return {
        "export and compare": lambda share: costs.reported_before_comparison(n),
        "sorted export": lambda share: costs.sliding_window(n),
        "mds": lambda share: costs.mds(n, share * n, share=share),
        "id_rcs": lambda share: costs.id_rcs(n, share * n, n / 1000, DELTA, share=share),
        "atdi": lambda share: costs.atdi(n * (0.3 + index), share * n, DELTA, costs.height(n * 0.3)),
    }


def index_share(one: Advice) -> float:
    """Return the share of a row that timestamp, flag and row pointer take in an index.

    That is 13 + 4 bytes.
    """
    planned = next((s.option.plan for s in one.scored if s.option.plan is not None), None)
    return min(1.0, 17 / (planned.table.row_width or 200)) if planned else 17 / 200


def _curves(axes: Any, n: float, shares: Sequence[float], curves: Curves, title: str) -> None:
    for name, pages in curves.items():
        axes.plot([100 * share for share in shares], [pages(share) for share in shares], label=name)
    axes.set_xlabel(f"% of the {title}")
    axes.set_ylabel("pages")
    axes.grid(alpha=0.3)


def _point(left: Any, right: Any, one: Advice) -> None:
    """Mark the stream by its prediction: no database reports the pages that a poll has read."""
    shown = one.current or one.choice.chosen
    if shown is None or shown.cost is None or shown.option.plan is None or one.facts is None:
        return
    plan, pages = shown.option.plan, shown.cost.pages.middle
    label = f"{shown.option.label}, predicted"
    whole = sum(column.width for column in plan.table.columns)
    share = sum(column.width for column in plan.captured) / whole if whole else 1.0
    left.plot([100 * share], [pages], "ko", label=label)
    rows = one.facts.share.middle
    if FEW[0] <= rows <= FEW[-1]:
        right.plot([100 * rows], [pages], "ko", label=label)
    else:
        right.plot([], [], "ko", label=label)
