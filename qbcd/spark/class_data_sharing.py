"""Java's class-data sharing: an archive of loaded classes, for faster starts of Spark.

Much of Spark's start is Java loading classes. The first process on a machine that ends normally writes them once, into
the user's cache; later ones read them there. Java itself ignores an archive that does not match its version or class
path.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

log = logging.getLogger("qbcd")

KEPT = 2  # archives per user, for alternating versions of Java or Spark
STALE = 3600  # seconds after which an unfinished attempt is certainly abandoned
ROOM = 1 << 30  # bytes that must be free on the disk; an archive takes about 130 MB
_PROPERTY = "qbcd.classes"  # system property with the archive's path, in a Java that records its classes
# Java reports an archive that does not match on stdout, where results go.
_QUIET = "-Xlog:disable -Xlog:all=error:stderr"
_UNSAFE = re.compile(r'["\\\s]')  # characters of a path that cannot be written into Java's options
_NAMED = re.compile(r"-Xshare|SharedArchiveFile|ArchiveClassesAtExit|AutoCreateSharedArchive|DumpSharedSpaces")


def archive_of(java: Path, cache: Path) -> Path:
    """Return the path of the archive for this Java and this Spark in the user's cache."""
    import pyspark
    from pyspark.find_spark_home import _find_spark_home

    program = java.resolve()
    release = program.parents[1] / "release"
    known = release.read_bytes() if release.is_file() else b""
    spark = str(Path(_find_spark_home()).resolve())
    parts = (str(program), str(program.stat().st_mtime_ns), spark, pyspark.__version__)
    name = hashlib.sha256("\0".join(parts).encode() + known).hexdigest()[:16]
    return cache / "classes" / f"{name}.jsa"


def options(archive: Path, user_options: Iterable[str]) -> str:
    """Return Java's options to read the archive, or to record the classes for it.

    Empty if the user sets such options, or if the archive cannot be written.

    Args:
        archive: See :func:`archive_of`.
        user_options: All options that the user has set for Java.
    """
    if any(_NAMED.search(text) for text in user_options) or _UNSAFE.search(str(archive)):
        return ""
    try:
        if archive.is_file():
            return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'
        existing = next(folder for folder in archive.parents if folder.exists())
        if not os.access(existing, os.W_OK) or shutil.disk_usage(existing).free < ROOM:
            return ""
    except OSError:  # the cache is not accessible
        return ""
    return f'-XX:+RecordDynamicDumpInfo "-D{_PROPERTY}={archive}" {_QUIET}'


def save(session: SparkSession) -> None:
    """Write the archive, if the session's Java recorded its classes and no file exists.

    This takes seconds. A failure is only logged.
    """
    jvm = session.sparkContext._jvm
    assert jvm is not None
    archive = Path(jvm.java.lang.System.getProperty(_PROPERTY) or "")
    if not archive.name or archive.exists():
        return
    attempt = archive.with_name(f".{archive.name}.{os.getpid()}")
    try:
        archive.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        _dump(session, attempt)
        os.replace(attempt, archive)
        _forget_others(archive)
    except Exception as error:  # noqa: BLE001 -- any error of Py4J, Java or the disk: only the next start is slower
        log.debug("Java's archive of classes was not written: %s", str(error).partition("\n")[0])
    finally:
        with suppress(OSError):
            attempt.unlink(missing_ok=True)


def _dump(session: SparkSession, path: Path) -> None:
    """Run Java's diagnostic command ``VM.cds dynamic_dump`` in the session's Java.

    It is called by reflection, since Py4J may not call methods of the class of the MBean server.
    """
    jvm, gateway = session.sparkContext._jvm, session.sparkContext._gateway
    assert jvm is not None
    assert gateway is not None

    def array(kind: Any, *values: Any) -> Any:
        made = gateway.new_array(kind, len(values))
        for place, value in enumerate(values):
            made[place] = value
        return made

    lang, beans = jvm.java.lang, jvm.java.lang.management.ManagementFactory.getPlatformMBeanServer()
    command = jvm.javax.management.ObjectName("com.sun.management:type=DiagnosticCommand")
    methods = lang.Class.forName("javax.management.MBeanServer").getMethods()
    [invoke] = [method for method in methods if method.getName() == "invoke"]
    arguments = array(lang.Object, array(lang.String, "dynamic_dump", str(path)))
    out = lang.System.out  # Java would report success here, where results go
    lang.System.setOut(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    try:
        invoke.invoke(beans, array(lang.Object, command, "vmCds", arguments, array(lang.String, "[Ljava.lang.String;")))
    finally:
        lang.System.setOut(out)


def _forget_others(archive: Path) -> None:
    """Delete all but the latest archives, and the files of interrupted attempts."""
    for path in archive.parent.glob(".*.jsa.*"):
        if path.stat().st_mtime < time.time() - STALE:
            path.unlink(missing_ok=True)
    found = sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[KEPT:]:
        path.unlink(missing_ok=True)
