"""The SQL of each dialect, compared with files that were read and approved by a person."""
