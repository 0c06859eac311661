"""The sources of a project, each created on first use, and the JDBC drivers that they need."""

from __future__ import annotations

import threading

from qbcd.catalog.files import FileSource
from qbcd.catalog.jdbc_sources import driver_of, jdbc_source, profile_of_source
from qbcd.catalog.source import SessionOptions, Source
from qbcd.config import ProjectConfig
from qbcd.config.files import FilesConfig
from qbcd.config.jdbc_source import JdbcSourceConfig
from qbcd.config.masking import Masking
from qbcd.connectors import Connector, JdbcDriver, connector_for
from qbcd.spark.drivers import Wanted, driver_in

MOST_CONNECTIONS = 16  # of a source, if its configuration names no number


class ProjectSources:
    """The sources of a project, and the share of its connections that a stream has.

    Attributes:
        jobs: Polls of one source at the same time.
    """

    def __init__(self, config: ProjectConfig, masking: Masking) -> None:
        self.jobs = 1
        self._config, self._masking = config, masking
        self._sources: dict[str, Source] = {}
        self._lock = threading.RLock()

    def get(self, name: str) -> Source:
        """Return the source called `name`; it connects on first use."""
        with self._lock:
            if name not in self._sources:
                self._sources[name] = self._make(name)
            return self._sources[name]

    def close(self) -> None:
        """Close the connections of all sources."""
        for source in self._sources.values():
            source.close()
        self._sources.clear()

    def jobs_of(self, source: str) -> int:
        """Return the number of streams of a source to poll at once, at most its `connections`."""
        return min(self.jobs, self._connections(source))

    def readers(self, source: str) -> int:
        """Return the share of a source's connections that one stream has."""
        return max(1, self._connections(source) // self.jobs_of(source))

    def _connections(self, source: str) -> int:
        """Return the number of readers of a source; one process reads the files of a stream."""
        if source in self._config.drivers:
            return self._config.drivers[source].connections
        config = self._config.databases.get(source)
        if config is None:
            return 1
        chosen = "connections" in config.model_fields_set
        return config.connections if chosen else max(config.connections, min(self._config.jobs, MOST_CONNECTIONS))

    def _make(self, name: str) -> Source:
        config = self._config.sources[name]
        if isinstance(config, FilesConfig):
            return FileSource(name, config, self._masking, self._config.where("sources", name))
        if isinstance(config, JdbcSourceConfig):
            with self._config.placed("sources", name):
                return jdbc_source(name, config, self._masking, self._config.where("sources", name))
        url = config.sqlalchemy_url()
        source = Source(
            name,
            url,
            self.connector(name),
            config.qbcd_schema,
            options=SessionOptions(
                fetchsize=config.jdbc.fetchsize,
                properties=config.jdbc.properties,
                statement_timeout=int(config.statement_timeout.total_seconds()),
                socket_timeout=int(config.socket_timeout.total_seconds()) if config.socket_timeout else None,
            ),
            place=self._config.where("sources", name),
        )
        source.masking = self._masking
        return source

    def same_server(self, name: str) -> list[Source]:
        """Return the other sources that may be on the same server; the schema of each is a store."""
        mine = self.get(name)
        return [self.get(n) for n in self._config.databases if self.get(n).may_share_server(mine)]

    def connector(self, source: str) -> Connector:
        """Return the source's connector, with the JDBC driver of the configured jar."""
        config = self._config.databases[source]
        with self._config.placed("sources", source, "url"):
            connector = connector_for(config.sqlalchemy_url())
        if config.jdbc.driver_jar is not None:
            found = driver_in(config.jdbc.driver_jar, (connector.driver, *connector.other_drivers))
            connector.driver = found or connector.driver  # a jar without a driver is refused when it is needed
        return connector

    def drivers(self) -> list[Wanted]:
        """Return the JDBC drivers of all configured sources, each once, with its configured jar."""
        found: dict[JdbcDriver, Wanted] = {}
        for name, config in self._config.databases.items():
            driver = self.connector(name).driver
            if driver not in found or found[driver].jar is None:
                place = self._config.where("sources", name, "jdbc", "driver_jar")
                found[driver] = Wanted(driver, config.jdbc.driver_jar, place)
        for name, source in self._config.drivers.items():
            place = self._config.where("sources", name, "jdbc", "driver_jar")
            with self._config.placed("sources", name):
                profile = profile_of_source(source)
            if not profile.bundled or source.jdbc.driver_jar is not None:
                driver = driver_of(profile, source)
                found[driver] = Wanted(driver, source.jdbc.driver_jar, place)
        shared, place = self._config.spark.driver_jar, self._config.where("spark", "driver_jar")
        alone = len(found) == 1
        return [
            Wanted(driver, shared, place)
            if wanted.jar is None and shared and (alone or driver_in(shared, [driver]))
            else wanted
            for driver, wanted in found.items()
        ]
