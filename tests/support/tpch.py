"""TPC-H: its tables, the queries that can be captured, and refreshes of several tables."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from random import Random

from tests.support.places import FIRST, Place

TABLES: dict[str, str] = {
    "region": "r_regionkey integer PRIMARY KEY, r_name text NOT NULL, r_comment text",
    "nation": "n_nationkey integer PRIMARY KEY, n_name text NOT NULL, n_regionkey integer NOT NULL, n_comment text",
    "supplier": (
        "s_suppkey integer PRIMARY KEY, s_name text NOT NULL, s_address text, s_nationkey integer NOT NULL, "
        "s_phone text, s_acctbal numeric(15, 2), s_comment text"
    ),
    "part": (
        "p_partkey integer PRIMARY KEY, p_name text NOT NULL, p_mfgr text, p_brand text, p_type text, p_size integer, "
        "p_container text, p_retailprice numeric(15, 2), p_comment text"
    ),
    "partsupp": (
        "ps_partkey integer, ps_suppkey integer, ps_availqty integer, ps_supplycost numeric(15, 2), ps_comment text, "
        "PRIMARY KEY (ps_partkey, ps_suppkey)"
    ),
    "customer": (
        "c_custkey integer PRIMARY KEY, c_name text NOT NULL, c_address text NOT NULL, c_nationkey integer NOT NULL, "
        "c_phone text NOT NULL, c_acctbal numeric(15, 2) NOT NULL, c_mktsegment text, c_comment text NOT NULL"
    ),
    "orders": (
        "o_orderkey bigint PRIMARY KEY, o_custkey integer NOT NULL, o_orderstatus text, "
        "o_totalprice numeric(15, 2) NOT NULL, o_orderdate date NOT NULL, o_orderpriority text NOT NULL, o_clerk text, "
        "o_shippriority integer NOT NULL, o_comment text"
    ),
    "lineitem": (
        "l_orderkey bigint, l_partkey integer, l_suppkey integer, l_linenumber integer, l_quantity numeric(15, 2), "
        "l_extendedprice numeric(15, 2), l_discount numeric(15, 2), l_tax numeric(15, 2), l_returnflag text NOT NULL, "
        "l_linestatus text NOT NULL, l_shipdate date NOT NULL, l_commitdate date, l_receiptdate date, "
        "l_shipinstruct text, l_shipmode text NOT NULL, l_comment text, PRIMARY KEY (l_orderkey, l_linenumber)"
    ),
}
INDEXES = ("lineitem (l_partkey, l_suppkey)", "orders (o_custkey)", "customer (c_nationkey)", "supplier (s_nationkey)")
STAMP = "at"
REVENUE = "SUM(l_extendedprice * (1 - l_discount)) AS revenue"
# By number: the query without ORDER BY, and its key, which is empty if it has one row.
QUERIES: dict[int, tuple[str, list[str]]] = {
    1: (
        """SELECT l_returnflag, l_linestatus, SUM(l_quantity) AS sum_qty, SUM(l_extendedprice) AS sum_base_price,
        SUM(l_extendedprice * (1 - l_discount)) AS sum_disc_price, AVG(l_quantity) AS avg_qty, COUNT(*) AS count_order
        FROM public.lineitem WHERE l_shipdate <= DATE '1998-12-01' - INTERVAL '90' DAY
        GROUP BY l_returnflag, l_linestatus""",
        ["l_returnflag", "l_linestatus"],
    ),
    3: (
        f"""SELECT l_orderkey, {REVENUE}, o_orderdate, o_shippriority
        FROM public.customer, public.orders, public.lineitem
        WHERE c_mktsegment = 'BUILDING' AND c_custkey = o_custkey AND l_orderkey = o_orderkey
          AND o_orderdate < DATE '1995-03-15' AND l_shipdate > DATE '1995-03-15'
        GROUP BY l_orderkey, o_orderdate, o_shippriority""",
        ["l_orderkey", "o_orderdate", "o_shippriority"],
    ),
    4: (
        """SELECT o_orderpriority, COUNT(*) AS order_count FROM public.orders
        WHERE o_orderdate >= DATE '1993-07-01' AND o_orderdate < DATE '1993-07-01' + INTERVAL '3' MONTH
          AND EXISTS (SELECT 1 FROM public.lineitem WHERE l_orderkey = o_orderkey AND l_commitdate < l_receiptdate)
        GROUP BY o_orderpriority""",
        ["o_orderpriority"],
    ),
    5: (
        f"""SELECT n_name, {REVENUE}
        FROM public.customer, public.orders, public.lineitem, public.supplier, public.nation, public.region
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND l_suppkey = s_suppkey AND c_nationkey = s_nationkey
          AND s_nationkey = n_nationkey AND n_regionkey = r_regionkey AND r_name = 'ASIA'
          AND o_orderdate >= DATE '1994-01-01' AND o_orderdate < DATE '1995-01-01' GROUP BY n_name""",
        ["n_name"],
    ),
    6: (
        """SELECT SUM(l_extendedprice * l_discount) AS revenue FROM public.lineitem
        WHERE l_shipdate >= DATE '1994-01-01' AND l_shipdate < DATE '1995-01-01'
          AND l_discount BETWEEN 0.05 AND 0.07 AND l_quantity < 24""",
        [],
    ),
    9: (
        """SELECT nation, o_year, SUM(amount) AS sum_profit FROM (
          SELECT n_name AS nation, EXTRACT(year FROM o_orderdate) AS o_year,
            l_extendedprice * (1 - l_discount) - ps_supplycost * l_quantity AS amount
          FROM public.part, public.supplier, public.lineitem, public.partsupp, public.orders, public.nation
          WHERE s_suppkey = l_suppkey AND ps_suppkey = l_suppkey AND ps_partkey = l_partkey AND p_partkey = l_partkey
            AND o_orderkey = l_orderkey AND s_nationkey = n_nationkey AND p_name LIKE '%green%') AS profit
        GROUP BY nation, o_year""",
        ["nation", "o_year"],
    ),
    10: (
        f"""SELECT c_custkey, c_name, {REVENUE}, c_acctbal, n_name, c_address, c_phone, c_comment
        FROM public.customer, public.orders, public.lineitem, public.nation
        WHERE c_custkey = o_custkey AND l_orderkey = o_orderkey AND o_orderdate >= DATE '1993-10-01'
          AND o_orderdate < DATE '1993-10-01' + INTERVAL '3' MONTH AND l_returnflag = 'R' AND c_nationkey = n_nationkey
        GROUP BY c_custkey, c_name, c_acctbal, c_phone, n_name, c_address, c_comment""",
        ["c_custkey"],
    ),
    12: (
        """SELECT l_shipmode,
          SUM(CASE WHEN o_orderpriority IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS high_line_count,
          SUM(CASE WHEN o_orderpriority NOT IN ('1-URGENT', '2-HIGH') THEN 1 ELSE 0 END) AS low_line_count
        FROM public.orders, public.lineitem
        WHERE o_orderkey = l_orderkey AND l_shipmode IN ('MAIL', 'SHIP') AND l_commitdate < l_receiptdate
          AND l_shipdate < l_commitdate AND l_receiptdate >= DATE '1994-01-01' AND l_receiptdate < DATE '1995-01-01'
        GROUP BY l_shipmode""",
        ["l_shipmode"],
    ),
    13: (
        """SELECT c_count, COUNT(*) AS custdist FROM (
          SELECT c_custkey, COUNT(o_orderkey) AS c_count
          FROM public.customer
          LEFT JOIN public.orders ON c_custkey = o_custkey AND o_comment NOT LIKE '%special%requests%'
          GROUP BY c_custkey) AS c_orders GROUP BY c_count""",
        ["c_count"],
    ),
    18: (
        """SELECT c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice, SUM(l_quantity) AS quantity
        FROM public.customer, public.orders, public.lineitem
        WHERE o_orderkey IN (SELECT l_orderkey FROM public.lineitem GROUP BY l_orderkey HAVING SUM(l_quantity) > 250)
          AND c_custkey = o_custkey AND o_orderkey = l_orderkey
        GROUP BY c_name, c_custkey, o_orderkey, o_orderdate, o_totalprice""",
        ["c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice"],
    ),
}
# Queries with LIMIT, as the benchmark has them; ORDER BY ends in the key.
LIMITED = {
    3: "revenue DESC, o_orderdate, l_orderkey, o_shippriority",
    10: "revenue DESC, c_custkey",
    18: "o_totalprice DESC, o_orderdate, c_name, c_custkey, o_orderkey",
}


def generator() -> str | None:
    """Return the program of the tpchgen-cli wheel, or None.

    It is next to this Python or on the path.
    """
    installed = Path(sys.executable).parent / "tpchgen-cli"
    return str(installed) if installed.exists() else shutil.which("tpchgen-cli")


def query_of(place: Place, text: str) -> str:
    """Return a query over the tables of a place."""
    return text.replace("public.", f"{place.schema}.")


def load(place: Place, folder: Path, program: str, scale: str) -> None:
    """Make and fill the tables, each with a timestamp in addition to its own columns."""
    subprocess.run([program, "-s", scale, "--output-dir", str(folder)], check=True, capture_output=True)
    first = place.kind == FIRST
    stamp = "timestamptz NOT NULL DEFAULT clock_timestamp()" if first else "timestamp(6) NOT NULL DEFAULT now(6)"
    for table, columns in TABLES.items():
        typed = columns if first else columns.replace(" text", " varchar(200)")
        place.sql(f"CREATE TABLE {table} ({typed})")
        names = re.findall(r"(?:^|, )([a-z]+_[a-z]+) ", columns)
        with (folder / f"{table}.tbl").open() as rows:
            lines = [line.rstrip("\n").removesuffix("|") for line in rows]
        (_copy if first else _insert)(place, f"{table} ({', '.join(names)})", lines)
        place.sql(f"ALTER TABLE {table} ADD {STAMP} {stamp}; CREATE INDEX {STAMP}_{table} ON {table} ({STAMP})")
    for number, index in enumerate(INDEXES):
        place.sql(f"CREATE INDEX i{number} ON {index}")
    place.sql("ANALYZE" if first else f"ANALYZE TABLE {', '.join(TABLES)}")


def _copy(place: Place, into: str, lines: Sequence[str]) -> None:
    with place.connect() as conn, conn.cursor() as cursor:
        cursor.copy_expert(f"COPY {into} FROM STDIN (DELIMITER '|')", StringIO("".join(f"{line}\n" for line in lines)))


def _insert(place: Place, into: str, lines: Sequence[str]) -> None:
    with place.connect() as conn, conn.cursor() as cursor:
        rows = [line.split("|") for line in lines]
        cursor.executemany(f"INSERT INTO {into} VALUES ({', '.join(['%s'] * len(rows[0]))})", rows)


# SQL of a refresh that differs between databases: the clock, some random rows, a longer text, an earlier day.
FIRST_WORDS = (
    "clock_timestamp()",
    "WHERE ctid IN (SELECT ctid FROM {table} ORDER BY md5({key}::text || '{seed}') LIMIT {n})",
    "{0} || '{1}'",
    "{0} - {1}",
)
FAMILY_WORDS = (
    "now(6)",
    "ORDER BY sha2(concat({key}, '{seed}'), 256) LIMIT {n}",
    "concat({0}, '{1}')",
    "{0} - INTERVAL {1} DAY",
)


def refresh(rng: Random, place: Place) -> None:
    """Insert orders with their lines, delete old ones, and change some rows of other tables."""
    seed = rng.randrange(1, 50_000)
    now, some, longer, earlier = FIRST_WORDS if place.kind == FIRST else FAMILY_WORDS

    def rows_of(table: str, column: str, n: int = 6) -> str:
        return some.format(table=table, key=column, n=n, seed=seed)

    old_orders = f"SELECT o_orderkey FROM (SELECT o_orderkey FROM orders {rows_of('orders', 'o_orderkey')}) AS gone"
    place.sql(
        f"""
        DELETE FROM lineitem WHERE l_orderkey IN ({old_orders});
        DELETE FROM orders {rows_of("orders", "o_orderkey")};
        UPDATE orders SET o_orderkey = o_orderkey + 1000000, {STAMP} = {now} {rows_of("orders", "o_totalprice", 4)};
        UPDATE orders SET o_orderdate = {earlier.format("o_orderdate", 200)}, o_orderpriority = '1-URGENT',
          {STAMP} = {now} {rows_of("orders", "o_clerk")};
        UPDATE orders SET o_orderdate = '1993-08-01', {STAMP} = {now} {rows_of("orders", "o_comment")};
        UPDATE orders SET o_custkey = 1 + o_custkey % 1400, {STAMP} = {now} {rows_of("orders", "o_custkey")};
        UPDATE lineitem SET l_quantity = l_quantity + 40, l_discount = 0.06, l_shipmode = 'MAIL', {STAMP} = {now}
          {rows_of("lineitem", "l_comment", 30)};
        UPDATE lineitem SET l_receiptdate = l_commitdate, l_returnflag = 'R', {STAMP} = {now}
          {rows_of("lineitem", "l_extendedprice", 30)};
        UPDATE lineitem SET l_shipdate = '1994-06-01', l_quantity = 5, l_discount = 0.06, {STAMP} = {now}
          {rows_of("lineitem", "l_orderkey", 5)};
        UPDATE customer SET c_mktsegment = 'BUILDING', c_nationkey = (c_nationkey + 1) % 25, {STAMP} = {now}
          {rows_of("customer", "c_name")};
        UPDATE supplier SET s_nationkey = (s_nationkey + 7) % 25, {STAMP} = {now} {rows_of("supplier", "s_name", 2)};
        UPDATE part SET p_name = {longer.format("p_name", " green")}, {STAMP} = {now} {rows_of("part", "p_name")};
        UPDATE partsupp SET ps_supplycost = ps_supplycost + 1, {STAMP} = {now} {rows_of("partsupp", "ps_comment")};
        UPDATE nation SET n_name = {longer.format("n_name", ".")}, {STAMP} = {now} {rows_of("nation", "n_name", 1)}
    """.replace("%", "%%"),
        [],
    )
