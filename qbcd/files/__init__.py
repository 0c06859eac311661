"""Dumps: files with all rows of a table, read as Arrow batches in bounded memory."""
