"""Arithmetic of ranges: pure functions for connectors, strategies and sites."""
