"""A round of dlt over many tables: ``python many_tables_dlt.py URL FOLDER TABLES``, in dlt's own environment.

Its source `sql_database` reads rows whose cursor column is past the last value, and appends them to files.
"""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Load what is new in each table."""
    url, folder, tables = sys.argv[1], sys.argv[2], int(sys.argv[3])
    os.environ["RUNTIME__DLTHUB_TELEMETRY"] = "false"
    from dlt import destinations, pipeline, sources
    from dlt.sources.sql_database import sql_table

    made = pipeline(
        "many",
        pipelines_dir=f"{folder}/state",
        destination=destinations.filesystem(f"file://{folder}/out"),
        dataset_name="app",
    )
    resources = [
        sql_table(
            credentials=url.replace("postgresql://", "postgresql+psycopg2://"),
            table=f"t{number}",
            schema="app",
            incremental=sources.incremental("changed_at"),
        )
        for number in range(tables)
    ]
    made.run(resources, loader_file_format="jsonl")


if __name__ == "__main__":
    main()
