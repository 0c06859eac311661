"""Sink `parquet`: one folder of typed events per batch.

See `qbcd.sinks.stored.parquet_files`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from typing_extensions import override

from qbcd.config.sink_options import Policy
from qbcd.model.value_limits import Unsupported, ValueLimits
from qbcd.sinks.base import SinkBatch
from qbcd.sinks.folder import FileOptions, FolderSink
from qbcd.sinks.stored.parquet_files import ParquetFiles


class ParquetOptions(FileOptions):
    """A folder of Parquet files per batch under `path`.

    Attributes:
        unsupported: Values that no type has: stop before they are committed, write NULL, or write all values of such
            columns as texts.
    """

    type: Literal["parquet"]
    unsupported: Policy = "refuse"


class ParquetSink(FolderSink):
    """A sink that writes one folder of Parquet files per batch.

    Args:
        path: As for every sink of files.
        unsupported: The policy for values that no type of Parquet has.
        files: Other options of :class:`FolderSink`.
    """

    options_class = ParquetOptions
    typed = has_policy = True
    format = ParquetFiles()

    def __init__(self, name: str, path: Path | str, *, unsupported: Unsupported = "refuse", **files: Any) -> None:
        super().__init__(name, path, **files)
        self.limits = ValueLimits(policy=unsupported)

    @override
    def write(self, batch: SinkBatch) -> None:
        super().write(batch if self.limits.policy == "refuse" else batch.fitted(self.limits.policy))
