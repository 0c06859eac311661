"""Section `openlineage`: events about polls for a data catalog."""

from __future__ import annotations

from qbcd.config.fields import Filled, Section, Switch


class OpenLineageConfig(Section):
    """OpenLineage events of polls; the client's own configuration says where they go.

    Attributes:
        namespace: Namespace of the jobs; a job is a stream.
        empty_polls: Report polls without changes too.
    """

    namespace: Filled = "qbcd"
    empty_polls: Switch = False
