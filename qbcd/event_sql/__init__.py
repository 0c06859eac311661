"""SQL that makes public events of staged rows: composed once, with a table of spellings for each engine."""
