"""Metrics, notifications and report of projects that poll."""
