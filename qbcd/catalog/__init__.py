"""A source: sessions, tables, keys, statistics, rights, checked against the configuration."""
