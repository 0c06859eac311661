"""Fetch paths: ways to find and fetch the rows of dirty ranges. `paths` has them in order."""
