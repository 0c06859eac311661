"""A Spark session: its settings, its creation, checks of a session that qbcd did not start."""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from qbcd.config.masking import REDACTED, credentials_masked
from qbcd.errors import ConfigError, Refused, SparkFailed
from qbcd.spark import class_data_sharing
from qbcd.spark.java import require_java
from qbcd.spark.jdbc import spark_failure
from qbcd.spark.jvm_start import SUBMIT, can_hand_over, handed_over, start_java, uninterrupted
from qbcd.spark.time_limit import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark import SparkConf
    from pyspark.sql import SparkSession

LOG_SETTINGS = Path(__file__).with_name("log4j2.properties")

# Settings that correctness needs; a user's `spark.conf` may not contradict them.
FIXED: Mapping[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.speculation": "false",
    "spark.sql.caseSensitive": "true",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.int96RebaseModeInRead": "CORRECTED",
}
# Pages of Parquet without rows of the requested ranges are skipped for up to this number of ranges. Spark makes them a
# tree of that depth and descends it: a thousand would overflow a task's stack.
_PAGES: Mapping[str, str] = {"spark.sql.parquet.pushdown.inFilterThreshold": "100"}
# A plan for one task keeps one task, whatever size Spark assumes. For an unknown size, such as that of a JDBC read, it
# assumes 2^63 - 1, so that the sum of two would exceed every bound. A TiB is large enough to count as not small.
_ONE_TASK: Mapping[str, str] = {
    "spark.sql.maxSinglePartitionBytes": f"{2**63 - 1}b",
    "spark.sql.defaultSizeInBytes": str(2**40),
}
# A query for a few rows, such as the first differences, has no job for one partition after the other.
_AT_ONCE: Mapping[str, str] = {"spark.sql.limit.initialNumPartitions": "1000"}
_COLLECTOR = "-XX:+UseParallelGC"  # needs less processor time than Java's default, which has shorter pauses
_NAMES_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
# Java's second compiler makes code faster only after it has run for long, and takes half of the processor time of a
# short poll. Measured: docs/internals/engines.md#the-start-of-spark.
SHORT_ROWS = 2_000_000
MASTER_TIMEOUT = 10.0  # seconds for a connection to a standalone master
MANY = 200  # partitions of an exchange of many rows on a cluster, Spark's own default
FIRST_COMPILER = "-XX:TieredStopAtLevel=1"
_NAMES_COMPILER = re.compile(r"-XX:[+-]?Tier|-XX:[+-]?Compil|-X(?:int|comp|mixed)\b|-XX:[+-]\w*(?:JVMCI|Graal)")
# Room for the classes of Spark from the start; while it grows, each step is a collection of all garbage.
_CLASSES = "-XX:MetaspaceSize=256m"
_NAMES_CLASSES = "-XX:MetaspaceSize"
# Spark writes the text of each plan, for an interface that is off.
_PLANS: Mapping[str, str] = {
    "spark.sql.ui.explainMode": "simple",
    "spark.sql.maxMetadataStringLength": "20",
    "spark.sql.maxPlanStringLength": "1000",
}
# Files of an object store are equally far from all executors, and each other wait for a near one takes three seconds.
_CLUSTER: Mapping[str, str] = {"spark.locality.wait": "0s"}
_OPTIONS = ("spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions")
_DRIVERS_OPTIONS = (_OPTIONS[0], "spark.driver.defaultJavaOptions")
_ENVIRONMENT = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")  # variables of the environment
_UTC = frozenset({"UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "+00:00", "UTC+00:00", "Zulu", "Universal"})


class SparkSettings(Protocol):
    """The part of the configuration that defines a session."""

    @property
    def master(self) -> str:
        """Spark's master URL, ``local[*]`` by default."""

    @property
    def conf(self) -> Mapping[str, str]:
        """Further Spark settings, as the user wrote them."""


def check_setting(name: str, value: str, shown: str = "") -> None:
    """Refuse a user's setting that contradicts one of `FIXED`.

    Args:
        shown: The value as messages may show it; by default the value itself.

    Raises:
        ConfigError: It contradicts one.
    """
    if name in FIXED and value.lower() != FIXED[name].lower():
        raise ConfigError(
            f"{name} is {shown or value}, but qbcd needs {FIXED[name]}", remedy="remove it from spark.conf"
        )


def session_settings(
    settings: SparkSettings, drivers: Sequence[Path], *, cores: int | None = None, rows: int | None = None
) -> dict[str, str]:
    """Return all settings of a new session.

    Args:
        drivers: Local paths of JDBC driver jars.
        cores: Shuffle partitions of a local master, unless the user sets them; by default the cores of this host.
        rows: Rows of the work that the session is started for; None if unknown.

    Raises:
        ConfigError: The user contradicts a setting that correctness needs.
    """
    user = {name: str(value) for name, value in settings.conf.items()}
    for name, value in user.items():
        check_setting(name, value)
    made = {
        "spark.app.name": "qbcd",
        "spark.master": settings.master,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        # Generated code must be the same at every poll, and cached: compiling costs more than most polls' tasks.
        "spark.sql.codegen.cache.maxEntries": "2000",
        "spark.sql.codegen.useIdInClassName": "false",
        "spark.sql.optimizer.inSetConversionThreshold": "0",
        "spark.sql.optimizer.inSetSwitchThreshold": "0",
        **engine_settings(settings.master, cores or os.cpu_count() or 2),
        **_PLANS,
        "spark.redaction.regex": REDACTED,
        "spark.sql.redaction.options.regex": f"{REDACTED}|url|query|dbtable",
    }
    if settings.master.startswith("local"):
        # A private session listens on this host only.
        made |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        made |= {"spark.driver.memory": memory} if (memory := driver_memory()) else {}
    else:
        made |= _CLUSTER
    made |= user | dict(FIXED)
    jars = [part for part in user.get("spark.jars", "").split(",") if part] + [str(path) for path in drivers]
    if jars:
        made["spark.jars"] = ",".join(dict.fromkeys(jars))
    # The user's JVM options come last, so that they can set another logging configuration.
    logs = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"
    driver = " ".join(["-Duser.timezone=UTC", logs, *_tuning(_java_options(user), rows)])
    executors = " ".join(["-Duser.timezone=UTC", *_tuning(_executors_options(user), rows)])
    for name, ours in zip(_OPTIONS, (driver, executors), strict=True):
        made[name] = f"{ours} {user.get(name, '')}".strip()
    return made


def engine_settings(master: str, cores: int) -> dict[str, str]:
    """Return the settings for jobs of a poll; the cores of a cluster are not known here.

    On one machine, planning again after every exchange costs more than it gains, and exchanges have one partition for
    each core.
    """
    of_machine = {"spark.sql.adaptive.enabled": "false", "spark.sql.shuffle.partitions": str(cores)}
    return {**_PAGES, **_ONE_TASK, **_AT_ONCE, **(of_machine if master.startswith("local") else {})}


def driver_memory() -> str:
    """Return the memory of a local session's Java: a quarter of this machine's, from 1 to 4 GB.

    It is empty if Spark's own files or variables set one.
    """
    homes = (os.environ.get("SPARK_CONF_DIR", ""), str(Path(os.environ.get("SPARK_HOME", "/")) / "conf"))
    named = "".join(_text(Path(home) / "spark-defaults.conf") for home in homes if home) + os.environ.get(SUBMIT, "")
    if "SPARK_DRIVER_MEMORY" in os.environ or "spark.driver.memory" in named or "--driver-memory" in named:
        return ""
    limits = [_text(Path("/sys/fs/cgroup") / name).strip() for name in ("memory.max", "memory/memory.limit_in_bytes")]
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    available = min([physical, *(int(limit) for limit in limits if limit.isdecimal())])
    return f"{min(4096, max(1024, available // 4 >> 20))}m"


def _text(path: Path) -> str:
    """Return the text of a file; empty if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _tuning(named_options: Iterable[str], rows: int | None) -> list[str]:
    """Return the options for a Java that its user leaves to qbcd.

    Args:
        named_options: The user's options for it.
        rows: Rows of the work that the session is started for; None if unknown.
    """
    named = " ".join(named_options)
    is_short = rows is not None and rows <= SHORT_ROWS
    found = {
        _COLLECTOR: not _NAMES_COLLECTOR.search(named),
        _CLASSES: _NAMES_CLASSES not in named,
        FIRST_COMPILER: is_short and not _NAMES_COMPILER.search(named),
    }
    return [option for option, applies in found.items() if applies]


def _shared_classes(settings: SparkSettings, archive: Path) -> dict[str, str]:
    """Return options to read Java's archive of classes, by setting.

    Executors on a host without the file start without it.
    """
    driver = class_data_sharing.options(archive, _java_options(settings.conf))
    if settings.master.startswith("local"):
        return {_OPTIONS[0]: driver}
    executors = class_data_sharing.options(archive, _executors_options(settings.conf))
    return dict(zip(_OPTIONS, (driver, executors), strict=True)) if archive.is_file() else {}


def _executors_options(user: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(str(user.get(name, "")) for name in (_OPTIONS[1], "spark.executor.defaultJavaOptions"))


def _java_options(user: Mapping[str, str]) -> tuple[str, ...]:
    """Return the user's options for the driver's Java from Spark's settings and the environment."""
    in_settings = (str(user.get(name, "")) for name in _DRIVERS_OPTIONS)
    return (*in_settings, *(os.environ.get(name, "") for name in _ENVIRONMENT))


def create_session(
    settings: SparkSettings,
    drivers: Sequence[Path],
    *,
    cache: Path | None = None,
    masked: Callable[[str], str] = credentials_masked,
    timeout: float = UNLIMITED,
    rows: int | None = None,
) -> SparkSession:
    """Start a session with `drivers` on its class path.

    It runs in the Java of this process if there is one.

    Args:
        settings: Master and settings.
        drivers: Local paths of JDBC driver jars.
        cache: The user's cache with Java's archive of classes for a local session; None for no archive.
        masked: Removes secrets from Spark's messages.
        timeout: Longest call of its Java in seconds, the start included.
        rows: Rows of the work that it is started for; None if unknown.

    Raises:
        EnvironmentMissing: There is no Java.
        SparkFailed: Spark did not start, for instance because its master cannot be reached.
        Refused: This process already runs a Spark context, whose settings cannot be changed.
        ConfigError: See :func:`session_settings`.
    """
    if running_session() is not None:
        session_settings(settings, drivers, rows=rows)
        raise Refused("this process already runs a Spark session", remedy="pass it to qbcd: qbcd.open(.., spark=spark)")
    conf = launch(settings, drivers, cache=cache, masked=masked, timeout=timeout, rows=rows)
    with _quiet_pyspark(), uninterrupted(), _start_explained(settings, masked):
        from pyspark.sql import SparkSession

        session = SparkSession.builder.config(conf=conf).getOrCreate()
        _fix_sql_settings(session)
    return session


def launch(
    settings: SparkSettings,
    drivers: Sequence[Path],
    *,
    cache: Path | None = None,
    masked: Callable[[str], str] = credentials_masked,
    timeout: float = UNLIMITED,
    rows: int | None = None,
) -> SparkConf:
    """Start the Java of a session, unless this process has one; return the session's settings.

    No session is started. Arguments and errors are those of :func:`create_session`.
    """
    wanted = session_settings(settings, drivers, rows=rows)
    _prove_master(settings.master)
    java = require_java()
    _hush_py4j()
    if cache is not None:
        for name, shared in _shared_classes(settings, class_data_sharing.archive_of(java, cache)).items():
            wanted[name] = f"{shared} {wanted[name]}".strip()
    with _quiet_pyspark(), uninterrupted(), _start_explained(settings, masked):
        from pyspark import SparkConf, SparkContext

        plain = [n for n in settings.conf if n.startswith("spark.") and wanted[n] == settings.conf[n]]
        own = {name: wanted.pop(name) for name in plain} if can_hand_over() else {}
        conf = SparkConf()
        for name, value in wanted.items():
            conf.set(name, value)
        with handed_over(own):
            if (gateway := start_java(conf, timeout)) is not None:
                SparkContext._ensure_initialized(gateway=gateway)
    return conf


@contextmanager
def _start_explained(settings: SparkSettings, masked: Callable[[str], str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        message = spark_failure(error)
        if message is None:
            raise
        raise SparkFailed(
            f"Spark did not start on master {settings.master}: {masked(message)}",
            remedy="see the lines above; check Java, spark.master and spark.conf",
        ) from error


def running_java(driver_classes: Sequence[str]) -> Any:
    """Return the classes of this process's Java, if it can load JDBC drivers; otherwise None.

    Forget a Java that has ended.
    """
    if "pyspark" not in sys.modules:
        return None
    with _quiet_pyspark():  # the first call with an argument imports more of it
        from pyspark import SparkContext

        jvm = SparkContext._jvm
        if jvm is None or _has_ended():
            return None
        return jvm if all(can_load(jvm, name) for name in driver_classes) else None


def _prove_master(master: str) -> None:
    """Refuse a standalone master that nobody can connect to; Spark would try for minutes.

    Raises:
        SparkFailed: No address of it can be reached.
    """
    scheme, _, addresses = master.partition("://")
    problem: object = ""
    for address in addresses.split(",") if scheme == "spark" else ():
        host, _, port = address.rpartition(":")
        try:
            socket.create_connection((host.strip("[]"), int(port)), MASTER_TIMEOUT).close()
        except (OSError, ValueError, OverflowError) as error:
            problem = getattr(error, "strerror", None) or error
        else:
            return
    if problem:
        raise SparkFailed(f"master {master} cannot be reached: {problem}", remedy="start it, or correct spark.master")


def _fix_sql_settings(session: SparkSession) -> None:
    """Set SQL settings again, since an earlier session of this process may have left its JVM."""
    for name in FIXED:
        if name.startswith("spark.sql."):
            session.conf.set(name, FIXED[name])


def fit_to(session: SparkSession, settings: SparkSettings, rows: int | None) -> None:
    """Plan the next work on a cluster by its rows.

    For few rows, planning again after every exchange costs more than it gains, and so do many partitions.

    Args:
        session: A session that qbcd started.
        settings: The user's settings, which stay.
        rows: The rows of that work; None if unknown.
    """
    few = rows is not None and rows <= SHORT_ROWS
    partitions = max(2, min(MANY, session.sparkContext.defaultParallelism)) if few else MANY
    ours = {"spark.sql.adaptive.enabled": str(not few).lower(), "spark.sql.shuffle.partitions": str(partitions)}
    for name, value in ours.items():
        if name not in settings.conf:
            session.conf.set(name, value)


def sibling(session: SparkSession) -> SparkSession:
    """Return another session of the context, with its SQL settings except those qbcd needs."""
    made, context = session.newSession(), session.sparkContext
    ours = {**engine_settings(context.master or "", context.defaultParallelism), **FIXED}
    for name, value in {**session.conf.getAll, **ours}.items():
        if name.startswith("spark.sql.") and made.conf.isModifiable(name):
            made.conf.set(name, value)
    return made


def running_session() -> SparkSession | None:
    """Return the live session of this process, or None; start nothing."""
    if "pyspark" not in sys.modules:  # its import would take longer than all other checks of the machine
        return None
    with _quiet_pyspark():
        from pyspark import SparkContext
        from pyspark.sql import SparkSession
    if SparkContext._active_spark_context is None:
        return None
    return SparkSession.getActiveSession() or SparkSession.builder.getOrCreate()


def adopt_session(spark: SparkSession, driver_classes: Sequence[str] = ()) -> SparkSession:
    """Check a session that qbcd did not start, and return it unchanged.

    Args:
        driver_classes: JDBC driver classes that its driver process must be able to load.

    Raises:
        Refused: Its time zone is not UTC, or a driver class cannot be loaded.
    """
    _hush_py4j()
    zone = spark.conf.get("spark.sql.session.timeZone")
    if zone not in _UTC:
        raise Refused(
            f"the Spark session passed to qbcd has spark.sql.session.timeZone {zone}, not UTC: timestamps would shift",
            remedy='spark.conf.set("spark.sql.session.timeZone", "UTC")',
        )
    for name in driver_classes:
        if not has_class(spark, name):
            raise Refused(
                f"the Spark session passed to qbcd cannot load the JDBC driver {name}",
                remedy="start it with the driver in spark.jars or spark.jars.packages",
            )
    return spark


def is_alive(session: SparkSession) -> bool:
    """Return True if a session's Java runs and its context has not been stopped."""
    try:
        return not session.sparkContext._jsc.sc().isStopped()
    except Exception:  # noqa: BLE001 -- Py4J has several errors for a Java that has ended
        return False


def forget_session(session: SparkSession) -> None:
    """Make PySpark forget a dead session, and its Java if that has ended."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    with suppress(Exception):  # it fails if its Java has ended
        session.stop()
    SparkContext._active_spark_context = None
    SparkSession._instantiatedSession = None
    _has_ended()


def _has_ended() -> bool:
    """Return True if this process's Java has ended, and make PySpark forget it."""
    from pyspark import SparkContext

    try:
        SparkContext._jvm.java.lang.System.nanoTime()  # type: ignore[union-attr]
    except Exception:  # noqa: BLE001 -- Py4J has several errors for a Java that has ended
        SparkContext._gateway = SparkContext._jvm = None
        return True
    return False


def has_class(spark: SparkSession, name: str) -> bool:
    """Return True if the session's driver process has class `name` on its class path."""
    return can_load(spark.sparkContext._jvm, name)


def can_load(jvm: Any, name: str) -> bool:
    """Return True if a Java has class `name` on its class path."""
    loader = jvm.java.lang.Thread.currentThread().getContextClassLoader()
    return loader.getResource(name.replace(".", "/") + ".class") is not None


@contextmanager
def _quiet_pyspark() -> Iterator[None]:
    """Suppress pyspark's warnings about optional packages that qbcd does not use."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"pyspark\..*")
        yield


def _hush_py4j() -> None:
    """Suppress, permanently, Py4J's traceback of a lost connection in the root logger.

    Py4J's own threads, which report released objects to Java, may meet a lost connection at any time. A caller gets the
    error as an exception anyway.
    """
    logging.getLogger().addFilter(_is_not_py4js)


def _is_not_py4js(record: logging.LogRecord) -> bool:
    return Path(record.pathname).parent.name != "py4j"
