"""What must hold before a stream can be polled, found out without changing anything (``qbcd check``).

Sits beside `job`, above `run`: a stream is looked at with the very plan, restriction and strategy of its polls.
"""

from __future__ import annotations

import os
import shutil
import string
import tempfile
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Literal

from sqlalchemy import inspect

from qbcd.catalog.capture_change import change_of
from qbcd.catalog.drift import check_requested, check_server, check_shape
from qbcd.catalog.query_table import rights_of
from qbcd.catalog.source import Session
from qbcd.config import SparkConfig
from qbcd.errors import EnvironmentMissing, MissingPrivilege, QbcdError, Refused, UnsafeKey
from qbcd.model import Consistency, StreamPlan, Table
from qbcd.orphans import Parts, left_streams
from qbcd.run import option_place, plan_of, probe_restriction
from qbcd.sites.context import refuse_moved
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.own_tables import reads_alone
from qbcd.spark.drivers import Wanted, find_driver, user_cache
from qbcd.spark.java import Surroundings, require_java
from qbcd.spark.provider import SparkProvider
from qbcd.state import StreamRow
from qbcd.stream import Stream

PROBE_BYTES = 1 << 20  # that the workdir has to have room for


@dataclass(frozen=True)
class Finding:
    """One thing that was checked.

    Attributes:
        subject: What was looked at: ``source``, ``key`` ..
        level: ``ok``, ``warning`` or ``error``.
        message: What was found.
        stream: The stream concerned, or empty for the project.
        error: The error, if it is one.
    """

    subject: str
    level: Literal["ok", "warning", "error"]
    message: str
    stream: str = ""
    error: QbcdError | None = None


def check_stream(stream: Stream) -> list[Finding]:
    """Everything that a poll of `stream` rests on, in order; what follows from an error is not looked at any more."""
    found: list[Finding] = []
    try:
        for subject, level, message in _stream_findings(stream):
            found.append(Finding(subject, level, message, stream.name))
    except QbcdError as error:
        error.stream = error.stream or stream.name
        found.append(_failed("stream", error, stream.name))
    if (folder := stream.site.context.folder) is not None:
        own = _tried("workdir", lambda: _writable(folder), "", stream.name)
        found += [own] if own.error else []
    for name, sink in stream.sinks.items():
        found.append(_tried(f"sink {name}", partial(sink.check_stream, stream.name), "takes batches", stream.name))
    return found


_Found = Iterator[tuple[str, Literal["ok", "warning"], str]]
_SEEN: Mapping[Consistency, str] = {
    "snapshot": "a batch comes from one snapshot of the source",
    "statement": "a batch comes from one statement, which sees one state of the source",
    "range": "each key range of a batch is one state of the source; another range may be of another moment",
}


def _stream_findings(stream: Stream) -> _Found:
    row = stream.site.context.row()
    with stream.source.read(stream.name) as session:
        server = stream.source.connector.catalog.server_identity(session.connection)
    yield "source", "ok", f"{stream.source.label}: {server.product}"
    plan, warnings = plan_of(stream, row)
    table = plan.table
    yield stream.config.subject, "ok", f"{_told(table)}, {len(plan.captured)} columns captured"
    for warning in warnings:
        yield "columns", "warning", warning
    strategy = stream.site.strategy(plan)
    with stream.source.read(stream.name) as session:
        if stream.config.where:
            probe_restriction(stream, session, plan)
            yield "restriction", "ok", "is accepted by the source"
        yield "key", "ok", _key(stream, session, plan)
        if isinstance(context := stream.site.context, DatabaseContext):
            own = context.own_names(plan)
            stream.source.connector.catalog.check_in_source(session.connection, plan.table, stream=stream.name, own=own)
        yield "privileges", "ok", _privileges(stream, session, plan, row)
        stream.site.refuse_unfit(session, plan, option_place(stream))
        yield "strategy", "ok", f"{strategy.label}: {_SEEN[strategy.consistency]}"
        for remark in stream.site.remarks(session, plan):
            yield "strategy", "warning", f"{strategy.label}: {remark}"
        if row is not None and row.prepared:
            check_requested(stream.name, stream.settings.requested, row.checkpoint)
            check_shape(stream.source, session, stream.name, row.checkpoint, plan)
            check_server(stream.source, session, stream.name, row.checkpoint, accept=False)
            stream.site.context.prove_whole()
            if change := change_of(row.checkpoint, plan):
                yield "state", "warning", f"{change.told()}: the next poll takes that up"
            found = "1 batch" if row.last_batch_seq == 1 else f"{row.last_batch_seq} batches"
            yield "state", "ok", f"prepared, epoch {row.epoch}, {found}"
        else:
            refuse_moved(stream.site.context)
            yield "state", "ok", f"not prepared yet: qbcd prepare {stream.name}"
    for warning in strategy.warnings():
        yield "strategy", "warning", f"{strategy.label}: {warning}"


def _told(table: Table) -> str:
    rows = f"about {table.rows:,} rows" if table.rows >= 0 else "rows unknown (never analysed)"
    if not table.query:
        return f"{table.label}, {table.kind}, {rows}"
    read = ", ".join(dict.fromkeys(_read(base) for base in table.bases))
    return f"{table.label} over {read or 'no table'}"


def _read(base: Table) -> str:
    behind = [one.label for one in base.reads if not one.definition]
    return f"{base.label} (a view of {', '.join(behind)})" if behind else base.label


def _key(stream: Stream, session: Session, plan: StreamPlan) -> str:
    if plan.counted:
        return "none: rows are told by all their values, and counted"
    if not plan.key:
        return "(), since the query gives one row at most"
    named = ", ".join(c.name for c in plan.key)
    if plan.key_is_proven:
        return f"({named}), unique by {'the query and the keys of its tables' if plan.table.query else 'the catalog'}"
    found = session.one(stream.site.strategy(plan).key_problems())
    twice, null = int(found.keys_more_than_once), int(found.keys_null)
    if twice or null:
        raise UnsafeKey(
            f"key ({named}) is not unique in {plan.table.label}: {twice} keys stand there more than "
            f"once or hold NULL ({null} rows with NULL)",
            where=stream.config.place("key"),
            stream=stream.name,
            remedy="choose a key that is unique and never NULL",
        )
    return f"({named}), unique now; the catalog does not guarantee it, so every poll counts it"


def _privileges(stream: Stream, session: Session, plan: StreamPlan, row: StreamRow | None) -> str:
    """What the role may do; `resolve` has proven SELECT, an in-source strategy needs a place for its tables too."""
    conn, schema = session.connection, stream.source.schema
    rights = rights_of(stream.source.connector, conn, plan.table, [c.name for c in plan.captured], schema)
    if stream.site.context.kind != "database":
        return f"role {rights.role} may SELECT; the source is only read"
    if row is not None or stream.site.stands(plan):
        return f"role {rights.role} may SELECT; qbcd's tables are in schema {schema}"
    there = inspect(conn).has_schema(schema)
    if not (rights.own_schema if there else rights.create_schema):
        lacking = f"create tables in schema {schema}" if there else f"create schema {schema}"
        raise MissingPrivilege(
            f"role {rights.role} may not {lacking}, which strategy {plan.strategy} needs",
            stream=stream.name,
            where=stream.config.place("strategy"),
            remedy=f"qbcd prepare {stream.name} --dry-run prints the DDL for a DBA; {reads_alone(plan)}",
        )
    return f"role {rights.role} may SELECT and {'use' if there else 'create'} schema {schema}"


def check_left(project: Parts, *, state_is_new: bool) -> list[Finding]:
    """What streams have left that are in the configuration no more; and replicas that no state tells of.

    Args:
        state_is_new: There is no state database yet.
    """
    try:
        found = [Finding("state", "warning", left.told()) for left in left_streams(project)]
    except QbcdError as error:
        found = [Finding("state", "warning", f"streams that were taken out were not looked for: {error}")]
    workdir = project.config.workdir
    if state_is_new and workdir.is_dir() and any(map(_is_project, workdir.iterdir())):
        found.append(
            Finding(
                "state",
                "warning",
                f"there is no state database, but workdir {workdir} holds replicas of one: prepare "
                "would begin anew (if this is the project that made them, bring its state back)",
            )
        )
    return found


def _is_project(folder: Path) -> bool:
    """Whether it is named as the site names a project's folder, and not empty."""
    named = len(folder.name) == 32 and set(folder.name) <= set(string.hexdigits)
    return named and folder.is_dir() and any(folder.iterdir())


# -- the machine -----------------------------------------------------------------------------------------------------
def check_machine(
    drivers: Sequence[Wanted],
    workdir: Path,
    config: SparkConfig,
    spark: SparkProvider,
    settings: Callable[[], object] = lambda: None,
) -> list[Finding]:
    """What all streams need of this machine: Java, driver jars, the workdir, and executors that see it.

    Args:
        drivers: Of all configured sources, each once.
        workdir: The project's workdir; need not exist yet.
        config: How Spark is started.
        spark: A session that is there is looked at; one is started only where the master is not this process.
        settings: Refuses settings of Spark that a session would refuse.
    """
    found = [_java()]
    tried = [_tried("Spark", look, "", "") for look in (settings, spark.look)]
    found += [finding for finding in tried if finding.error]
    found += [_driver(wanted, config.conf) for wanted in drivers]
    found.append(_tried("workdir", lambda: _writable(workdir), f"{workdir} can be written", ""))
    if not config.master.startswith("local") and not any(f.level == "error" for f in found):
        seen = f"seen by the executors of {config.master} too"
        found.append(_tried("executors", lambda: _shared(workdir, spark), seen, ""))
    return found


def _java() -> Finding:
    try:
        return Finding("Java", "ok", str(require_java()))
    except QbcdError as error:
        return _failed("Java", error)


def _driver(wanted: Wanted, spark_conf: Mapping[str, str]) -> Finding:
    """The driver's jar; a look installs no package, so where a poll would, that is a warning."""
    subject = f"driver {wanted.driver.driver_class}"
    looking = Surroundings(may_install=lambda: False, spark_conf=spark_conf)
    try:
        jar = find_driver(wanted.driver, configured=wanted.jar, cache=user_cache(), around=looking, place=wanted.place)
    except EnvironmentMissing as error:
        if Surroundings().may_install() and shutil.which("apt-get"):
            package = wanted.driver.debian
            return Finding(subject, "warning", f"no jar yet; the first poll installs the package {package}")
        return _failed(subject, error)
    except QbcdError as error:
        return _failed(subject, error)
    return Finding(subject, "ok", f"{jar.jar} ({jar.origin})")


def _writable(workdir: Path) -> None:
    """Makes and removes a file in the workdir or a folder in it, or in its nearest parent that exists."""
    there = next(path for path in (workdir, *workdir.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(prefix=".qbcd-check-", dir=there) as probe:
            probe.write(bytes(PROBE_BYTES))
            probe.flush()
    except OSError as error:
        raise Refused(
            f"workdir {workdir} cannot be written: {error.strerror}", remedy="check its owner, rights and free space"
        ) from error


def _shared(workdir: Path, spark: SparkProvider) -> None:
    """Has an executor look for a file that this process made."""
    made = [folder for folder in (workdir, *workdir.parents) if not folder.exists()]
    workdir.mkdir(mode=0o700, parents=True, exist_ok=True)
    marker = workdir / f".qbcd-check-{uuid.uuid4().hex}"
    marker.touch()
    try:
        path = str(marker)
        context = spark.get().sparkContext
        tasks = max(8, 4 * context.defaultParallelism)  # enough for every executor to get one
        looked = context.parallelize(range(tasks), tasks).map(lambda _: os.path.exists(path)).collect()
    finally:
        marker.unlink()
        with suppress(OSError):  # somebody has put something there meanwhile
            for folder in made:
                folder.rmdir()
    if not all(looked):
        raise Refused(
            f"executors do not see the workdir {workdir}", remedy="mount the same folder on every Spark worker"
        )


def _tried(subject: str, action: Callable[[], object], message: str, stream: str) -> Finding:
    try:
        action()
    except QbcdError as error:
        return _failed(subject, error, stream)
    return Finding(subject, "ok", message, stream)


def _failed(subject: str, error: QbcdError, stream: str = "") -> Finding:
    return Finding(subject, "error", error.what.removeprefix(f"{subject}: "), stream, error)
