"""From the outbox to the sinks: sealed batches, and the rows of a replica for one sink."""
