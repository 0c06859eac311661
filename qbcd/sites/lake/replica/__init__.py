"""The replica in Parquet: base segments and the batches on top of them."""
