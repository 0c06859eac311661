"""Values in Spark's SQL: a driver hands over one text, where columns take a call to Java for each function."""

from __future__ import annotations


def text(value: str) -> str:
    """A literal that means `value`, whatever the session says of backslashes."""
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def number(value: int, one: str) -> str:
    """A long whose value no generated code has in it, which is compiled anew at every poll else.

    Args:
        value: The number.
        one: SQL that is 1 for every row, which Spark cannot know before.
    """
    return f"element_at(array(CAST({value:d} AS BIGINT)), {one})"


def when(*cases: tuple[str, str], otherwise: str = "NULL") -> str:
    """The value of the first case whose condition holds."""
    listed = " ".join(f"WHEN {condition} THEN {value}" for condition, value in cases)
    return f"CASE {listed} ELSE {otherwise} END"


def structure(fields: list[tuple[str, str]]) -> str:
    """A struct of values by name."""
    return f"named_struct({', '.join(f'{text(name)}, {value}' for name, value in fields)})"
