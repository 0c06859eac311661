"""Sinks of lake formats: a table per stream, one commit per batch.

The commit has the record of the batch too. `lake_sink` is the frame, `tables` what a format must do; each format is a
module.
"""
