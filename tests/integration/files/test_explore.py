from __future__ import annotations
from collections import Counter, defaultdict
from pathlib import Path
import pytest, qbcd, os, time
from tests.support import exports
from tests.support.places import Place, over
from tests.integration.files.test_diff import masked
from tests.support.pg_values import SETUP

W = os.environ.get("WRITER", "copy_csv").split(",")

@over()
def test_explore(place: Place, workspace: Path, monkeypatch):
    monkeypatch.chdir(workspace)
    if place.kind == "postgresql": place.sql(SETUP)
    else: print(place.sql("select @@secure_file_priv, @@version"))
    types = exports.table_of(place, "every", skip=("pg_snapshot","longtext","mediumtext","longblob","mediumblob"), plain="pandas" in W[0])
    url = f"{masked(place.url, monkeypatch)}#{place.table('every')}"
    for w in W:
        try: export = getattr(exports, w)(place, "every", types, workspace)
        except Exception as e: print("EXPORT FAILED", w, type(e), str(e)[:300]); continue
        excluded = []
        if "csv" in w or w == "copy_csv": export = exports.Export(export.path, {"null": "", **export.form})
        while True:
            t=time.time()
            try:
                with qbcd.diff(url, str(export.path), format=export.form, exclude=excluded) as found:
                    c = defaultdict(list)
                    for e in found:
                        for n in e["changed"] or []: c[types[n]].append((e["before"][n], e["after"][n]))
                        if e["op"] != "u": print(e["op"], e["key"])
                    print("==", w, place.kind, "excluded", [types[x] for x in excluded], found.counts, found.rows, round(time.time()-t,2))
                    for n, v in c.items(): print("  ", n, len(v), [tuple(str(y)[:60] for y in x) for x in v[:4]])
                    break
            except qbcd.errors.QbcdError as error:
                print("REFUSED", error.what[:200], "|", error.remedy[:300])
                import re
                m = re.search(r"column (c\d+)", error.what)
                if not m: break
                print("     type", types[m[1]]); excluded.append(m[1])
