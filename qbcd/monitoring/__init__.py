"""The view from outside on streams: metrics, notifications, report, OpenLineage events.

All of it follows outcomes of polls and the state of streams. Nothing here can delay or change a poll.
"""
