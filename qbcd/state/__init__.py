"""State: the row and lease of each stream, the project's acknowledgements and history."""

from __future__ import annotations

from qbcd.state.lease import LeaseKeeper, LeaseLost, Owner, acquire, holder, release, renew
from qbcd.state.project import UNCAPTURED, Acknowledged, DeliveryFailure, ProjectState, Refusal, Resend, Run, Skipped
from qbcd.state.rows import Pin, RangePages, Segment, StoredRange, StreamRow, Visits, batch_from_json, batch_to_json
from qbcd.state.store import Claim, StreamStore
from qbcd.state.tables import SiteTables
from qbcd.state.takeover import Signs, nothing_to_take_over, refuse_if_alive, signs_of_owner
from qbcd.state.upgrades import FORMAT_VERSION

__all__ = [
    "FORMAT_VERSION",
    "UNCAPTURED",
    "Acknowledged",
    "Claim",
    "DeliveryFailure",
    "LeaseKeeper",
    "LeaseLost",
    "Owner",
    "Pin",
    "ProjectState",
    "RangePages",
    "Refusal",
    "Resend",
    "Run",
    "Segment",
    "Signs",
    "SiteTables",
    "Skipped",
    "StoredRange",
    "StreamRow",
    "StreamStore",
    "Visits",
    "acquire",
    "batch_from_json",
    "batch_to_json",
    "holder",
    "nothing_to_take_over",
    "refuse_if_alive",
    "release",
    "renew",
    "signs_of_owner",
]
