"""Processes killed, raced and paused at the named points of the protocol."""
