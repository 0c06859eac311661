"""The parts of the campaign, each with the folders and files whose campaign cases it runs.

`make campaign PART=kill_mysql` runs one. A case belongs to the first part that has it, so that each case runs once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

DATABASES = ("mariadb", "mysql", "postgresql")  # the last has also the cases whose ids name none


@dataclass(frozen=True)
class Part:
    """Cases that one command runs.

    Attributes:
        places: Folders and files, relative to the project's root.
        engines: The part must run with each of these; `auto` is local for the small tables of tests.
        database: Only cases whose id names this database; of `postgresql`, cases that name no other.
    """

    places: tuple[str, ...]
    engines: tuple[str, ...] = ("auto",)
    database: str = ""

    def has(self, case: str) -> bool:
        """Return True if the part runs a case, given by its id or by its file."""
        file, _, test = case.partition("::")
        if not file.startswith(self.places) or not self.database:
            return file.startswith(self.places)
        named = [word for word in re.split(r"[\[\]-]", test) if word in DATABASES]
        return self.database == (named[0] if named else DATABASES[-1])


def _on_each_database(name: str, *places: str, spark_on: tuple[str, ...] = ()) -> Iterator[tuple[str, Part]]:
    """Yield a long part in pieces, one for each database (`kill_mysql`), on some also with Spark."""
    for database in DATABASES:
        yield f"{name}_{database}", Part(places, ("auto", "spark") if database in spark_on else ("auto",), database)


PARTS: dict[str, Part] = {
    "upgrade": Part(("tests/campaign/upgrade/",)),
    "mutants": Part(("tests/campaign/mutants/",)),
    **dict(
        _on_each_database(
            "kill",
            "tests/faults/test_kill.py",
            "tests/faults/test_query_delta_kill.py",
            "tests/faults/test_spark_dies.py",
            spark_on=("postgresql",),  # what Spark does between the hook points does not depend on the database
        )
    ),
    **dict(_on_each_database("kill_database", "tests/faults/test_kill_in_database.py")),
    **dict(
        _on_each_database(
            "kill_lake", "tests/faults/test_kill_in_lake.py", "tests/campaign/kill/", spark_on=("postgresql",)
        )
    ),
    **{
        f"kill_delivery_{s}": Part((f"tests/campaign/kill_delivery/test_{s}.py",))
        for s in ("mds", "ts", "tdi", "tlcs", "vbd")
    },
    **dict(_on_each_database("many", "tests/campaign/many/")),
    "silence": Part(("tests/faults/test_silence.py", "tests/campaign/silence/")),
    **dict(
        _on_each_database(
            "property",
            "tests/integration/sites/test_property.py",
            "tests/campaign/lake/test_property_ranges.py",
            spark_on=DATABASES,
        )
    ),
    **dict(_on_each_database("protocol", "tests/faults/", spark_on=("postgresql",))),
    **dict(_on_each_database("histories", "tests/conformance/", spark_on=DATABASES)),
    **dict(  # not with Spark: half of the cases name the local engine, the others would start a Java each
        _on_each_database("tables", "tests/campaign/tables/", "tests/integration/sites/test_attached_partitions.py")
    ),
    **dict(  # how Spark reads through JDBC drivers differs by database in `property` and `histories` too
        _on_each_database("lake", "tests/integration/lake/", "tests/campaign/lake/", spark_on=("postgresql",))
    ),
    "files": Part(("tests/integration/files/", "tests/unit/files/test_readers.py", "tests/unit/files/test_mutated.py")),
    "queries": Part(("tests/integration/queries/", "tests/campaign/queries/")),
    "enrichment": Part(("tests/integration/enrichment/", "tests/integration/lookups/")),
    "brokers": Part(("tests/campaign/brokers/",)),
    **dict(_on_each_database("sinks", "tests/integration/sinks/", "tests/campaign/sinks/")),
    "snapshots": Part(("tests/unit/snapshots/test_methods.py", "tests/campaign/snapshots/")),
    "spark_source": Part(("tests/campaign/spark_source/", "tests/integration/spark_source/")),
    "monitoring": Part(
        ("tests/campaign/monitoring/", "tests/integration/monitoring/", "tests/unit/monitoring/test_report.py")
    ),
    "jdbc": Part(("tests/campaign/jdbc/", "tests/integration/jdbc/")),
    "cluster": Part(("tests/campaign/cluster/",)),
    "orchestrators": Part(("tests/campaign/orchestrators/",)),
    **dict(
        _on_each_database(
            "servers",
            "tests/integration/",
            "tests/campaign/connectors/",
            "tests/packaging/",
            "tests/unit/",
            "tests/golden/",
        )
    ),
}


def part_of(case: str) -> str:
    """Return the part that runs a case.

    `case` is its id, as pytest prints it, or a file, relative to the project's root.

    Raises:
        LookupError: No part names the file.
    """
    for name, part in PARTS.items():
        if part.has(case):
            return name
    file = case.partition("::")[0]
    raise LookupError(f"no part of the campaign runs {file}; add it to tests/campaign/parts.py")
