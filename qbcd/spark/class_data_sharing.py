"""Java's archive of classes (class-data sharing): what a Java process has loaded and checked, for the next one to map.

Much of what Spark takes to start is Java loading classes. The first process on a machine that ends well writes them
down, once, into the user's cache; later ones read them there. Java itself refuses an archive that does
not fit it or its class path, and starts without.
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

KEPT = 2  # archives: of as many Javas, or Sparks, that one user works with in turns
STALE = 3600  # seconds after which nobody writes an attempt any more
ROOM = 1 << 30  # bytes that must be free where one is written; it takes some 130 MB
_PROPERTY = "qbcd.classes"  # of a Java that remembers what it loads: where that is to be written
# Java complains of an archive that does not fit on stdout, where results go.
_QUIET = "-Xlog:disable -Xlog:all=error:stderr"
_UNSPEAKABLE = re.compile(r'["\\\s]')  # in a path among Java's options, or in one that Java is told to write to
_NAMED = re.compile(r"-Xshare|SharedArchiveFile|ArchiveClassesAtExit|AutoCreateSharedArchive|DumpSharedSpaces")


def archive_of(java: Path, cache: Path) -> Path:
    """The archive of this Java with this Spark, in the user's cache; need not be there."""
    import pyspark
    from pyspark.find_spark_home import _find_spark_home

    program = java.resolve()
    release = program.parents[1] / "release"
    known = release.read_bytes() if release.is_file() else b""
    told = (str(program), str(program.stat().st_mtime_ns), str(Path(_find_spark_home()).resolve()), pyspark.__version__)
    name = hashlib.sha256("\0".join(told).encode() + known).hexdigest()[:16]
    return cache / "classes" / f"{name}.jsa"


def options(archive: Path, said: Iterable[str]) -> str:
    """Java's options to read the archive, or to remember what one would be made of; none where the user names some.

    Args:
        archive: See :func:`archive_of`.
        said: Options of Java's that the user has set anywhere.
    """
    if any(_NAMED.search(text) for text in said) or _UNSPEAKABLE.search(str(archive)):
        return ""
    try:
        if archive.is_file():
            return f'"-XX:SharedArchiveFile={archive}" {_QUIET}'
        there = next(folder for folder in archive.parents if folder.exists())
        if not os.access(there, os.W_OK) or shutil.disk_usage(there).free < ROOM:
            return ""
    except OSError:  # of a cache that may not be looked into
        return ""
    return f'-XX:+RecordDynamicDumpInfo "-D{_PROPERTY}={archive}" {_QUIET}'


def save(session: SparkSession) -> None:
    """Writes the archive, where the session's Java remembers what to write and nobody has done so meanwhile.

    Takes seconds. That it cannot be written hinders nothing.
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
    except Exception as error:  # noqa: BLE001 -- Py4J's for whatever Java says, or the disk's: the next start is slower
        log.debug("Java's archive of classes was not written: %s", str(error).partition("\n")[0])
    finally:
        with suppress(OSError):
            attempt.unlink(missing_ok=True)


def _dump(session: SparkSession, path: Path) -> None:
    """Has Java run its own diagnostic command ``VM.cds dynamic_dump``.

    By reflection: the class behind the server of management beans is one that Py4J may not call methods of.
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
    asked = array(lang.Object, array(lang.String, "dynamic_dump", str(path)))
    out = lang.System.out  # where Java would say that it is done, and results go
    lang.System.setOut(jvm.java.io.PrintStream(jvm.java.io.OutputStream.nullOutputStream()))
    try:
        invoke.invoke(beans, array(lang.Object, command, "vmCds", asked, array(lang.String, "[Ljava.lang.String;")))
    finally:
        lang.System.setOut(out)


def _forget_others(archive: Path) -> None:
    """Removes all but the latest archives, and what interrupted attempts left."""
    for path in archive.parent.glob(".*.jsa.*"):
        if path.stat().st_mtime < time.time() - STALE:
            path.unlink(missing_ok=True)
    found = sorted(archive.parent.glob("*.jsa"), key=lambda path: path.stat().st_mtime, reverse=True)
    for path in found[KEPT:]:
        path.unlink(missing_ok=True)
