"""One HTML file that shows the streams of a project; it needs no network and no server."""

from qbcd.monitoring.report.facts import StreamFacts, facts_of
from qbcd.monitoring.report.page import page

__all__ = ["StreamFacts", "facts_of", "page"]
