"""The paper's figures 9 and 10, measured: blocks that a poll reads, by the share of columns and of rows in the replica.

The newest 1 % of the rows change. The curves are the formulas of table 3 with the pages of this table; the points are
the server's own counts, as in `blocks`. With ``--plot FILE`` both are drawn (matplotlib).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks import explained
from benchmarks.blocks import blocks_of
from benchmarks.explained import listening
from benchmarks.measure import Options, Table
from benchmarks.places import Place
from qbcd.api import Project, parts_of
from qbcd.cli.plot import FEW, SHARES, Curves, by_columns, by_rows
from qbcd.strategies import InSource

DATABASES = ("postgresql",)
SETTINGS = {"shared_buffers": "2GB", **explained.SETTINGS}
COLUMNS = 10  # of 16 bytes each
OF_COLUMNS = (1, 3, 5, 10)
OF_ROWS = (1, 2, 5, 10)  # per cent
MEASURED = {"mds": "mds", "atdi": "atdi"}  # strategy: the curve
CREATE = """
CREATE EXTENSION IF NOT EXISTS pg_buffercache;
CREATE TABLE public.orders (
  id bigint PRIMARY KEY, part int NOT NULL, {columns}, updated_at timestamptz NOT NULL, is_deleted boolean NOT NULL
);
INSERT INTO public.orders
SELECT i, (i - 1) * 100 / {rows}, {values}, timestamptz '2024-01-01', false FROM generate_series(1, {rows}) AS i;
CREATE INDEX orders_part ON public.orders (part);
VACUUM ANALYZE public.orders;
"""
FLAG = {"timestamp": "updated_at", "delete_flag": "is_deleted", "margin": "1ms"}


def measure(place: Place, folder: Path, options: Options) -> Table:
    """Measure each point once; nothing is timed."""
    names = [f"c{i}" for i in range(COLUMNS)]
    columns = ", ".join(f"{name} text" for name in names)
    values = ", ".join(f"left(md5('{name}' || i), 15)" for name in names)
    place.run(CREATE.format(rows=options.rows, columns=columns, values=values))
    n = float(place.one("SELECT pg_relation_size('public.orders') / 8192"))
    table = Table(("figure", "poll", "% of the columns or rows", "by table 3", "blocks read"), place.version())
    drawn: dict[str, dict[str, list[tuple[float, float]]]] = {"9": {}, "10": {}}
    curves = {"9": by_columns(n, 17 / 200), "10": by_rows(n, 17 / 200)}
    config = _config(place.url)
    streams = [str(one["name"]) for one in config["tables"]]
    with Project.from_dict(config, base_dir=folder) as project:
        for stream in streams:
            project.stream(stream).prepare()
        newest = f"id > {options.rows * 99 // 100} OR (part < 10 AND mod(id - 1, {options.rows // 100}) >= "
        place.run(
            "UPDATE public.orders SET c0 = 'changed', updated_at = clock_timestamp() "
            f"WHERE {newest}{options.rows // 100 * 99 // 100})"
        )
        place.run("SELECT pg_sleep(0.1)")
        for stream in streams:
            strategy, figure, share = stream.rsplit("_", 2)
            read = _read(place, project, stream)
            per_cent = float(share) * (100 / COLUMNS if figure == "9" else 1)
            drawn[figure].setdefault(strategy, []).append((per_cent, read))
            expected = curves[figure][MEASURED[strategy]](per_cent / 100)
            table.rows.append((figure, strategy, f"{per_cent:.0f}", f"{expected:,.0f}", f"{read:,.0f}"))
    if options.plot:
        draw(curves, drawn, n, Path(options.plot))
    return table


def _config(url: str) -> dict[str, Any]:
    tables = []
    for strategy, made in (("mds", {"type": "mds"}), ("atdi", {"type": "atdi", **FLAG})):
        for number in OF_COLUMNS:
            columns = [f"c{i}" for i in range(number)]
            tables.append({"name": f"{strategy}_9_{number}", "columns": columns, "strategy": made})
        for share in OF_ROWS:
            columns = ["c0", "c1", "c2", "part"]
            where = f"part < {share}"
            tables.append({"name": f"{strategy}_10_{share}", "columns": columns, "strategy": made, "where": where})
    common = {"source": "shop", "table": "public.orders", "baseline": "silent"}
    return {"version": 1, "sources": {"shop": {"url": url}}, "tables": [{**common, **one} for one in tables]}


def _read(place: Place, project: Project, stream: str) -> float:
    """Poll a stream, after CREATE INDEX and VACUUM for ATDI; return the blocks that finding the changes read."""
    strategy = parts_of(project).open_stream(stream).site.strategy(project.stream(stream).plan())
    assert isinstance(strategy, InSource)
    covering = stream.startswith("atdi")
    if covering:
        made: Any = strategy
        place.run(made.index().replace("%%", "%"))
        place.run("VACUUM public.orders")
    with listening(place.url) as statements:
        [outcome] = project.run([stream], once=True).outcomes
    if outcome.error or not outcome.report or not outcome.report.counts:
        raise outcome.error or AssertionError(f"{stream}: {outcome.report}")
    if covering:
        others = "SELECT indexname FROM pg_indexes WHERE tablename = 'orders' AND indexname NOT LIKE 'orders\\_%'"
        place.run(f"DROP INDEX public.{place.one(others)}")
    return float(blocks_of(statements, strategy).read)


def draw(
    curves: dict[str, Curves], points: dict[str, dict[str, list[tuple[float, float]]]], n: float, path: Path
) -> None:
    """Draw both figures, formulas as lines and measured polls as points, into an SVG file."""
    matplotlib = importlib.import_module("matplotlib")
    matplotlib.rcParams["svg.fonttype"] = "none"  # texts stay texts: a small file
    matplotlib.rcParams["svg.hashsalt"] = "qbcd"
    figure = importlib.import_module("matplotlib.figure").Figure(figsize=(10, 4.2), layout="constrained")
    shares = {"9": SHARES, "10": FEW}
    for axes, (number, lines) in zip(figure.subplots(1, 2), curves.items(), strict=True):
        for name, pages in lines.items():
            _line(axes, name, shares[number], pages)
        for name, marks in points[number].items():
            color = f"C{[*lines].index(MEASURED[name])}"
            axes.plot(*zip(*marks, strict=True), "o", color=color, label=f"{name}, measured")
        axes.set_title(f"Figure {number}")
        axes.set_xlabel("% of the columns in the replica" if number == "9" else "% of the rows in the restriction")
        axes.set_ylabel("pages")
        axes.set_yscale("log")
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
    figure.suptitle(f"Pages that a poll reads of a table of {n:,.0f} pages; 1 % of the rows changed")
    figure.savefig(path, format="svg", metadata={"Date": None})


def _line(axes: Any, name: str, shares: list[float], pages: Callable[[float], float]) -> None:
    axes.plot([100 * share for share in shares], [pages(share) for share in shares], label=name)
