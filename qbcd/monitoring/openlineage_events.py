"""OpenLineage events of polls: START, then COMPLETE or FAIL; datasets are table and sinks.

The package ``openlineage-python`` makes and sends them, as its own configuration says: a file, HTTP, Kafka. A thread
sends them, so that no poll waits.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timezone
from typing import Any

from sqlalchemy.engine import URL

from qbcd.common.plugins import in_one_line
from qbcd.config import StreamConfig
from qbcd.config.databases import OPENLINEAGE_NAMES, SCHEMA_IS_DATABASE
from qbcd.config.openlineage import OpenLineageConfig
from qbcd.errors import ConfigError, EnvironmentMissing
from qbcd.model import StreamPlan, Table
from qbcd.monitoring import background
from qbcd.monitoring.background import Background
from qbcd.polling.outcome import Outcome
from qbcd.project import ProjectParts
from qbcd.sinks.folder import FileOptions
from qbcd.sinks.table.options import DatabaseOptions
from qbcd.state import Run
from qbcd.stream import Stream
from qbcd.version import __version__

log = logging.getLogger("qbcd")
PRODUCER = f"urn:qbcd:{__version__}"  # OpenLineage wants a URI


@contextmanager
def openlineage(parts: ProjectParts, streams: Sequence[Stream]) -> Iterator[Callable[[Outcome], None]]:
    """Yield a function that sends events of outcomes, if the configuration wants events.

    Raises:
        EnvironmentMissing: The package is not installed.
        ConfigError: The client has no place for the events.
    """
    config = parts.config.openlineage
    if config is None:
        yield lambda outcome: None
        return
    client = _client(parts)
    makers = {stream.name: Events(parts, stream.config, config) for stream in streams}

    def events_of(name: str) -> Events:
        if name not in makers:  # of a table that appeared while the job runs
            makers[name] = Events(parts, parts.streams.config(name), config)
        return makers[name]

    sender = _Sender(client, events_of, parts.masking.foreign)
    thread = Background("qbcd-openlineage", sender.send, sender.dropped)
    try:
        yield thread.put
    finally:
        thread.end()
        if not thread.join(background.END_S):
            log.warning("OpenLineage: the latest events are not sent")
        client.close(timeout=background.END_S)


class Events:
    """The events of one stream."""

    def __init__(self, parts: ProjectParts, stream: StreamConfig, config: OpenLineageConfig) -> None:
        self._parts, self._stream, self._config = parts, stream, config
        self._plan: StreamPlan | None = None
        self._origins: dict[str, list[tuple[tuple[str, str], str, str]]] = {}

    def of(self, outcome: Outcome) -> Iterator[Any]:
        """Yield the events of a poll: none without changes, unless they are wanted too."""
        from openlineage.client import event_v2, facet_v2
        from openlineage.client.uuid import generate_new_uuid

        run = outcome.run
        if run is None or (run.outcome == "empty" and not self._config.empty_polls):
            return
        number = str(generate_new_uuid(datetime.fromtimestamp(run.started_at, timezone.utc)))
        job = event_v2.Job(self._config.namespace, self._stream.name, self._job_facets(facet_v2))
        inputs = [event_v2.InputDataset(*name) for name in self._inputs(outcome.plan)]
        columns = self._column_facet(facet_v2.column_lineage_dataset, outcome.plan)
        written = facet_v2.output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet(
            rowCount=sum(run.counts.values())
        )
        outputs = [
            event_v2.OutputDataset(*name, facets=columns, outputFacets={"outputStatistics": written})
            for name in self._outputs()
        ]
        ended = event_v2.RunState.COMPLETE if run.outcome in ("ok", "empty") else event_v2.RunState.FAIL
        for state, at, facets in (
            (event_v2.RunState.START, run.started_at, {}),
            (ended, run.finished_at, self._run_facets(facet_v2, run)),
        ):
            yield event_v2.RunEvent(
                eventTime=datetime.fromtimestamp(at, timezone.utc).isoformat(),
                producer=PRODUCER,
                eventType=state,
                run=event_v2.Run(number, facets),
                job=job,
                inputs=inputs,
                outputs=outputs if state is not event_v2.RunState.START else [],
            )

    def _job_facets(self, facets: Any) -> dict[str, Any]:
        made = {"jobType": facets.job_type_job.JobTypeJobFacet("BATCH", "QBCD", "POLL")}
        if self._stream.query:
            made["sql"] = facets.sql_job.SQLJobFacet(self._stream.query)
        return made

    def _run_facets(self, facets: Any, run: Run) -> dict[str, Any]:
        if run.outcome in ("ok", "empty"):
            return {}
        message = self._parts.masking.foreign(run.message)
        return {"errorMessage": facets.error_message_run.ErrorMessageRunFacet(message, "python")}

    def _column_facet(self, facets: Any, plan: StreamPlan | None) -> dict[str, Any]:
        """Return the facet with the columns from which those of outputs come; empty if not known."""
        if plan is None or self._stream.source not in self._parts.config.databases:
            return {}
        if plan != self._plan:
            self._plan, self._origins = plan, self._origins_of(plan)
        fields = {
            column: facets.Fields(
                [facets.InputField(*place, name, [facets.Transformation("DIRECT", use)]) for place, name, use in found]
            )
            for column, found in self._origins.items()
        }
        return {"columnLineage": facets.ColumnLineageDatasetFacet(fields)} if fields else {}

    def _origins_of(self, plan: StreamPlan) -> dict[str, list[tuple[tuple[str, str], str, str]]]:
        """Return by captured column dataset, column and use of each origin."""
        from qbcd.connectors import connector_for
        from qbcd.queries import column_origins

        table, captured = plan.table, [column.name for column in plan.captured]
        if not table.query:
            return {name: [(self._dataset(table), name, "IDENTITY")] for name in captured}
        url = self._parts.config.databases[self._stream.source].sqlalchemy_url()
        found = column_origins(table, connector_for(url).dialect)
        return {
            name: [(self._dataset(one.table), one.column, one.use) for one in found[name]]
            for name in captured
            if name in found
        }

    def _dataset(self, table: Table) -> tuple[str, str]:
        return self._named(table.schema, table.name)

    def _named(self, schema: str, table: str) -> tuple[str, str]:
        config, source = self._parts.config, self._stream.source
        if source in config.drivers:
            namespace, database = _place_of_driver(config.drivers[source].url.get_secret_value())
            return namespace, ".".join(part for part in (database, schema, table) if part)
        url = config.databases[source].sqlalchemy_url()
        return _namespace(url), _name(url, schema, table)

    def _inputs(self, plan: StreamPlan | None) -> Iterator[tuple[str, str]]:
        """Yield namespace and name of the file series, of the table, or of the tables of a query."""
        stream, dumps = self._stream, self._parts.config.dumps
        if stream.source in dumps:
            yield "file", str(dumps[stream.source].files)
        elif stream.query:
            yield from dict.fromkeys(map(self._dataset, plan.table.bases if plan is not None else ()))
        else:
            yield self._named(stream.table_schema, stream.table_name)

    def _outputs(self) -> Iterator[tuple[str, str]]:
        """Yield namespace and name of each sink's target; a package's sink has its own name."""
        stream = self._stream
        for sink in stream.sinks:
            config = self._parts.config.sinks[sink]
            if isinstance(config, FileOptions):
                yield "file", f"{config.path}/{stream.name}"
            elif isinstance(config, DatabaseOptions):
                url = config.sqlalchemy_url()
                names = {"schema": stream.table_schema, "table": stream.table_name}
                table = config.table.format(stream=stream.name, source=stream.source, **names)
                yield _namespace(url), _name(url, config.target_schema or "", table)
            elif config.type != "console":
                yield self._config.namespace, f"{sink}/{stream.name}"


def _namespace(url: URL) -> str:
    """Return a server as OpenLineage names it: ``name://host:port``; without user and password."""
    name = url.get_backend_name()
    port = f":{url.port}" if url.port else ""
    return f"{OPENLINEAGE_NAMES.get(name, name)}://{url.host or ''}{port}"


def _place_of_driver(url: str) -> tuple[str, str]:
    """Return the server and the database that a JDBC URL names, without login and parameters."""
    place, *parameters = re.split("[;?&]", url.removeprefix("jdbc:"))
    name, _, rest = place.partition(":")
    named = (re.fullmatch("(?i)database(?:name)?=(.+)", one) for one in parameters)
    return f"{name}:{rest.rpartition('@')[2]}", next((found[1] for found in named if found), "")


def _name(url: URL, schema: str, table: str) -> str:
    """Return a table as OpenLineage names it: ``database.schema.table``, or ``database.table``."""
    database = "" if schema and url.get_backend_name() in SCHEMA_IS_DATABASE else str(url.database or "")
    return ".".join(part for part in (database, schema, table) if part)


class _Sender:
    """Makes and sends events; a row of failures has one warning."""

    def __init__(self, client: Any, events_of: Callable[[str], Events], masked: Callable[[str], str]) -> None:
        self._client, self._events_of, self._masked, self._failing = client, events_of, masked, False

    def send(self, outcome: Outcome) -> None:
        try:
            for event in self._events_of(outcome.stream).of(outcome):
                self._client.emit(event)
                self._failing = False
        except Exception as error:  # noqa: BLE001 -- of a foreign package; it must not end the thread
            self._warn(self._masked(in_one_line(error)))

    def dropped(self, outcome: Outcome) -> None:
        self._warn(f"{background.MOST_WAITING:,} others wait")

    def _warn(self, problem: str) -> None:
        if not self._failing:
            log.warning("OpenLineage: events are lost: %s", problem)
        self._failing = True


def _client(parts: ProjectParts) -> Any:
    try:
        from openlineage.client import OpenLineageClient
    except ModuleNotFoundError as error:
        raise EnvironmentMissing(
            "OpenLineage events need the package openlineage-python", remedy="pip install 'qbcd[openlineage]'"
        ) from error
    client = OpenLineageClient()
    if client.transport.kind == "console":  # its default, which writes into a log
        raise ConfigError(
            "OpenLineage has no place for events",
            remedy="set OPENLINEAGE_URL, or name a configuration of its client in OPENLINEAGE_CONFIG",
            where=parts.config.where("openlineage"),
        )
    return client
