"""Benchmarks: one runner (`python -m benchmarks NAME`), one file per comparison."""
