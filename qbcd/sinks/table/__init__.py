"""Sinks that apply batches to tables: a mirror, its history (SCD 2), or a log of events.

`frame` is the way of a batch. `options`, `record`, `layout`, `flat_rows`, `apply` and `matching` decide and compute,
without a connection. `databases` has the little that differs between databases.
"""
