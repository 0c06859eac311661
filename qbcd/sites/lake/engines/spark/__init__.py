"""PySpark: the modules of the lake wing that import it."""
