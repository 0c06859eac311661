"""INSERT .. SELECT whose SELECT sees the state of its transaction: a block of statements that MariaDB runs.

At REPEATABLE READ an INSERT .. SELECT reads what is newest, and locks it against the users' writers. A cursor reads as
a plain SELECT does: the state that the transaction sees, without a lock. So the block goes through one, and inserts row
by row; rows never leave the server, and pass through variables of the types of the columns that they go into.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from qbcd.connectors.mysql_family import expressions
from qbcd.connectors.mysql_family.planner_rewrites import planned

WORD = "qbcd$"  # how variables begin; one hides the column of its name, so that no text of a user's may have it


def insert_as_seen(insert: exp.Expression, *, pretty: bool) -> str:
    """The block of an INSERT of named columns from a query; its one result is the number of rows.

    Raises:
        ValueError: The statement is another one.
    """
    into, query = insert.this, insert.expression
    if not isinstance(into, exp.Schema) or not isinstance(query, exp.Query):
        raise ValueError("only an INSERT of named columns from a query can be a block")
    read, table = planned(query.copy(), first=False).sql(dialect=expressions.DIALECT, pretty=pretty), _sql(into.this)
    columns = [_sql(column) for column in into.expressions]
    variables = [f"{WORD}{n}" for n in range(len(columns))]
    declared = "\n".join(
        f"  DECLARE {name} TYPE OF {table}.{column};" for name, column in zip(variables, columns, strict=True)
    )
    fetch = f"FETCH {WORD}rows INTO {', '.join(variables)};"
    return f"""BEGIN NOT ATOMIC
  DECLARE {WORD}count BIGINT DEFAULT 0;
  DECLARE {WORD}end BOOLEAN DEFAULT FALSE;
{declared}
  DECLARE {WORD}rows CURSOR FOR
{read};
  DECLARE CONTINUE HANDLER FOR NOT FOUND SET {WORD}end = TRUE;
  OPEN {WORD}rows;
  {fetch}
  WHILE NOT {WORD}end DO
    INSERT INTO {table} ({", ".join(columns)}) VALUES ({", ".join(variables)});
    SET {WORD}count = {WORD}count + 1;
    {fetch}
  END WHILE;
  CLOSE {WORD}rows;
  SELECT {WORD}count;
END"""


def _sql(tree: Any) -> str:
    return str(tree.sql(dialect=expressions.DIALECT))
