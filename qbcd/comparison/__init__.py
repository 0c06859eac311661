"""One-shot comparison of two operands, each a file or a table of a database: `qbcd diff` and `qbcd.diff`."""
