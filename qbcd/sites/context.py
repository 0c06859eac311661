"""A stream whose strategy was changed for one of the other site: its replica, and what it has to tell, stand there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy.exc import DBAPIError

from qbcd.errors import MissingPrivilege, SchemaChanged
from qbcd.state import StreamRow, StreamStore

if TYPE_CHECKING:
    from qbcd.sites.base import Site


def refuse_moved(site: Site) -> None:
    """Refuses a stream that is prepared at the other site: what changed since its last poll would be lost.

    Raises:
        SchemaChanged: It is.
    """
    row = _in_project(site) if site.kind == "database" else _in_source(site)
    if row is None or not row.prepared or row.project_id != site.project.project_id:
        return
    then = row.checkpoint.get("requested", {}).get("strategy", "another")
    raise SchemaChanged(
        f"strategy changed in the configuration since prepare: it was {then}, whose replica stands elsewhere",
        stream=site.stream,
        remedy=f"take the change back; to go over, qbcd run {site.stream} --once and qbcd reset {site.stream} first "
        "with the strategy that it had, then prepare it with the other one",
    )


def kept_row(site: Site) -> StreamRow | None:
    """The stream's row at its own site, or None where there is none or the role may not read there."""
    return _in_source(site) if site.kind == "database" else _in_project(site)


def _in_project(site: Site) -> StreamRow | None:
    with site.project.read() as conn:
        store = site.project.store
        return store.read(conn, site.stream) if store.exists(conn) else None


def _in_source(site: Site) -> StreamRow | None:
    store = StreamStore(site.source.schema)
    with site.source.read(site.stream) as session:
        try:
            return store.read(session.connection, site.stream) if store.exists(session.connection) else None
        except DBAPIError as error:
            if isinstance(site.source.explain(error, site.stream), MissingPrivilege):
                return None  # who may not read there has prepared nothing there
            raise
