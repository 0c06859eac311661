"""The demonstration: an embedded PostgreSQL with real data; tests and examples use it too."""
