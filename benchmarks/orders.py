"""The table of a comparison with other tools: its changes, newest or random, and its copy."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.places import Place

COLUMNS = ("customer", "quantity", "amount", "placed_at", "weight", "note")
EVERY = 20  # one of this number of keys remains free, so that rows can be inserted anywhere
KEYS = {"bigint": "i", "uuid": "md5(i::text)::uuid"}
CREATE = """
CREATE TABLE {table} (
  id {key} PRIMARY KEY, customer text NOT NULL, quantity int, amount numeric(12, 2), placed_at timestamptz,
  weight double precision, note text
);
INSERT INTO {table}
SELECT {id}, 'customer-' || (i * 7919) % 100003, i % 97, (i % 100000) / 100.0,
       timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second', i / 3.0, repeat(md5(i::text), 4)
FROM (SELECT i::bigint, row_number() OVER (ORDER BY i) AS n FROM generate_series(1, {numbers}) AS i
      WHERE i % {every} <> 0) AS numbered WHERE n <= {rows};
VACUUM ANALYZE {table};
"""
ORDERS = {("bigint", "newest"): "id DESC", ("uuid", "newest"): "placed_at DESC"}  # else random
# The drawn rows are stored in a table, so that no row is changed twice.
CHANGE = """
DROP TABLE IF EXISTS public.drawn;
CREATE TABLE public.drawn AS SELECT id, row_number() OVER () AS n
FROM (SELECT id FROM {table} ORDER BY {order} LIMIT {updates} + {deletes}) AS picked;
UPDATE {table} AS o SET quantity = o.quantity + 1 FROM public.drawn AS d WHERE d.id = o.id AND d.n <= {updates};
INSERT INTO {table} ({id}, {columns})
SELECT free.id, customer, quantity, amount, {placed_at}, weight, note
FROM (SELECT *, row_number() OVER () AS n FROM (SELECT * FROM {table} ORDER BY {order} LIMIT {inserts}) AS picked) AS o
JOIN ({free}) AS free USING (n);
DELETE FROM {table} AS o USING public.drawn AS d WHERE d.id = o.id AND d.n > {updates};
VACUUM ANALYZE {table};
"""
# Keys of the inserted rows, numbered from 1.
FREE = {
    ("bigint", "newest"): "SELECT (SELECT max(id) FROM {table}) + n AS id, n FROM generate_series(1, {inserts}) AS n",
    ("bigint", "random"): "SELECT id, row_number() OVER () AS n FROM (SELECT i AS id "
    "FROM generate_series(1, (SELECT max(id) FROM {table})) AS i "
    "WHERE NOT EXISTS (SELECT FROM {table} AS o WHERE o.id = i) ORDER BY random() LIMIT {inserts}) AS picked",
}
FREE_UUID = "SELECT gen_random_uuid() AS id, n FROM generate_series(1, {inserts}) AS n"
COPY = """
DROP TABLE IF EXISTS {copied};
CREATE UNLOGGED TABLE {copied} (LIKE {table} INCLUDING ALL);
INSERT INTO {copied} SELECT * FROM {table} ORDER BY id;
VACUUM ANALYZE {copied};
"""


@dataclass
class Orders:
    """A table of about 200 bytes a row in `place`, with a `key` of type bigint or uuid.

    A uuid is not correlated with the table's physical order, so the newest rows are anywhere among the keys.
    """

    place: Place
    key: str = "bigint"
    columns = COLUMNS

    @property
    def table(self) -> str:
        """The table's name."""
        return f"public.orders_{self.key}"

    @property
    def copied(self) -> str:
        """The name of the copy."""
        return f"{self.table}_copy"

    def create(self, rows: int) -> None:
        """Create the table."""
        self.place.run(
            CREATE.format(
                table=self.table,
                key=self.key,
                id=KEYS[self.key],
                rows=rows,
                every=EVERY,
                numbers=rows * EVERY // (EVERY - 1) + EVERY,
            )
        )

    def change(self, which: str, rows: int) -> int:
        """Change 1 % of the rows: eight updates per delete and insert; return the number of changes.

        Args:
            which: ``newest``, ``random`` or ``none``.
            rows: Approximate rows of the table.
        """
        if which == "none":
            return 0
        share = max(10, rows // 100)
        parts = {"updates": share * 8 // 10, "deletes": share // 10, "inserts": share // 10}
        free = FREE.get((self.key, which), FREE_UUID).format(table=self.table, **parts)
        placed_at = f"(SELECT max(placed_at) FROM {self.table}) + n * interval '1 second'"
        order = ORDERS.get((self.key, which), "random()")
        self.place.run(
            CHANGE.format(
                table=self.table,
                order=order,
                free=free,
                id="id",
                columns=", ".join(COLUMNS),
                placed_at=placed_at if which == "newest" else "placed_at",
                **parts,
            )
        )
        return sum(parts.values())

    def copy(self) -> None:
        """Replace the copy by one of the present table."""
        self.place.run(COPY.format(table=self.table, copied=self.copied))
