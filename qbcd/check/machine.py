"""Checks of the machine: Java, JDBC drivers, Spark settings, the workdir, its executors."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

from qbcd.check.executors import prove_shared, prove_store
from qbcd.check.finding import Finding, failed, run_check
from qbcd.check.folders import nearest_existing, prove_writable
from qbcd.common.wording import counted
from qbcd.config import SparkConfig
from qbcd.config.streams import EngineName
from qbcd.errors import EnvironmentMissing, QbcdError
from qbcd.spark.drivers import Wanted, find_driver, user_cache
from qbcd.spark.java import Surroundings, require_java
from qbcd.spark.provider import SparkProvider
from qbcd.stores.parts import Workdir


def check_machine(
    drivers: Sequence[Wanted],
    workdir: Workdir | Path,
    config: SparkConfig,
    spark: SparkProvider,
    settings: Callable[[], object] = lambda: None,
    engines: Collection[EngineName] = frozenset({"spark"}),
) -> list[Finding]:
    """Check Java, driver jars, the workdir, and executors that see it, which all streams need.

    Args:
        drivers: The JDBC drivers of all configured sources, each once.
        workdir: The project's workdir; it need not exist yet.
        spark: An existing session is checked; one is started only if the master is not this process.
        settings: Raises an error for settings that a session would refuse.
        engines: The engines of the streams. With ``local`` alone, Spark is not checked. Without ``spark``, and with a
            local master, Java is not necessary.
    """
    with_spark = set(engines) - {"local"}
    found = _of_spark(drivers, config, spark, settings) if with_spark else []
    if "spark" not in engines and not spark.on_cluster:
        found = [_for_large_polls(finding) for finding in found]
    place = workdir if isinstance(workdir, Workdir) else Workdir(workdir)
    local = place.local
    can_write = f"{local} can be written"
    found.append(run_check("workdir", lambda: prove_writable(local), can_write, folder=nearest_existing(local)))
    if place.url:
        found.append(run_check("workdir", lambda: prove_store(place), f"{place.url} can be written and read"))
    if with_spark and not config.master.startswith("local") and not any(f.level == "error" for f in found):
        seen = (
            f"executors of {config.master} and this process see the same files of the workdir; catalogs, counts, small "
            "batches and sinks other than jsonl and parquet in folders go through this process: 200,000 events of 200 "
            "bytes a second, measured with a table as sink"
        )
        left = list[int]()
        found.append(run_check("executors", lambda: left.append(prove_shared(place, spark)), seen))
        if any(left):
            message = (
                f"{counted(left[0], 'upload')} into {place.url} did not end, of killed processes; a rule of the bucket "
                "that aborts incomplete uploads removes them"
            )
            found.append(Finding("uploads", "warning", message))
    return found


def _of_spark(
    drivers: Sequence[Wanted], config: SparkConfig, spark: SparkProvider, settings: Callable[[], object]
) -> list[Finding]:
    """Check Java, the settings and the session of Spark, and the JDBC drivers."""
    probed = [run_check("Spark", probe, "") for probe in (settings, spark.look)]
    return [
        _java(),
        *(finding for finding in probed if finding.error),
        *(_driver(wanted, config.conf) for wanted in drivers),
    ]


def _for_large_polls(finding: Finding) -> Finding:
    """Return the finding about Spark of a project that may never need it."""
    if not isinstance(finding.error, EnvironmentMissing) or finding.error.where:  # a wrong setting remains an error
        return finding
    return Finding(finding.subject, "warning", f"only polls beyond `local_rows` need it: {finding.error}")


def _java() -> Finding:
    try:
        return Finding("Java", "ok", str(require_java()))
    except QbcdError as error:
        return failed("Java", error)


def _driver(wanted: Wanted, spark_conf: Mapping[str, str]) -> Finding:
    """Find the driver's jar. A check installs no package; if a poll would, that is a warning."""
    subject = f"driver {wanted.driver.driver_class}"
    around = Surroundings(may_install=lambda: False, spark_conf=spark_conf)
    try:
        jar = find_driver(wanted.driver, configured=wanted.jar, cache=user_cache(), around=around, place=wanted.place)
    except EnvironmentMissing as error:
        package = wanted.driver.debian
        if package and Surroundings().may_install() and shutil.which("apt-get"):
            return Finding(subject, "warning", f"no jar yet; the first work of Spark installs the package {package}")
        return failed(subject, error)
    except QbcdError as error:
        return failed(subject, error)
    return Finding(subject, "ok", f"{jar.jar} ({jar.origin})")
