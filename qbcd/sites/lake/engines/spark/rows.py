"""Rows of Spark: SQL over data frames."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from qbcd.connectors.dialects import loaded
from qbcd.model.plans import HALF
from qbcd.sites.lake.engines.base import Hint
from qbcd.sql.engine_sql import EngineSql
from qbcd.sql.render import render
from qbcd.sql.spark_literals import number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _content(*values: str) -> str:
    fields = ", ".join(f"'v{i}', {value}" for i, value in enumerate(values))
    return f"sha2(to_json(named_struct({fields}), map('ignoreNullFields', 'false')), 256)"


def _fingerprint(seed: str, *values: str) -> str:
    # Spark passes over a NULL, so the hash gets the places of NULLs too
    return f"xxhash64({seed}, {', '.join(f'{value} IS NULL' for value in values)}, {', '.join(values)})"


SPELLING = EngineSql(
    loaded("spark"),
    {
        "QBCD_CONTENT": _content,
        "QBCD_FINGERPRINT": _fingerprint,
        "QBCD_HIGH": lambda digest: f"({digest} DIV {HALF}BD)",
        "QBCD_LOW": lambda digest: f"({digest} % {HALF}BD)",
        "QBCD_LAST_BYTE": lambda value: f"substring({value}, -1, 1)",
        "QBCD_LEAF": lambda value: f"COALESCE(CAST(conv(right(hex({value}), 2), 16, 10) AS BIGINT), 0L)",
    },
    lambda value: number(value, "length(op)"),
)
_HINTS: Mapping[Hint, str] = {
    "one task": "COALESCE(1)",
    "collected": "REPARTITION(1)",
    "broadcast": "BROADCAST(rows)",
    "hash": "SHUFFLE_HASH(rows)",
}


@dataclass(frozen=True)
class SparkRows:
    """A SELECT in Spark's dialect over data frames.

    Inputs are subqueries, not common table expressions: hints in those have no effect on a join with them.

    Attributes:
        sql: Its text; it reads the frames by the names of `frames`.
        columns: The names of its columns, in order.
        frames: Data frames by the names of their views.
    """

    sql: str
    columns: tuple[str, ...]
    frames: Mapping[str, DataFrame]
    judges_first: ClassVar[bool] = False  # filters reach the files

    @classmethod
    def of(cls, frame: DataFrame) -> SparkRows:
        """Return the rows of a data frame."""
        name, columns = f"qbcd_{uuid.uuid4().hex}", tuple(frame.columns)
        return cls(f"SELECT {', '.join(columns)} FROM {name}", columns, {name: frame})

    @property
    def frame(self) -> DataFrame | None:
        """The data frame, if these are its rows as they are."""
        (name, frame), *others = self.frames.items()
        return frame if not others and self.sql == f"SELECT {', '.join(self.columns)} FROM {name}" else None

    def over(
        self,
        template: str,
        columns: Sequence[str],
        inputs: Mapping[str, SparkRows],
        numbers: Mapping[str, int],
        /,
        **context: Any,
    ) -> SparkRows:
        """See `qbcd.sites.lake.engines.base.ComposableRows`."""
        texts = {name: rows.sql for name, rows in inputs.items()}
        sql = SPELLING.over(render(template, **context), texts, numbers)
        return SparkRows(sql, tuple(columns), {k: v for rows in inputs.values() for k, v in rows.frames.items()})

    def spelled(self, select: str, rest: str = "", columns: Sequence[str] = ()) -> SparkRows:
        """Return ``SELECT .. FROM rows ..`` in Spark's own SQL; it has these columns by default."""
        return SparkRows(
            f"SELECT {select} FROM (\n{self.sql}\n) AS rows {rest}", tuple(columns) or self.columns, self.frames
        )

    def hinted(self, hint: Hint) -> SparkRows:
        """See `qbcd.sites.lake.engines.base.ComposableRows`."""
        return self.spelled(f"/*+ {_HINTS[hint]} */ *")
