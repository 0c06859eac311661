import pytest
from tests.support.project import config, opened, poll
from tests.support.places import over
@over("name", ["range_id", "digest", "key_id", "checksum", "digests", "n", "t", "r", "qbcd_relation", "c0", "k0"])
def test_x(place, workspace, spark, name):
    place.sql(f"CREATE TABLE x ({name} integer PRIMARY KEY, v integer)")
    place.insert("x", [(i, i) for i in range(10)])
    with opened(config(place.url, {"name":"s","table":place.table("x"),"strategy":{"type":"id_rcs","rows_per_range":3}, "key": [name]}), workspace, spark) as p:
        p.stream("s").prepare()
        place.sql("UPDATE x SET v = 77 WHERE v = 4")
        print(poll(p, "s"))
@over()
def test_newline(place, workspace, spark):
    place.sql(f"CREATE TABLE x (id integer PRIMARY KEY, {place.quote(chr(10).join(['a','b']))} integer)")
    for s in ("mds", "id_rcs"):
      with opened(config(place.url, {"name":s,"table":place.table("x"),"strategy":s}), workspace, spark) as p:
        p.stream(s).prepare()
        place.sql("INSERT INTO x VALUES (%s, 1)", [len(s)])
        poll(p, s)
