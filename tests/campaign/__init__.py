"""Tests that run only in a campaign, because they need more than this checkout or much time."""
