"""All mutants, by subject."""

from __future__ import annotations

from tests.campaign.mutants import of_protocol, of_reading, of_values
from tests.campaign.mutants.mutant import Mutant

SUBJECTS: dict[str, tuple[Mutant, ...]] = {
    "Sessions and snapshots": of_reading.SESSIONS,
    "Digests and checksums": of_reading.DIGESTS,
    "Keys and ranges": of_reading.RANGES,
    "Watermarks": of_reading.MARKS,
    "State, leases and steps": of_protocol.STEPS,
    "Deliveries and sinks": of_protocol.DELIVERIES,
    "Files of a replica": of_protocol.FILES,
    "Guards, purge, sweeps and open batches": of_protocol.GUARDS,
    "Queries": of_protocol.QUERIES,
    "Types": of_values.TYPES,
    "Names in SQL": of_values.NAMES,
    "Secrets": of_values.SECRETS,
    "Exit codes and status": of_values.WORDS,
}
MUTANTS = tuple(mutant for mutants in SUBJECTS.values() for mutant in mutants)
