from __future__ import annotations
from pathlib import Path
import pytest
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
V = {"id": {"type": "id", "rows_per_range": 4}, "tlcs": {"type": "tlcs", "rows_per_range": 4},
     "tlcsc": {"type": "tlcs", "checksums": "column", "checksum_column": "chk", "rows_per_range": 4}}
@over("name", list(V))
def test_x(name: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (a varchar(20), id integer, n integer, chk bigint, PRIMARY KEY (a, id))")
    place.insert("t", [(f"k{i % 5}", i, 0, None) for i in range(30)])
    table = {"name": "s", "table": place.table("t"), "strategy": V[name], "exclude": ["chk"], "sinks": []}
    with opened(config(place.url, table), workspace) as p:
        p.stream("s").prepare()
        place.sql("UPDATE t SET n = 1 WHERE id IN (3, 4, 17)"); place.sql("DELETE FROM t WHERE id IN (5, 9)"); place.insert("t", [("k9", 99, 1, None), ("a", 0, 1, None)])
        [o] = poll(p, "s")
        assert o.report.counts == {"u": 3, "d": 2, "c": 2}
        assert p.stream("s").verify() == []
        [o] = poll(p, "s")
        assert o.report.counts == {}
