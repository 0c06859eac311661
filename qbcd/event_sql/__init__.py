"""SQL that makes public events of staged rows.

It is composed once, with a table of spellings for each engine.
"""
