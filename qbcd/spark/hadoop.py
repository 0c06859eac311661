"""Hadoop's settings, all of which Spark packs into every task and every file that it reads or writes.

Half of them are YARN's defaults, and a master that is local has no YARN that they could be for. Where a job is of a few
rows, packing and unpacking them is dear beside its work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_YARN = "yarn."


def leave_out_yarn(session: SparkSession) -> None:
    """Leaves YARN's defaults out of what travels with tasks; for a session of a local master, without jobs so far.

    What a file of the site, or the user, says otherwise stays.
    """
    context = session.sparkContext
    jvm, hadoop = context._jvm, context._jsc.hadoopConfiguration()
    if jvm is None:
        return
    # Both read more defaults when a job first needs them, and everything again with them: better now than later.
    jvm.org.apache.hadoop.mapreduce.util.ConfigUtil.loadResources()
    jvm.org.apache.hadoop.fs.FileSystem.getLocal(hadoop)
    defaults = jvm.org.apache.hadoop.conf.Configuration(False)
    defaults.addResource("yarn-default.xml")
    alike = hadoop.getPropsWithPrefix(_YARN)
    alike.entrySet().retainAll(defaults.getPropsWithPrefix(_YARN).entrySet())
    # One answer with all names: a call for each would take as long as what is saved.
    for name in filter(None, alike.keySet().toString().strip("[]").split(", ")):
        hadoop.unset(_YARN + name)
