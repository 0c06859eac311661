"""Spark's session, its Java process and its jobs."""
