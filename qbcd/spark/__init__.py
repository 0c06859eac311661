"""Spark: the session, the JDBC drivers it needs, pinned JDBC reads, and the shape of public events."""
