"""Kills of every kind of key."""
