"""Streams of databases that a JDBC driver alone reaches.

The replica is Parquet, as in the lake wing.
"""
