"""Spark's access to the object store of a workdir: jars of `s3a` and settings of Hadoop.

Credentials are set in the running session, as settings of one bucket: Spark's command line, which every user of the
machine can read, does not have them, and its interface masks them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import uuid
from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from qbcd.errors import EnvironmentMissing, Refused
from qbcd.spark.java import Surroundings, one_line, resolve_packages
from qbcd.spark.paths import to_write

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_COMPLETE = ".complete"
_AUTH = "org.apache.hadoop.fs.s3a."
# Hadoop's version -> that of the parts of Amazon's SDK which it needs. Its own dependency has all parts, 700 MB.
_PARTS = {"3.5.0": "2.35.4"}
_SDK = "software.amazon.awssdk"
_BUNDLE = f"{_SDK}:bundle"
_given = dict[str, dict[str, str]]()  # by bucket, the settings that this process gave to Java last
ABANDONED = 3600.0  # seconds after which an upload is not that of a process that still writes


def hadoop_version() -> str:
    """Return the version of Hadoop that Spark has."""
    import pyspark

    for jar in (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar"):
        return jar.stem.removeprefix("hadoop-client-api-")
    return ""


def find_s3a(conf: Mapping[str, str], cache: Path, around: Surroundings | None = None) -> list[Path]:
    """Return the jars for `s3a`, from the user's cache or from Maven.

    They have the version of Spark's own Hadoop. None are needed if the user's settings of Spark name `hadoop-aws`.

    Raises:
        EnvironmentMissing: They are not in the cache, and Maven does not give them.
    """
    if any("hadoop-aws" in str(conf.get(name, "")) for name in ("spark.jars", "spark.jars.packages")):
        return []
    version = hadoop_version()
    folder = cache / "jars" / f"hadoop-aws-{version}"
    if not (folder / _COMPLETE).exists():
        _download(version, folder, cache / f"ivy-s3a-{version}", around or Surroundings(spark_conf=conf))
    return sorted(folder.glob("*.jar"))


def packages_of(version: str) -> tuple[list[str], list[str]]:
    """Return Maven's coordinates for `s3a`, and what is left out of their dependencies."""
    own = f"org.apache.hadoop:hadoop-aws:{version}"
    if version not in _PARTS:
        return [own], []
    return [own, *(f"{_SDK}:{part}:{_PARTS[version]}" for part in ("s3", "s3-transfer-manager", "sts"))], [_BUNDLE]


def _download(version: str, folder: Path, ivy: Path, around: Surroundings) -> None:
    packages, left_out = packages_of(version)
    remedy = f"allow access to a Maven repository, or put the jars of {packages[0]} into spark.jars"
    try:
        jars = resolve_packages(packages, ivy, around=around, left_out=left_out)
    except (EnvironmentMissing, OSError, subprocess.TimeoutExpired) as error:
        raise EnvironmentMissing(
            f"Spark needs {packages[0]} for a workdir at s3://, and Maven does not give it: {one_line(error)}",
            remedy=remedy,
        ) from error
    attempt = folder.with_name(f".{folder.name}.{uuid.uuid4().hex}")
    attempt.mkdir(parents=True, mode=0o700)
    try:
        for jar in jars:
            shutil.copyfile(jar, attempt / jar.name)
        (attempt / _COMPLETE).touch()
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(attempt, folder)
    except OSError:
        if not (folder / _COMPLETE).exists():  # another process was faster
            raise
    finally:
        shutil.rmtree(attempt, ignore_errors=True)


def hadoop_settings(url: str, storage: Mapping[str, Any]) -> dict[str, str]:
    """Return settings of Hadoop that give executors the access of this process to a store."""
    parts = urlsplit(url)
    if parts.scheme != "s3":
        return {}
    found: dict[str, str] = {}
    if endpoint := str(storage.get("endpoint") or "").rstrip("/"):
        found |= {"endpoint": endpoint if "://" in endpoint else f"https://{endpoint}", "path.style.access": "true"}
        found["endpoint.region"] = "us-east-1"
    if region := storage.get("region"):
        found["endpoint.region"] = str(region)
    named = {"access_key": "access.key", "secret_key": "secret.key", "session_token": "session.token"}
    found |= {theirs: str(storage[ours]) for ours, theirs in named.items() if storage.get(ours)}
    if storage.get("anonymous"):
        found["aws.credentials.provider"] = f"{_AUTH}AnonymousAWSCredentialsProvider"
    elif storage.get("role_arn"):
        found |= {"assumed.role.arn": str(storage["role_arn"])}
        found["aws.credentials.provider"] = f"{_AUTH}auth.AssumedRoleCredentialProvider"
    elif storage.get("session_token"):
        found["aws.credentials.provider"] = f"{_AUTH}TemporaryAWSCredentialsProvider"
    elif storage.get("access_key"):
        found["aws.credentials.provider"] = f"{_AUTH}SimpleAWSCredentialsProvider"
    limit: timedelta | None = storage.get("socket_timeout")
    if limit is not None:
        found["connection.timeout"] = f"{limit.total_seconds():g}s"
    return {f"fs.s3a.bucket.{parts.netloc}.{name}": value for name, value in found.items()}


def abandoned_uploads(session: SparkSession, url: str) -> int:
    """Return the number of uploads in parts below a URL that began long ago and did not end.

    It is 0 for stores without such uploads, and where the account may not list them.
    """
    from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]

    parts = urlsplit(url)
    if parts.scheme != "s3":
        return 0
    java: Any = session.sparkContext._jvm
    settings: Any = session.sparkContext._jsc.hadoopConfiguration()
    before = (time.time() - ABANDONED) * 1000
    with suppress(Py4JJavaError):
        files = java.org.apache.hadoop.fs.Path(to_write(url)).getFileSystem(settings)
        found = files.listMultipartUploads(f"{parts.path.strip('/')}/".lstrip("/"))
        return sum(one.initiated().toEpochMilli() < before for one in found)
    return 0


def give_access(session: SparkSession, url: str, storage: Mapping[str, Any], *, owned: bool) -> None:
    """Let a session read and write the store of a workdir.

    Args:
        owned: qbcd started it, and nothing else uses its Java.

    Raises:
        Refused: The session cannot load `s3a`.
    """
    from qbcd.spark.session import has_class

    if urlsplit(url).scheme == "s3" and not has_class(session, S3A):
        raise Refused(
            f"the Spark session passed to qbcd cannot load {S3A}, which a workdir at s3:// needs",
            remedy=f"start it with spark.jars.packages={packages_of(hadoop_version())[0][0]}",
        )
    settings: Any = session.sparkContext._jsc.hadoopConfiguration()
    wanted = hadoop_settings(url, storage)
    for name, value in wanted.items():
        settings.set(name, value)
    bucket = urlsplit(url).netloc
    if owned and _given.get(bucket, wanted) != wanted:  # Java keeps the access of an earlier session
        java: Any = session.sparkContext._jvm
        java.org.apache.hadoop.fs.Path(to_write(url)).getFileSystem(settings).close()
    _given[bucket] = wanted
