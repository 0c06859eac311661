"""The parts of the campaign, each with the folders and files whose campaign cases it runs.

`make campaign PART=kill` runs one. A file belongs to the first part that names it, so that each case runs once.
"""

from __future__ import annotations

PARTS: dict[str, tuple[str, ...]] = {
    "upgrade": ("tests/campaign/upgrade/",),
    "mutants": ("tests/campaign/mutants/",),
    "kill": ("tests/faults/test_kill.py", "tests/faults/test_query_delta_kill.py", "tests/faults/test_spark_dies.py"),
    "kill_database": ("tests/faults/test_kill_in_database.py",),
    "kill_lake": ("tests/faults/test_kill_in_lake.py", "tests/campaign/kill/"),
    **{
        f"kill_delivery_{s}": (f"tests/campaign/kill_delivery/test_{s}.py",)
        for s in ("mds", "ts", "tdi", "tlcs", "vbd")
    },
    "many": ("tests/campaign/many/",),
    "silence": ("tests/faults/test_silence.py", "tests/campaign/silence/"),
    "property": ("tests/integration/sites/test_property.py", "tests/campaign/lake/test_property_ranges.py"),
    "protocol": ("tests/faults/",),
    "histories": ("tests/conformance/",),
    "tables": ("tests/campaign/tables/", "tests/integration/sites/test_attached_partitions.py"),
    "lake": ("tests/integration/lake/", "tests/campaign/lake/"),
    "files": ("tests/integration/files/", "tests/unit/files/test_readers.py", "tests/unit/files/test_mutated.py"),
    "queries": ("tests/integration/queries/", "tests/campaign/queries/"),
    "enrichment": ("tests/integration/enrichment/", "tests/integration/lookups/"),
    "brokers": ("tests/campaign/brokers/",),
    "sinks": ("tests/integration/sinks/", "tests/campaign/sinks/"),
    "snapshots": ("tests/unit/snapshots/test_methods.py", "tests/campaign/snapshots/"),
    "spark_source": ("tests/campaign/spark_source/", "tests/integration/spark_source/"),
    "monitoring": (
        "tests/campaign/monitoring/",
        "tests/integration/monitoring/",
        "tests/unit/monitoring/test_report.py",
    ),
    "jdbc": ("tests/campaign/jdbc/", "tests/integration/jdbc/"),
    "cluster": ("tests/campaign/cluster/",),
    "orchestrators": ("tests/campaign/orchestrators/",),
    "servers": ("tests/integration/", "tests/campaign/connectors/", "tests/packaging/", "tests/unit/", "tests/golden/"),
}

# Parts whose tables are polled by the engine that QBCD_TEST_ENGINE names: the report wants each of them twice.
BY_ENGINE = ("kill", "kill_lake", "property", "protocol", "histories", "tables", "lake")


def engines_of(part: str) -> tuple[str, ...]:
    """Return the engines with which a part must run; `auto` is local for the small tables of tests."""
    return ("auto", "spark") if part in BY_ENGINE else ("auto",)


def part_of(path: str) -> str:
    """Return the part that runs the campaign cases of a test file.

    `path` is relative to the project's root.

    Raises:
        LookupError: No part names the file.
    """
    for part, places in PARTS.items():
        if path.startswith(places):
            return part
    raise LookupError(f"no part of the campaign runs {path}; add it to tests/campaign/parts.py")
