"""Files of a replica: what is missing or changed is refused, and a sweep removes only what nobody needs."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from qbcd.errors import StateConflict, StoreFailed
from qbcd.local.part_files import PartFile
from qbcd.sites.lake.replica.files import Files, FileSet

CONTENT = b"PAR1" + bytes(range(256)) * 40


def part_of(files: Files, name: str) -> FileSet:
    """Return a part with one file, as a commit names it."""
    path = files.root / name / "part-0.parquet"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    return FileSet(name, (PartFile.of(path),))


@pytest.mark.parametrize("content", [None, b"", CONTENT[:-1], CONTENT[:-1] + b"x", CONTENT + b"x"])
def test_a_missing_or_changed_file_is_refused(content: bytes | None, tmp_path: Path) -> None:
    files = Files(tmp_path, "p", "s")
    part = part_of(files, "batch-1-a")
    files.prove_parts(part)
    path = files.root / part.part_id / part.files[0].name
    path.unlink() if content is None else path.write_bytes(content)
    with pytest.raises(StateConflict, match=r"part-0\.parquet is missing or was changed"):
        files.prove_parts(part)


def test_files_without_all_rows_are_refused(tmp_path: Path) -> None:
    """This process sees fewer files than executors have written."""
    files = Files(tmp_path, "p", "s")
    (files.root / "fetch-1-a").mkdir(parents=True)
    for number in range(2):
        parquet.write_table(pa.table({"a": [1, 2, 3]}), files.root / "fetch-1-a" / f"part-{number}.parquet")
    found = files.parts.written("fetch-1-a", by_executors=True, temporary=False, rows=6)
    assert [one.name for one in found] == ["part-0.parquet", "part-1.parquet"]
    with pytest.raises(StoreFailed, match=r"executors wrote 9 rows into .*, but 6 are seen here"):
        files.parts.written("fetch-1-a", by_executors=True, temporary=False, rows=9)


def test_a_sweep_leaves_named_and_newer_parts(tmp_path: Path) -> None:
    files = Files(tmp_path, "p", "s")
    for name in ("batch-3-named", "batch-3-rest", "fetch-2-old", "segment-4-newer", "notes"):
        part_of(files, name)
    leased: Any = SimpleNamespace(row=SimpleNamespace(fencing_token=3))
    files.sweep({"batch-3-named"}, leased)
    assert sorted(path.name for path in files.root.iterdir()) == ["batch-3-named", "notes", "segment-4-newer"]
