"""Tests that only a campaign runs, since they need more than this checkout."""
