"""Statements that read the source and write, so that they read what their transaction sees: as blocks for MariaDB.

At REPEATABLE READ an INSERT .. SELECT and an UPDATE of several tables read what is newest, and lock it against the
users' writers. A cursor reads as a plain SELECT does: the state that the transaction sees, without a lock. So the block
goes through one, and writes row by row; rows never leave the server, and pass through variables of the types of the
columns that they are written to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlglot import exp

from qbcd.connectors.mysql_family import forms

WORD = "qbcd$"  # how variables begin; one hides the column of its name, so that no text of a user's may have it


def as_seen(statement: exp.Expression, *, pretty: bool) -> str:
    """The block of an INSERT of named columns from a query, or of an UPDATE from one; its one result counts its rows.

    Raises:
        ValueError: The statement is another one.
    """
    if isinstance(statement, exp.Insert) and isinstance(statement.this, exp.Schema):
        return _inserts(statement.this, statement.expression, pretty)
    source: Any = statement.args.get("from_")
    if isinstance(statement, exp.Update) and source is not None and isinstance(source.this, exp.Subquery):
        return _updates(statement, source.this, pretty)
    raise ValueError("only an INSERT of named columns from a query, and an UPDATE from one, can be a block")


def _inserts(into: exp.Schema, query: exp.Expression, pretty: bool) -> str:
    read, table = query.sql(dialect=forms.DIALECT, pretty=pretty), _sql(into.this)
    columns = [_sql(column) for column in into.expressions]
    names = [f"{WORD}{n}" for n in range(len(columns))]
    types = [f"{table}.{column}" for column in columns]
    each = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join(names)})"
    return _block(read, dict(zip(names, types, strict=True)), each)


def _updates(update: exp.Update, source: exp.Subquery, pretty: bool) -> str:
    """Of columns that are set to one of the query, or compared with one."""
    read = source.this.sql(dialect=forms.DIALECT, pretty=pretty)
    table = _sql(exp.Table(this=update.this.this, db=update.this.args.get("db")))
    query: Any = source.this
    names = {item.alias_or_name: f"{WORD}{n}" for n, item in enumerate(query.expressions)}
    types: dict[str, str] = {}
    for test in update.find_all(exp.EQ):
        for one, other in ((test.this, test.expression), (test.expression, test.this)):
            if (
                isinstance(other, exp.Column)
                and other.table == source.alias
                and test.find_ancestor(exp.Subquery) is None
            ):
                types[names[other.name]] = f"{table}.{_sql(one.this)}"

    def variable(node: exp.Expression) -> exp.Expression:
        mine = isinstance(node, exp.Column) and node.table == source.alias
        return exp.Var(this=names[node.name]) if mine else node

    each: Any = update.copy()
    each.set("from_", None)
    return _block(read, {name: types[name] for name in names.values()}, _sql(each.transform(variable)))


def _block(read: str, variables: Mapping[str, str], each: str) -> str:
    """A block that reads `read` into `variables`, each of the type of a column, and runs `each` for every row."""
    declared = "\n".join(f"  DECLARE {name} TYPE OF {column};" for name, column in variables.items())
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
    {each};
    SET {WORD}count = {WORD}count + 1;
    {fetch}
  END WHILE;
  CLOSE {WORD}rows;
  SELECT {WORD}count;
END"""


def _sql(tree: Any) -> str:
    return str(tree.sql(dialect=forms.DIALECT))
