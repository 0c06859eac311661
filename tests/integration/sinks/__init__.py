"""Sinks, acknowledgements and events."""
