"""How streams do, for people and programs outside: metrics, notifications, report, lineage events.

All of it follows outcomes of polls and the state of streams. Nothing here can delay or change a poll.
"""
