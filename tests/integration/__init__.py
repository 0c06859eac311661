"""Whole paths on a real server, with Spark where rows travel."""
