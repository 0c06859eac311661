"""Seeded bugs: each must make a test fail (see README.md in this folder)."""
