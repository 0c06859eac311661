"""Rows of one poll or one delivery in this process.

DuckDB processes them, with a limit of memory, and Arrow carries rows in.
"""
