"""Packages that `qbcd run --once` loads: the time of a cold poll is first that of its imports."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.support import sql
from tests.support.project import config

# Allowed in a poll without changed rows of these strategies; another package is a decision about every start.
PACKAGES = {
    *(
        "annotated_doc",
        "annotated_types",
        "attr",  # by Rich 13, where it is installed
        "click",
        "cython_runtime",
        "dateutil",
        "exceptiongroup",
        "greenlet",
        "jinja2",
        "markdown_it",
        "markupsafe",
    ),
    *(
        "mdurl",
        "mypy_extensions",
        "psycopg2",
        "pydantic",
        "pydantic_core",
        "pygments",
        "qbcd",
        "rich",
        "rich_click",
        "shellingham",
        "six",
        "sqlalchemy",
    ),
    *("sqlglot", "typer", "typing_extensions", "typing_inspection", "yaml"),
}
RUN = """
import sys
from qbcd.cli import main
before = set(sys.modules)
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(*sys.modules)
"""


def test_a_poll_without_changes_loads_no_engine_and_no_package_that_is_not_named(
    database: str, workspace: Path
) -> None:
    sql(database, "CREATE TABLE t (id bigint PRIMARY KEY, a int)", "INSERT INTO t VALUES (1, 1), (2, 2)")
    streams = [{"name": name, "table": "public.t", "strategy": name} for name in ("mds", "id_rcs")]
    path = workspace / "qbcd.yaml"
    path.write_text(json.dumps(config(database, *streams)))
    arguments = [sys.executable, "-c", RUN, "-c", str(path)]
    subprocess.run([*arguments, "prepare"], check=True, capture_output=True)
    subprocess.run([*arguments, "run", "--once"], check=True, capture_output=True)  # delivers rows of the baseline
    done = subprocess.run([*arguments, "run", "--once"], check=True, capture_output=True, text=True)
    loaded = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    standard = {*sys.stdlib_module_names, *sys.builtin_module_names}
    others = {name for name in loaded - standard - PACKAGES if not name.startswith(("_", "sitecustomize"))}
    assert others == set()
