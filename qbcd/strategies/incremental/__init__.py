"""Variant `delta` of VBD: the rows of a query that changed tables can affect."""
