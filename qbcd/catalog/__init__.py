"""What a source is: sessions on it, its tables, keys, statistics and rights, held against the configuration."""
