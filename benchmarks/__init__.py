"""Benchmarks: one runner (`python -m benchmarks NAME`), one file per comparison, ratios within one run."""
