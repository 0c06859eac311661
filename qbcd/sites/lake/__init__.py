"""The lake wing: the replica is Parquet files, the stream's row is in the state database."""
