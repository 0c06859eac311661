"""Commands that describe future polls: ``advise`` and ``explain``."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from rich.syntax import Syntax

from qbcd.cli.app import StreamName, StreamNames
from qbcd.cli.formatting import counted
from qbcd.cli.output import Output
from qbcd.errors import NotBuilt

if TYPE_CHECKING:
    from qbcd.model import Statement
    from qbcd.strategies import Estimate


def advise(output: Output, streams: StreamNames = None) -> int:
    """Compare the possible strategies (not built yet)."""
    raise NotBuilt(
        "qbcd advise is not built yet",
        remedy="qbcd explain STREAM shows the statements and the cost of the configured strategy",
    )


def explain(output: Output, stream: StreamName) -> int:
    """Print the statements of a poll and its estimated cost; run none."""
    with output.project() as project:
        handle = project.stream(stream)
        steps, estimate, strategy = handle.explain(), handle.estimate(), handle.config.strategy
        engine = handle.engine
    if output.as_json:
        listed = [
            {"title": s.title, "where": s.where, "sql": s.statement.sql, "params": dict(s.statement.params)}
            for s in steps
        ]
        found = {"stream": stream, "strategy": strategy, "steps": listed, "estimate": asdict(estimate)}
        output.data({**found, "engine": engine})
        return 0
    for number, step in enumerate(steps, 1):
        # SQL comments, so that the whole output is SQL.
        output.comment(f"{number}. {step.title}", "bold")
        output.comment(step.where)
        sql(output, step.statement)
        output.text("")
    for line in _cost(strategy, estimate):
        output.comment(line)
    output.comment(f"engine: {engine}")
    return 0


def sql(output: Output, statement: Statement) -> None:
    """Print a statement, with the values bound to it, colored on a terminal."""
    if statement.params:
        values = ", ".join(f"{name} = {value!r}" for name, value in statement.params.items())
        output.comment(f"with {values}")
    text = f"{statement.sql.rstrip().rstrip(';')};"
    if output.out.is_terminal:
        output.show(Syntax(text, "sql", theme="ansi_dark", background_color="default", word_wrap=True))
    else:
        output.text(text)


def _cost(strategy: str, estimate: Estimate) -> list[str]:
    pages = counted(estimate.pages, "page") if estimate.pages >= 0 else "an unknown number of pages"
    rows = counted(estimate.rows, "row") if estimate.rows >= 0 else "an unknown number of rows"
    return [
        f"estimate of {strategy} for an unchanged table: reads {pages} and {rows} ({estimate.formula})",
        f"ships if nothing changed: {estimate.shipped}",
    ]
