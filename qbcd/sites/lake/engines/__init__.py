"""Engines: they compute the rows and changes of the lake wing."""
