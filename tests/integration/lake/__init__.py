"""The lake wing: range checksums, fetch paths, the replica in Parquet."""
