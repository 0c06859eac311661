"""INSERT .. SELECT that reads the state of its transaction, as a block of statements.

MariaDB, at REPEATABLE READ: an INSERT .. SELECT reads the newest rows and locks them against writers of the user. A
cursor reads like a plain SELECT: the state that the transaction sees, without a lock. So the block reads with a cursor
and inserts row by row. Rows never leave the server; variables with the types of the target columns contain their
values.
"""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from qbcd.connectors.mysql_family import expressions
from qbcd.connectors.mysql_family.planner_rewrites import planned

# Prefix of variables. A variable hides a column of its name, so that texts of a user must not contain it.
WORD = "qbcd$"


def insert_as_seen(insert: exp.Expression, *, pretty: bool) -> str:
    """Return the block for an INSERT of named columns from a query.

    Its one result is the number of rows.

    Raises:
        ValueError: It is another statement.
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
