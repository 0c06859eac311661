"""Tables and changes of `result_poll` in the SQL of each database."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.places import MariaPlace, Place


@dataclass(frozen=True)
class Words:
    """The SQL of one database.

    Attributes:
        dimension: Creates a table `name` of `rows` rows.
        orders: Creates the orders, in the order of days; about 180 bytes each, without `more` columns.
        more: Types of additional columns, used in turn, and their values, which `n` makes different.
        change: Changes `changed` orders, selected by `picked`.
        picked: The order in which orders are selected, by the kind of change.
        later: The day that is a number of days later.
        live: Condition that order `o` is not flagged as deleted; Spark understands it too.
        whole: End of a query that must be computed as it is written.
        options: Options of the strategy.
        settings: Settings of the server.
    """

    schema: str
    dimension: str
    orders: str
    more: Sequence[tuple[str, str]]
    change: str
    picked: Mapping[str, str]
    later: str
    live: str
    whole: str
    options: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)


POSTGRESQL = Words(
    schema="public",
    dimension="""
CREATE TABLE public.{name} (id integer PRIMARY KEY, name text NOT NULL, kind text NOT NULL,
  price numeric(8, 2) NOT NULL, note text, updated_at timestamptz NOT NULL);
INSERT INTO public.{name} SELECT i, '{name} ' || i, 'kind ' || i % 40, 1 + i % 90, repeat(md5(i::text), 3),
  timestamptz '2024-01-01 00:00:00+00' FROM generate_series(1, {rows}) AS i;
CREATE INDEX ON public.{name} (updated_at)
""",
    orders="""
CREATE TABLE public.orders (id bigint PRIMARY KEY, customer_id integer NOT NULL, product_id integer NOT NULL,
  store_id integer NOT NULL, day date NOT NULL, quantity integer NOT NULL, amount numeric(12, 2) NOT NULL,
  is_deleted boolean NOT NULL, note text, updated_at timestamptz NOT NULL{columns});
INSERT INTO public.orders SELECT i, 1 + (i * 7919) % {customers}, 1 + (i * 104729) % {products},
  1 + abs(hashint8(i)::bigint) % {stores}, date '2024-01-01' + ((i - 1) * {days} / {rows})::int, 1 + i % 9,
  (i % 100000) / 100.0, false, repeat(md5(i::text), 3), timestamptz '2024-01-01 00:00:00+00'{values}
FROM generate_series(1::bigint, {rows}) AS i;
CREATE INDEX ON public.orders (customer_id);
CREATE INDEX ON public.orders (product_id);
CREATE INDEX ON public.orders (store_id, day);
CREATE INDEX ON public.orders (updated_at);
VACUUM ANALYZE
""",
    more=(
        ("integer", "i % 9973 + {n}"),
        ("numeric(12, 2)", "(i % 100000) / 100.0 + {n}"),
        ("text", "'attribute ' || i % 1000 + {n}"),
    ),
    change="""
DROP TABLE IF EXISTS public.drawn;
CREATE TABLE public.drawn AS SELECT id, row_number() OVER () AS n
FROM (SELECT id FROM public.orders WHERE NOT is_deleted ORDER BY {picked} LIMIT {changed}) AS picked;
INSERT INTO public.orders SELECT (SELECT max(id) FROM public.orders) + n, customer_id, product_id, store_id,
  {day}, quantity, amount, false, note, clock_timestamp(){more}
FROM public.orders JOIN public.drawn USING (id) WHERE n % 10 = 0;
UPDATE public.orders AS o SET quantity = quantity + 1, amount = amount + 1,
  is_deleted = n % 10 = 9, store_id = CASE WHEN n % 10 = 1 THEN 1 + store_id % {stores} ELSE store_id END,
  updated_at = clock_timestamp()
FROM public.drawn AS d WHERE d.id = o.id AND n % 10 <> 0;
DROP TABLE public.drawn;
VACUUM ANALYZE
""",
    picked={"newest": "id DESC", "random": "random()"},
    later="date '2024-01-01' + {}",
    live="NOT o.is_deleted",
    whole="OFFSET 0",
    settings={
        "autovacuum": False,
        "checkpoint_timeout": "1h",
        "shared_buffers": "6GB",
        "max_wal_size": "8GB",
        "random_page_cost": 1.1,
    },
)
MARIADB = Words(
    schema="bench",
    dimension="""
CREATE TABLE {name} (id integer PRIMARY KEY, name varchar(40) NOT NULL, kind varchar(20) NOT NULL,
  price decimal(8, 2) NOT NULL, note varchar(200), updated_at timestamp(6) NOT NULL);
INSERT INTO {name} SELECT seq, concat('{name} ', seq), concat('kind ', seq % 40), 1 + seq % 90, repeat(md5(seq), 3),
  '2024-01-01' FROM seq_1_to_{rows};
CREATE INDEX updated ON {name} (updated_at)
""",
    orders="""
CREATE TABLE orders (id bigint PRIMARY KEY, customer_id integer NOT NULL, product_id integer NOT NULL,
  store_id integer NOT NULL, day date NOT NULL, quantity integer NOT NULL, amount decimal(12, 2) NOT NULL,
  is_deleted boolean NOT NULL, note varchar(200), updated_at timestamp(6) NOT NULL{columns});
INSERT INTO orders SELECT seq, 1 + (seq * 7919) % {customers}, 1 + (seq * 104729) % {products},
  1 + crc32(seq) % {stores}, '2024-01-01' + INTERVAL (seq - 1) * {days} DIV {rows} DAY, 1 + seq % 9,
  (seq % 100000) / 100, false, repeat(md5(seq), 3), '2024-01-01'{values} FROM seq_1_to_{rows};
CREATE INDEX customer ON orders (customer_id);
CREATE INDEX product ON orders (product_id);
CREATE INDEX store_day ON orders (store_id, day);
CREATE INDEX updated ON orders (updated_at);
ANALYZE TABLE orders, customers, products, stores
""",
    more=(
        ("integer", "seq % 9973 + {n}"),
        ("decimal(12, 2)", "(seq % 100000) / 100 + {n}"),
        ("varchar(40)", "concat('attribute ', seq % 1000 + {n})"),
    ),
    change="""
CREATE OR REPLACE TABLE drawn AS SELECT id, row_number() OVER () AS n
FROM (SELECT id FROM orders WHERE NOT is_deleted ORDER BY {picked} LIMIT {changed}) AS picked;
SELECT max(id) INTO @last FROM orders;
INSERT INTO orders SELECT @last + n, customer_id, product_id, store_id, {day}, quantity, amount, false, note, now(6)
  {more}
FROM orders JOIN drawn USING (id) WHERE n % 10 = 0;
UPDATE orders AS o JOIN drawn AS d ON d.id = o.id SET quantity = quantity + 1, amount = amount + 1,
  is_deleted = n % 10 = 9, store_id = CASE WHEN n % 10 = 1 THEN 1 + store_id % {stores} ELSE store_id END,
  updated_at = now(6) WHERE n % 10 <> 0;
DROP TABLE drawn;
ANALYZE TABLE orders
""",
    picked={"newest": "id DESC", "random": "rand()"},
    later="'2024-01-01' + INTERVAL {} DAY",
    live="o.is_deleted = 0",
    whole="LIMIT 18446744073709551615",
    options={"lag": "2ms"},
    settings={"innodb_buffer_pool_size": "4G", "innodb_log_file_size": "1G"},
)
WORDS = {"postgresql": POSTGRESQL, "mariadb": MARIADB}


def words_of(place: Place) -> Words:
    """Return the SQL of the database of `place`."""
    return MARIADB if isinstance(place, MariaPlace) else POSTGRESQL
