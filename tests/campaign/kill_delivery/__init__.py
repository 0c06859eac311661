"""Pollers that are killed with Java in the middle of a delivery."""
