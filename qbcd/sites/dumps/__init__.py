"""Streams whose source is a series of files: the replica is Parquet, as in the lake wing."""
