"""The names of streams: entries of the file, and tables of patterns that are captured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence
from functools import partial

from qbcd.common.side_by_side import side_by_side
from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.document import names_of
from qbcd.project.engines import ProjectEngines
from qbcd.project.sources import ProjectSources
from qbcd.roster.known_tables import KnownTables
from qbcd.roster.roster import Roster, SourceTables, list_tables, roster_of
from qbcd.state import ProjectState


class ProjectStreams:
    """The streams of a project, by name.

    Args:
        state: Returns the state database.
    """

    def __init__(
        self, config: ProjectConfig, sources: ProjectSources, engines: ProjectEngines, state: Callable[[], ProjectState]
    ) -> None:
        self._config, self._sources, self._engines, self._state = config, sources, engines, state
        self._roster: Roster | None = None
        self._asked = threading.Lock()  # for the first question about the tables of patterns

    def select(self, streams: str | Iterable[str], *, new: bool = False) -> list[str]:
        """Return the given names, or those of all streams; a string is one name.

        Args:
            new: All streams include those of new tables, which are not captured yet.
        """
        if named := names_of(streams, "stream"):
            return named
        roster = self.roster()
        return [*roster.streams, *(roster.new if new else ())]

    def roster(self, *, again: bool = False) -> Roster:
        """Return the project's streams; sources with patterns are asked once, or `again`."""
        if again:
            self._roster = self._make_roster()
            return self._roster
        with self._asked:
            if self._roster is None:
                self._roster = self._make_roster()
            return self._roster

    def _make_roster(self) -> Roster:
        sources = list(dict.fromkeys(entry.source for entry in self._config.patterns))
        listed: dict[str, SourceTables] = {}

        def ask(name: str) -> None:
            listed[name] = list_tables(self._sources.get(name), self._config, self._engines.spark)

        side_by_side([partial(ask, name) for name in sources])
        return roster_of(self._config, listed, self.known_tables.read() if sources else [])

    @property
    def known_tables(self) -> KnownTables:
        """The record of the tables of patterns."""
        return KnownTables(self._state())

    def config(self, name: str) -> StreamConfig:
        """Return the stream called `name`; a pattern's source is asked only for unknown names.

        Raises:
            ConfigError: There is no such stream.
        """
        patterns = self._config.patterns
        if not patterns or name in {stream.name for stream in self._config.streams}:
            return self._config.stream(name)
        if self._roster is None:
            for one in self.known_tables.read():
                entry = next((e for e in patterns if e.source == one.source and e.matches(one.schema, one.name)), None)
                if (one.stream, one.state) == (name, "captured") and entry is not None:
                    found = self._config.of_pattern(entry, one.schema, one.name)
                    if found.name == name:
                        return found
        roster = self.roster()
        stream = roster.find(name)
        if stream is None:
            raise next(iter(roster.problems), None) or self._config.unknown(name, [*roster.streams, *roster.new])
        return stream

    def capture_all(self, streams: str | Iterable[str]) -> list[str]:
        """Record that tables of the named streams, or all of patterns, are captured.

        Return the names.

        Raises:
            ConfigError: A name is not the name of a stream.
        """
        names = self.select(streams, new=True)
        for name in names:
            self.config(name)
        self.capture(names)
        return names

    def capture(self, names: Iterable[str]) -> None:
        """Record that tables of these streams are captured; streams with own entries need none."""
        roster = self._roster
        if roster is None:  # then the record has named them
            return
        rows = [row for row in roster.as_known(names, "captured") if row not in roster.recorded]
        self.known_tables.put(rows)
        roster.recorded.update(rows)
        for row in rows:
            if row.stream in roster.new:
                roster.streams[row.stream] = roster.new.pop(row.stream)
        taken = {row.stream for row in rows}
        roster.appeared = [name for name in roster.appeared if name not in taken]

    def has_one_strategy(self, name: str) -> bool:
        """Return True if a stream reads files, or a database that only a JDBC driver reaches."""
        return self.config(name).source not in self._config.databases

    def reads_files(self, name: str) -> bool:
        """Return True if a stream reads files, and no database."""
        return self.config(name).source in self._config.dumps

    def by_source(self, names: Sequence[str]) -> dict[str, list[str]]:
        """Return the streams of each source, in order."""
        groups: dict[str, list[str]] = {}
        for name in names:
            groups.setdefault(self.config(name).source, []).append(name)
        return groups
