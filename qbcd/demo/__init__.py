"""The demonstration: an embedded PostgreSQL with real data, for `qbcd demo`, the tests and the examples."""
