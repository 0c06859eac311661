"""Variant `delta` of VBD: find the rows of a query that changes of its tables can affect."""
