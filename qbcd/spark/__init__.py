"""Spark: the session, its JDBC drivers, pinned JDBC reads, and the shape of public events."""
