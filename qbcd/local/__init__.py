"""Rows of one poll or one delivery in this process: DuckDB, with a limit of memory, and Arrow to carry rows in."""
