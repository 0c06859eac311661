"""Digest scans of 64 and of 128 bits: the sum of all row digests, computed by the server."""

from __future__ import annotations

from contextlib import closing
from functools import partial
from pathlib import Path

from sqlalchemy import make_url

from benchmarks.measure import Options, Table, in_turns
from benchmarks.places import Place
from qbcd.catalog.source import Source
from qbcd.connectors import connector_for
from qbcd.model import StreamPlan
from qbcd.strategies import IdRcs

DATABASES = ("postgresql", "mariadb", "mysql")


def measure(place: Place, _folder: Path, options: Options) -> Table:
    """Scan in turns; the median of each."""
    place.create(options.rows)
    connector = connector_for(place.url)
    table = Table(("bits", "seconds", "ratio"), f"{place.version()}, {options.rows:,} rows")
    with closing(Source("shop", make_url(place.url), connector, "qbcd")) as source, source.read("s") as session:
        found = connector.catalog.probe_table(session.connection, *place.table.split("."))
        assert found is not None
        key = tuple(c for c in found.columns if c.name == "id")
        plan = StreamPlan("s", "shop", found, key, tuple(c for c in found.columns if c not in key), "", "id_rcs")
        scans = {
            bits: IdRcs(connector, plan.with_options(digest=int(bits))).partitioning.totals(1)[0][0]
            for bits in ("64", "128")
        }
        took = in_turns({bits: partial(session.rows, scan) for bits, scan in scans.items()}, options.repeats)
    table.rows += [(bits, f"{seconds:.2f}", f"{seconds / took['64']:.2f}") for bits, seconds in took.items()]
    return table
