"""Folders of workdir, state database and sinks must be writable.

Each one that is not is reported once.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.engine import URL

from qbcd.check.finding import Finding, failed, run_check
from qbcd.errors import QbcdError, Refused
from qbcd.state.dialects import store_facts

PROBE_BYTES = 1 << 20  # free space that the workdir must have
REMEDY = "check its owner, rights and free space"


def nearest_existing(folder: Path) -> Path:
    """Return `folder`, or its nearest parent that exists."""
    return next(path for path in (folder, *folder.parents) if path.exists())


def prove_writable(folder: Path) -> None:
    """Create and remove a file in a folder of the workdir, or in its nearest existing parent.

    Raises:
        Refused: It cannot be written.
    """
    _prove(folder, f"workdir {folder} cannot be written", PROBE_BYTES)


def check_state_folder(state: URL) -> list[Finding]:
    """Return an error if the state database is a file that does not exist and cannot be created."""
    if not store_facts(state.get_backend_name()).is_file:
        return []
    path = Path(state.database or "")
    there, what = nearest_existing(path.parent), f"the state database {path} cannot be created"
    finding = run_check("state", lambda: _prove(path.parent, what, 1), "", folder=there)
    return [finding] if finding.error else []


def _prove(folder: Path, what: str, size: int) -> None:
    try:
        with tempfile.TemporaryFile(prefix=".qbcd-check-", dir=nearest_existing(folder)) as probe:
            probe.write(bytes(size))
            probe.flush()
    except OSError as error:
        raise Refused(f"{what}: {error.strerror}", remedy=REMEDY) from error


def one_per_folder(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings with one error for each folder that cannot be written.

    An error of several streams or parts belongs to the project, and comes before the streams.
    """
    alike: dict[Path, list[Finding]] = {}
    for finding in found:
        if finding.folder is not None:
            alike.setdefault(finding.folder, []).append(finding)
    shared = {folder: _shared(folder, group) for folder, group in alike.items() if len(group) > 1}
    rest = [finding for finding in found if finding.folder not in shared]
    project = next((place for place, finding in enumerate(rest) if finding.stream), len(rest))
    return [*rest[:project], *shared.values(), *rest[project:]]


def _shared(folder: Path, group: Sequence[Finding]) -> Finding:
    """Return the one error about a folder."""
    first, subjects = group[0], list(dict.fromkeys(one.subject for one in group))
    assert first.error is not None
    why = first.error.__cause__
    reason = f": {why.strerror}" if isinstance(why, OSError) else ""
    error: QbcdError = Refused(
        f"folder {folder} cannot be written{reason}; {', '.join(subjects)} need it", remedy=REMEDY
    )
    if len(subjects) == 1:
        error = first.error
        error.stream = ""
    return failed(first.subject, error, folder=folder)
