"""The value that all steps of one poll in the database wing share."""

from __future__ import annotations

from dataclasses import dataclass

from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.poll import Poll
from qbcd.strategies import InSource


@dataclass(frozen=True)
class DatabasePoll(Poll):
    """One poll, or the baseline, of a stream whose replica is in the source."""

    context: DatabaseContext
    strategy: InSource
