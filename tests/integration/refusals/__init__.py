"""Refusals: of a plan, of rights, of a machine, of a prepared stream."""
