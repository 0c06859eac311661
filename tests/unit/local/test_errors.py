"""Errors of DuckDB as one message: the remedy fits the cause, and no value is shown."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from qbcd.errors import LocalFailed, LocalOutOfMemory
from qbcd.local.database import SPILL, LocalDatabase, LocalProvider
from qbcd.local.errors import explained_errors

LONG = "SELECT string_agg(repeat(md5(CAST(i AS VARCHAR)), 10000), '') FROM range(1000) AS r(i)"
MANY = "CREATE TABLE t AS SELECT md5(CAST(i AS VARCHAR)) || md5(CAST(-i AS VARCHAR)) AS x FROM range(1000000) AS r(i)"


@pytest.mark.parametrize(
    "statement, spills, what, remedy",
    [
        (LONG, True, "DuckDB ran out of memory: ", "raise `local_memory`, or set `engine: spark`"),
        (MANY, False, "DuckDB failed: .*spill", "space of the workdir"),
        ("SELECT CAST('secret' AS INT)", True, "DuckDB failed: ConversionException$", "-v shows more"),
    ],
    ids=["memory", "folder", "value"],
)
def test_errors_in_words(statement: str, spills: bool, what: str, remedy: str, tmp_path: Path) -> None:
    folder = tmp_path / "spill"
    if not spills:
        folder.write_text("no folder")
    database = LocalDatabase(30_000_000, folder)
    with pytest.raises(LocalFailed) as failure, explained_errors("orders"):
        database.connection.execute(statement)
    assert isinstance(failure.value.__cause__, duckdb.Error)
    database.close()
    assert failure.value.stream == "orders"
    assert remedy in failure.value.remedy
    assert "secret" not in str(failure.value)
    assert re.match(what, failure.value.what)


def test_the_cause_of_an_error_of_a_thread_is_shown_without_json() -> None:
    """A write that fails, as on a full disk: DuckDB puts the text into JSON."""
    with pytest.raises(LocalFailed) as failure, explained_errors("orders"):
        duckdb.connect().execute("COPY (SELECT range FROM range(100)) TO '/dev/full' (FORMAT parquet)")
    assert failure.value.what == 'DuckDB failed: IO Error: Could not write file "/dev/full": No space left on device'
    assert "free space of the workdir" in failure.value.remedy


def test_a_commit_without_memory_is_out_of_memory() -> None:
    """So that Spark does the step; with a value in the message its kind alone is shown."""
    said = "TransactionContext Error: Failed to commit: "
    with pytest.raises(LocalOutOfMemory, match="could not allocate"), explained_errors():
        raise duckdb.TransactionException(f"{said}could not allocate block of size 256.0 KiB (18.8 MiB/19.0 MiB used)")
    with pytest.raises(LocalFailed, match="TransactionException") as failure, explained_errors():
        raise duckdb.TransactionException(f"{said}duplicate key 'secret: could not allocate'")
    assert "secret" not in str(failure.value)


@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("Query interrupted"),
        duckdb.InvalidInputException(
            "Invalid Input Error: reading the schema of the object registered as 'qbcd_1' failed: KeyboardInterrupt: "
        ),
    ],
    ids=["in a statement", "while it looks at an object of Python"],
)
def test_ctrl_c_as_duckdb_reports_it(error: Exception) -> None:
    with pytest.raises(KeyboardInterrupt), explained_errors():
        raise error
    with pytest.raises(RuntimeError, match="other"), explained_errors():
        raise RuntimeError("other")


def test_rows_are_spilled_into_a_new_workdir(tmp_path: Path) -> None:
    workdir = tmp_path / "new" / "workdir"
    with LocalProvider(workdir, 30_000_000).open() as database:
        database.connection.execute(MANY)
        assert any((workdir / SPILL).rglob("*.tmp"))
    assert not any((workdir / SPILL).iterdir())


@pytest.mark.parametrize(("memory", "threads"), [(1 << 20, 1), (64 << 20, 1), (127 << 20, 1), (1 << 30, 4)])
def test_each_thread_has_memory_for_its_row_groups(
    memory: int, threads: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With two threads, writing 280 MB to Parquet within 64 MB fails."""
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    database = LocalDatabase(memory, tmp_path)
    found = database.connection.execute("SELECT current_setting('threads'), current_setting('enable_progress_bar')")
    assert found.fetchone() == (threads, False)
    database.close()
