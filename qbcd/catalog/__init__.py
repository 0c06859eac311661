"""A source: sessions on it, its tables, keys, statistics and rights, checked against the configuration."""
