"""Replay: a log of events in files, applied to a table of a database.

files -> batches, checked as a whole -> types of the table -> the frame of table sinks, batch by batch
"""
