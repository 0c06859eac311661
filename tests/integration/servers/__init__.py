"""The servers that tests and demo start, and the demo's data."""
