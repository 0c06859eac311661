"""Connectors against their servers."""
