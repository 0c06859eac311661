"""The tables of sources: streams of patterns, the record of known tables, and drafted configurations."""
