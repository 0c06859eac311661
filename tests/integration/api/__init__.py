"""The Python API and running jobs, on real servers."""
