"""Counter columns, whose values grow over a whole table, as proven by each catalog."""

from __future__ import annotations

import pytest

from qbcd.connectors.watermarks import SupportsWatermarks
from tests.support.places import Place, over
from tests.support.watermark_cases import connector_of, probed, session


def counters(place: Place, table: str = "t") -> dict[str, tuple[bool, str]]:
    described, connector = probed(place, table), connector_of(place)
    with session(place) as reading:
        found = {
            c.name: connector.require(SupportsWatermarks).counter_problem(reading.connection, described, c)
            for c in described.columns
        }
    return {name: (counter.proven, counter.refused) for name, counter in found.items()}


SEQUENCES = """
CREATE SEQUENCE plain; CREATE SEQUENCE cached CACHE 20; CREATE SEQUENCE round CYCLE;
CREATE SEQUENCE "do""wn" INCREMENT -1;
"""


@over()
def test_proofs_of_a_counter(place: Place) -> None:
    if place.kind == "postgresql":
        place.sql(
            SEQUENCES
            + """
            CREATE TABLE t (k integer PRIMARY KEY, "de%f""ault" bigint DEFAULT nextval('plain'), identity bigint
              GENERATED ALWAYS AS IDENTITY, serial serial, same bigint DEFAULT nextval('plain'),
              bare bigint, computed bigint DEFAULT nextval('plain') % 10, constant bigint DEFAULT 7)"""
        )
        proven = ['de%f"ault', "identity", "serial", "same"]
    else:
        place.sql("CREATE TABLE t (k bigint PRIMARY KEY AUTO_INCREMENT, bare bigint, constant bigint DEFAULT 7)")
        proven = ["k"]
    found = counters(place)
    assert [name for name, (yes, _) in found.items() if yes] == proven
    assert {why for _, why in found.values()} == {""}


@over(elsewhere=[])
def test_reasons_against_a_counter(place: Place) -> None:
    if place.kind == "mysql":
        pytest.skip("it has no sequences")
    place.sql(SEQUENCES.replace('"', "`").replace("``", "") if place.kind == "mariadb" else SEQUENCES)
    down = place.quote('do"wn' if place.kind == "postgresql" else "down")
    words = "nextval('{}')" if place.kind == "postgresql" else "nextval({})"
    place.sql(f"""CREATE TABLE t (k integer PRIMARY KEY, plain bigint DEFAULT {words.format("plain")},
      cached bigint DEFAULT {words.format("cached")}, round bigint DEFAULT {words.format("round")},
      down bigint DEFAULT {words.format(down)})""")
    found = counters(place)
    assert found["plain"] == (True, "")
    if place.kind == "postgresql":
        assert found["cached"] == (
            False,
            "sequence cached, which numbers column cached, caches 20 numbers per session, which are then out of order",
        )
    else:
        assert found["cached"] == (True, "")  # all sessions use the values that the server cached
    assert not found["round"][0]
    assert "starts again after its last number" in found["round"][1]
    assert not found["down"][0]
    assert "counts down, by 1" in found["down"][1]


def test_a_partition_may_not_number_by_itself(place: Place) -> None:
    place.sql("""CREATE SEQUENCE s0; CREATE SEQUENCE s1;
        CREATE TABLE p (k integer, n bigint DEFAULT nextval('s0')) PARTITION BY LIST (k);
        CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1)""")
    assert counters(place, "p")["n"] == (True, "")
    place.sql("CREATE TABLE p2 (k integer, n bigint); ALTER TABLE p ATTACH PARTITION p2 FOR VALUES IN (2)")
    assert counters(place, "p")["n"] == (True, "")
    place.sql("ALTER TABLE p1 ALTER n SET DEFAULT nextval('s1')")
    assert counters(place, "p")["n"] == (False, "")
    place.sql("ALTER SEQUENCE s1 CACHE 5")
    assert "caches 5 numbers" in counters(place, "p")["n"][1]
    place.sql("CREATE VIEW v AS SELECT * FROM p2")
    assert counters(place, "v")["n"] == (False, "")


def test_a_partitioned_partition_proves_for_its_own(place: Place) -> None:
    place.sql("""CREATE SEQUENCE s; CREATE TABLE leaf (k integer, n bigint);
        CREATE TABLE middle (k integer, n bigint DEFAULT nextval('s')) PARTITION BY LIST (k);
        CREATE TABLE top (k integer, n bigint) PARTITION BY LIST (k);
        ALTER TABLE middle ATTACH PARTITION leaf FOR VALUES IN (1);
        ALTER TABLE top ATTACH PARTITION middle FOR VALUES IN (1)""")
    assert [counters(place, name)["n"] for name in ("middle", "top", "leaf")] == [(True, ""), (False, ""), (False, "")]
