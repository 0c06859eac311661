"""The parts of a project, each created on first use.

    sources -> engines -> streams, enriching -> parts: a stream with all that its polls need

Nothing is asked before it is needed: a command that reads the state alone connects to no source.
"""

from __future__ import annotations

from qbcd.project.parts import ProjectParts

__all__ = ["ProjectParts"]
