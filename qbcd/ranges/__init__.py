"""Arithmetic of ranges: pure, without a connection, used by connectors, strategies and sites."""
