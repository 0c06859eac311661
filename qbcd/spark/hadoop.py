"""Hadoop's settings, all of which Spark packs into every task and every file that it reads or writes.

Half of them are YARN's defaults, and a master that is local has no YARN that they could be for. Where a job is of a few
rows, packing and unpacking them is dear beside its work.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_YARN = "yarn."
_OURS = "spark.hadoop."  # before the name of a setting of Hadoop's, where the user has it in a configuration of Spark's


def leave_out_yarn(session: SparkSession, said: Collection[str]) -> None:
    """Leaves YARN's defaults out of what travels with tasks; for a session of a local master.

    Args:
        session: A session without jobs so far.
        said: Names of the settings that the user gave Spark, which stay.
    """
    context = session.sparkContext
    jvm, hadoop = context._jvm, context._jsc.hadoopConfiguration()
    if jvm is None:
        return
    # Both read more defaults when a job first needs them, and everything again with them: better now than later.
    jvm.org.apache.hadoop.mapreduce.util.ConfigUtil.loadResources()
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop)
    # One answer with all names: a call for each would take as long as what is saved.
    names = hadoop.getPropsWithPrefix(_YARN).keySet().toString().strip("[]").split(", ")
    for name in filter(None, names):
        if f"{_OURS}{_YARN}{name}" not in said:
            hadoop.unset(_YARN + name)
