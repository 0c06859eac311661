"""Values as Spark's SQL text: it needs one call to Java, column objects one per function."""

from __future__ import annotations


def text(value: str) -> str:
    """Return a literal with the value `value`, whatever the session's rule for backslashes is."""
    return f"CAST(X'{value.encode().hex()}' AS STRING)"


def number(value: int, one: str) -> str:
    """Return a long that is not part of the generated code, so that this is not compiled again.

    Args:
        one: SQL that is 1 for every row, but not a constant for Spark.
    """
    return f"element_at(array(CAST({value:d} AS BIGINT)), {one})"


def when(*cases: tuple[str, str], otherwise: str = "NULL") -> str:
    """Return a CASE: the value of the first case whose condition is true."""
    listed = " ".join(f"WHEN {condition} THEN {value}" for condition, value in cases)
    return f"CASE {listed} ELSE {otherwise} END"


def structure(fields: list[tuple[str, str]]) -> str:
    """Return a struct of values by name."""
    return f"named_struct({', '.join(f'{text(name)}, {value}' for name, value in fields)})"
