"""Streams of databases that a JDBC driver alone reaches: the replica is Parquet, as in the lake wing."""
