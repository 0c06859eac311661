"""The command ``join``: two files whose rows came in about the same order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import switch
from qbcd.cli.output import Output
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from qbcd.comparison.joined import JoinResult

Children = Annotated[
    str, typer.Argument(metavar="CHILDREN", help="The file whose rows are joined, such as order lines.")
]
Parents = Annotated[str, typer.Argument(metavar="PARENTS", help="The file with one row for each key, such as orders.")]


@dataclass(frozen=True)
class JoinArguments:
    """The options of ``join``."""

    on: Annotated[str, typer.Option(metavar="A=B", help="Column of CHILDREN and key of PARENTS; A if equal.")] = ""
    output_file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The new Parquet file.")
    ] = None
    take: Annotated[str, typer.Option(metavar="COLUMNS", help="Columns of PARENTS; default: all but the key.")] = ""
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Most bytes of PARENTS in memory.")] = "64MB"
    method: Annotated[str, typer.Option(metavar="M", help="auto, advanced, basic or hash.")] = "auto"
    form: Annotated[str, typer.Option("--format", metavar="YAML", help="The files' format, as of `diff`.")] = ""
    explain: Annotated[bool, switch("--explain", help="Say how it would join; join nothing.")] = False


def join(output: Output, children: Children, parents: Parents, options: JoinArguments) -> int:
    """Join two files whose rows came in about the same order, in little memory."""
    from qbcd.comparison.joined import FileJoin
    from qbcd.comparison.options import join_options

    if options.output_file is None and not options.explain:
        raise ConfigError("--output names no file", remedy="-o joined.parquet; or --explain, which joins nothing")
    chosen = join_options(options.on, options.take, options.memory, options.method, options.form or None)
    with output.working(f"joining {children} and {parents}"):
        one = FileJoin(children, parents, chosen)
        found = one.plan()
        if options.output_file is not None and not options.explain:
            one.write(options.output_file)
    if output.as_json:
        output.data(vars(found))
    else:
        output.show(f"[bold]{escape(children)} with {escape(parents)}[/]: {escape(_described(found))}")
        if not options.explain:
            rows = formatting.counted(found.rows, "row")
            output.show(f"  {rows}, {found.orphans:,} without a parent, in {escape(str(options.output_file))}")
    return 0


def _described(found: JoinResult) -> str:
    parents = formatting.counted(found.parents, "parent")
    if found.method == "hash":
        return f"hash join of {parents}, since {found.expected:.0%} would not be in a window"
    share = found.window / max(1, found.parents)
    mishits = f"{found.mishits:,} of {found.rows:,}" if found.window_bytes or found.mishits else f"{found.expected:.1%}"
    return f"{found.method}, a window of {found.window:,} of {parents} ({share:.1%}); not in it: {mishits}"
