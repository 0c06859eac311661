"""The engines of a project, Spark and DuckDB, and the workdir that both see."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.config import ProjectConfig, StreamConfig
from qbcd.config.masking import Masking
from qbcd.errors import Refused
from qbcd.local.database import LocalProvider, threads_for
from qbcd.project.sources import ProjectSources
from qbcd.sites.engine_choice import EngineChoice, RowLimit, measured_limit
from qbcd.spark.drivers import find_driver, user_cache
from qbcd.spark.java import Surroundings
from qbcd.spark.object_stores import find_s3a, give_access
from qbcd.spark.provider import SparkProvider
from qbcd.spark.session import check_setting
from qbcd.state.dialects import store_facts
from qbcd.stores.parts import Workdir

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("qbcd")
DEPLOY_MODE = "spark.submit.deployMode"


class ProjectEngines:
    """Spark, which starts on first use, databases in this process, and the workdir of both.

    Args:
        session: A session to use unchanged; without it, one is started when rows must travel.
    """

    def __init__(
        self, config: ProjectConfig, sources: ProjectSources, masking: Masking, session: SparkSession | None
    ) -> None:
        self._config, self._sources = config, sources
        drivers = sorted({wanted.driver.driver_class for wanted in sources.drivers()})
        self.spark = SparkProvider(config.spark, self._jars, drivers, session, masking.foreign)
        self.spark.timeout = config.spark.timeout.total_seconds()
        self.spark.give_access = self._give_access
        url = "" if isinstance(config.workdir, Path) else config.workdir
        self.workdir = Workdir(config.own_folder, url, config.storage.options)
        self.local = LocalProvider(config.own_folder, config.local_memory)

    def choose(self, config: StreamConfig) -> EngineChoice:
        """Return the engine of a stream; `auto` compares files here unless Spark is a cluster."""
        if config.source in self._config.drivers:
            return EngineChoice("local", why_local="rows that Spark has read are compared in this process")
        if config.source not in self._config.databases:
            from qbcd.strategies import AUTO, BY_JOIN

            method = config.options.get("method") or AUTO
            if method not in BY_JOIN:
                return EngineChoice("local", why_local=f"method {method} is of this process")
            if config.engine == "auto" and not self.spark.on_cluster:
                return EngineChoice("local", why_local="files are compared in this process")
        limit = RowLimit(self._config.local_rows)
        if limit.rows is None:
            memory = self._config.local_memory
            limit = measured_limit(memory, threads_for(memory), os.cpu_count() or 1)
        return EngineChoice(config.engine, limit, self._config.local_bytes, cluster=self.spark.on_cluster)

    def check_settings(self) -> None:
        """Check the user's settings of Spark against those that qbcd needs for correct results.

        Raises:
            ConfigError: A setting contradicts them.
        """
        for name, value in self._config.spark.conf.items():
            with self._config.placed("spark", "conf", name):
                check_setting(name, value, self._config.shown(value, "spark", "conf", name))
        self._refuse_file_state(self._config.spark.conf.get(DEPLOY_MODE))

    def _refuse_file_state(self, mode: str | None) -> None:
        """Refuse a state in a file if the driver runs on any host of a cluster.

        Raises:
            Refused: It does.
        """
        url = self._config.state_url()
        if mode == "cluster" and store_facts(url.get_backend_name()).is_file:
            raise Refused(
                f"the state {url.database} is a file, and with {DEPLOY_MODE}=cluster any host may run the driver",
                remedy="set `state` to the URL of a server",
            )

    def _jars(self) -> list[Path]:
        """Return the driver jars of all configured sources, for a new session."""
        self.check_settings()
        jars, around = [], Surroundings(spark_conf=self._config.spark.conf)
        for wanted in self._sources.drivers():
            found = find_driver(
                wanted.driver, configured=wanted.jar, cache=user_cache(), around=around, place=wanted.place
            )
            for line in found.passed_over:
                log.warning("%s", line)
            jars.append(found.jar)
        if self.workdir.url.startswith("s3://"):
            jars += find_s3a(self._config.spark.conf, user_cache(), around)
        return jars

    def _give_access(self, session: SparkSession) -> None:
        if store_facts(self._config.state_url().get_backend_name()).is_file and self.spark.on_cluster:
            self._refuse_file_state(session.sparkContext.getConf().get(DEPLOY_MODE))
        if self.workdir.url:
            give_access(session, self.workdir.url, self.workdir.storage, owned=self.spark.owned)
