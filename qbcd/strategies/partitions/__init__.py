"""Partitionings of a table into ranges: by key, by a hash of the key, by pages."""
