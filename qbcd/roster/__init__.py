"""Tables of sources: streams of patterns, known tables, and drafted configurations."""
