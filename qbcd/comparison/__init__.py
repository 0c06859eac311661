"""One-shot comparison of two files or tables: `qbcd diff` and `qbcd.diff`."""
