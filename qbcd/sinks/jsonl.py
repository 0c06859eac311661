"""Sink `jsonl`: one file of JSON lines per batch; see `qbcd.sinks.stored.json_files`."""

from __future__ import annotations

from typing import Literal

from qbcd.sinks.folder import FileOptions, FolderSink
from qbcd.sinks.stored.json_files import JsonFiles


class JsonlOptions(FileOptions):
    """A file of JSON lines per batch under `path`."""

    type: Literal["jsonl"]


class JsonlSink(FolderSink):
    """A sink that writes one file of JSON lines per batch."""

    options_class = JsonlOptions
    format = JsonFiles()
