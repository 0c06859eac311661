"""TLCS with a copy next to the digests: old values, pairs of a changed key, and a copy that was changed by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.errors import StateConflict
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll


@over("checksums", ["table", pytest.param("column", marks=pytest.mark.campaign)], elsewhere=["table"])
def test_old_values_and_pairs(checksums: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(20), chk bigint)")
    place.insert("t", [(i, f"v{i}", None) for i in range(6)])
    column = {"checksums": "column", "checksum_column": "chk"} if checksums == "column" else {}
    strategy = {"type": "tlcs", "replica": "source", "rows_per_range": 3, **column}
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "exclude": ["chk"], "key_change": "pair"}
    with opened(config(place.url, {**table, "baseline": "silent"}), workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'new' WHERE id = 1; UPDATE t SET id = 50 WHERE id = 2; DELETE FROM t WHERE id = 3")
        poll(project, "s")
        ((_, unordered),) = batches(workspace / "out" / "changes", "s")
        events = sorted(unordered, key=lambda e: ("duc".index(e["op"]), e["key"]["id"]))
        assert [(e["op"], e["key"]["id"], (e["before"] or {}).get("v"), e["changed"]) for e in events] == [
            ("d", 2, "v2", None),
            ("d", 3, "v3", None),
            ("u", 1, "v1", ["v"]),
            ("c", 50, None, None),
        ]
        assert events[0]["pair_id"] == events[3]["pair_id"] != events[1]["pair_id"]

        (name,) = [n for (n,) in place.sql(_tables(place)) if n.startswith("copy_")]
        place.sql(f"DELETE FROM {place.own_schema}.{name} WHERE id = 4; UPDATE t SET v = 'newer' WHERE id = 4")
        with pytest.raises(StateConflict, match="changed by hand"):
            poll(project, "s")


def _tables(place: Place) -> str:
    return f"SELECT table_name FROM information_schema.tables WHERE table_schema = '{place.own_schema}'"
