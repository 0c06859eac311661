"""Differences of two snapshots: the algorithms of Labio & Garcia-Molina (VLDB 1996).

They run over Arrow record batches.

Start at `base.py`: :class:`~qbcd.snapshots.base.Dump` is one side, and
:func:`~qbcd.snapshots.compare.differences` finds what changed.
"""
