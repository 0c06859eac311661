"""The options of ``format("qbcd")``, checked by name and value before anything is read."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from qbcd.errors import ConfigError

DEFAULT_CONFIG = "qbcd.yaml"
EARLIEST, LATEST = "earliest", "latest"
_CONSUMER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_OF_STREAMS = ("consumer", "maxRowsPerTrigger")
_OF_BATCHES = ("endingVersion", "rows")
_KNOWN = ("config", "stream", "startingVersion", "columns", "poll", *_OF_STREAMS, *_OF_BATCHES)
_GIVEN_BY_SPARK = ("path",)  # the argument of `load`


@dataclass(frozen=True)
class ReadOptions:
    """The options of one read.

    Attributes:
        config: Path of the configuration file, on the driver.
        stream: Name of the stream.
        consumer: Name under which a streaming query acknowledges; empty in batch reads.
        starting: First version, or ``earliest`` or ``latest``; empty for the default.
        ending: Last version of a batch read; None for the newest.
        most_rows: Change rows of a micro-batch, in whole batches; None for no limit.
        columns: The columns to read, in order; empty for all.
        rows: Change rows, or the rows of the replica.
    """

    config: str
    stream: str
    consumer: str = ""
    starting: int | str = ""
    ending: int | None = None
    most_rows: int | None = None
    columns: tuple[str, ...] = ()
    rows: Literal["changes", "replica"] = "changes"

    @property
    def sink(self) -> str:
        """The name by which the state knows the consumer."""
        return f"spark:{self.consumer}"

    def refuse_for_stream(self) -> None:
        """Refuse options that only a batch read has, and a stream without a consumer.

        Raises:
            ConfigError: There is one.
        """
        if self.rows == "replica":
            raise ConfigError(
                'option rows "replica" is for batch reads: it is one state of the rows',
                stream=self.stream,
                remedy='read it once by spark.read, then follow with readStream and startingVersion "latest"',
            )
        if self.ending is not None:
            raise ConfigError(
                "option endingVersion is for batch reads: a stream has no end",
                stream=self.stream,
                remedy="remove it; trigger(availableNow=True) ends a query at the newest batch",
            )
        if not self.consumer:
            raise ConfigError(
                "a streaming query needs the option consumer: Spark does not tell a source the name of its query",
                stream=self.stream,
                remedy='.option("consumer", "NAME"), another NAME for each query',
            )

    def refuse_for_batch(self) -> None:
        """Refuse options that only a stream has.

        Raises:
            ConfigError: There is one.
        """
        for name, given in (("consumer", self.consumer), ("maxRowsPerTrigger", self.most_rows)):
            if given:
                raise ConfigError(
                    f"option {name} is for streaming queries", stream=self.stream, remedy="remove it, or use readStream"
                )


def options_of(given: Mapping[str, str]) -> ReadOptions:
    """Return the options of a read; Spark ignores the case of their names.

    Raises:
        ConfigError: An option or its value is wrong.
    """
    names = {name.lower(): name for name in _KNOWN}
    for name in given:
        if name.lower() not in names and name.lower() not in _GIVEN_BY_SPARK:
            near = difflib.get_close_matches(name.lower(), names, n=1)
            remedy = f"did you mean {names[near[0]]}?" if near else f"the options: {', '.join(_KNOWN)}"
            raise ConfigError(f"there is no option {name}", remedy=remedy)
    values = {names[name.lower()]: value for name, value in given.items() if name.lower() in names}
    stream = values.get("stream") or given.get("path", "")
    _refuse_poll(values.get("poll", "false"), stream)
    rows = values.get("rows", "changes")
    if rows not in ("changes", "replica"):
        raise ConfigError(f"option rows is {rows!r}", stream=stream, remedy="changes (the default), or replica")
    consumer = values.get("consumer", "")
    if consumer and not _CONSUMER.fullmatch(consumer):
        raise ConfigError(
            f"option consumer is {consumer!r}",
            stream=stream,
            remedy="letters, digits, _, . and -, at most 64 characters, beginning with a letter or digit",
        )
    if rows == "replica" and (values.get("startingVersion") or values.get("endingVersion")):
        raise ConfigError(
            'rows "replica" is the newest state, and has no versions',
            stream=stream,
            remedy="remove startingVersion and endingVersion",
        )
    return ReadOptions(
        config=values.get("config", DEFAULT_CONFIG),
        stream=stream,
        consumer=consumer,
        starting=_starting(values.get("startingVersion", ""), stream),
        ending=_number("endingVersion", values.get("endingVersion"), stream),
        most_rows=_number("maxRowsPerTrigger", values.get("maxRowsPerTrigger"), stream),
        columns=_columns(values.get("columns", ""), stream),
        rows="replica" if rows == "replica" else "changes",
    )


def _refuse_poll(value: str, stream: str) -> None:
    if value.lower() == "true":
        raise ConfigError(
            "a read does not poll the source: Spark may plan a read several times, or plan one that it never runs",
            stream=stream,
            remedy="let `qbcd run` poll next to the query; or in this program, in a thread: "
            "threading.Thread(target=lambda: qbcd.open(CONFIG).run(stop=stop)).start()",
        )
    if value.lower() != "false":
        raise ConfigError(f"option poll is {value!r}", stream=stream, remedy="remove it")


def _starting(value: str, stream: str) -> int | str:
    if value.lower() in ("", EARLIEST, LATEST):
        return value.lower()
    return _number("startingVersion", value, stream, f"a number, {EARLIEST} or {LATEST}") or 0


def _number(name: str, value: str | None, stream: str, wanted: str = "a whole number above 0") -> int | None:
    if value is None:
        return None
    if not (value.isascii() and value.isdigit() and int(value) > 0):
        raise ConfigError(f"option {name} is {value!r}", stream=stream, remedy=wanted)
    return int(value)


def _columns(value: str, stream: str) -> tuple[str, ...]:
    names = tuple(filter(None, (name.strip() for name in value.split(","))))
    if len(set(names)) < len(names):
        raise ConfigError(f"option columns names one twice: {value}", stream=stream, remedy="name each once")
    return names
