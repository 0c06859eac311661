"""Sources that are files, and comparisons of files and tables."""
