"""The polling loop: due streams, polls and outcomes, threads of a job, new and lost tables."""
