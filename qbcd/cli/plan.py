"""Command ``explain``: the statements of a poll, and its predicted cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.syntax import Syntax

from qbcd.cli.advise import cost_lines
from qbcd.cli.app import StreamName
from qbcd.cli.output import Output

if TYPE_CHECKING:
    from qbcd.model import Statement


def explain(output: Output, stream: StreamName) -> int:
    """Print the statements of a poll and its estimated cost; run none."""
    with output.project() as project:
        handle = project.stream(stream)
        steps, strategy, predicted = handle.explain(), handle.strategy, handle.predict()
        engine, ships = handle.engine, handle.ships_unchanged
        shown = f"{strategy}, chosen by auto" if handle.config.strategy != strategy else strategy
    if output.as_json:
        listed = [
            {"title": s.title, "where": s.where, "sql": s.statement.sql, "params": dict(s.statement.params)}
            for s in steps
        ]
        found = {"stream": stream, "strategy": strategy, "steps": listed, "ships_unchanged": ships}
        output.data({**found, "prediction": predicted and predicted[0].data(), "engine": engine})
        return 0
    for number, step in enumerate(steps, 1):
        # SQL comments, so that the whole output is SQL.
        output.comment(f"{number}. {step.title}", "bold")
        output.comment(step.where)
        sql(output, step.statement)
        output.text("")
    for line in cost_lines(shown, *predicted) if predicted else ():
        output.comment(line)
    output.comment(f"ships if nothing changed: {ships}")
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
