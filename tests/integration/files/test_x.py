from __future__ import annotations
from pathlib import Path
import qbcd, traceback
from tests.support.places import Place, over
from tests.integration.files.test_diff import masked
@over()
def test_explore(place: Place, workspace: Path, monkeypatch):
    monkeypatch.chdir(workspace)
    place.sql("create table t (id int primary key, v varchar(9))")
    place.sql("insert into t values (1,'x')")
    Path("a.csv").write_text("id,v\n1,x\n")
    try:
        with qbcd.diff(f"{masked(place.url, monkeypatch)}#{place.table('t')}", "a.csv") as f: print(f.counts)
    except Exception: print(traceback.format_exc())
