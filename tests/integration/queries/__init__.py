"""Captured queries, views and restrictions."""
