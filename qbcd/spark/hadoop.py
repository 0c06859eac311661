"""Hadoop's settings, which Spark serializes for every task and every file.

Half of them are YARN's defaults, which a local master does not use. For a job of a few rows, this costs more than the
job's own work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_YARN = "yarn."


def leave_out_yarn(session: SparkSession) -> None:
    """Remove YARN's defaults from the settings of a session before its first job.

    The master must be local. Values that a site file or the user set remain.
    """
    context = session.sparkContext
    jvm, hadoop = context._jvm, context._jsc.hadoopConfiguration()
    if jvm is None:
        return
    # Both load more defaults on first use, and then reload everything; so they are loaded here first.
    jvm.org.apache.hadoop.mapreduce.util.ConfigUtil.loadResources()
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop)
    defaults = jvm.org.apache.hadoop.conf.Configuration(False)
    defaults.addResource("yarn-default.xml")
    alike = hadoop.getPropsWithPrefix(_YARN)
    alike.entrySet().retainAll(defaults.getPropsWithPrefix(_YARN).entrySet())
    # One call returns all names: one call per name would take as long as is saved.
    for name in filter(None, alike.keySet().toString().strip("[]").split(", ")):
        hadoop.unset(_YARN + name)
