"""Types, keys of every key type and restrictions of random tables of PostgreSQL.

The types are those of `pg_values`.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

from tests.support.drawn_tables import ODD_NAMES, Chance, Pool
from tests.support.pg_values import SETUP, VALUES
from tests.support.places import Place

SCHEMA = "S ch.ema"
MORE_SETUP = (
    SETUP
    + """
CREATE DOMAIN needed AS integer NOT NULL;
CREATE DOMAIN "Needed.text" AS varchar(12) NOT NULL CHECK (VALUE <> 'never');
CREATE DOMAIN deep AS cents;
CREATE DOMAIN listed AS integer[];
CREATE TYPE "Od.d" AS ("a b" numeric, "c""d" "Mo""od", e text[]);
CREATE EXTENSION IF NOT EXISTS ltree;
"""
)
MORE_VALUES: dict[str, list[str]] = {
    "needed": ["0", "1", "-1"],
    '"Needed.text"': ["", "a", "null", "Ä"],
    "deep": ["0", "1.00", "NaN"],
    "listed": ["{}", "{1,2}", "{{1}}"],
    '"Od.d"': ['(1.0,sad,"{a,NULL}")', '(1.00,sad,"{a,NULL}")', "(,,)", "(NaN,ok,{})"],
    "ltree": ["a.b", "a.b.c", ""],
    'text COLLATE "pg_c_utf8"': ["", "a", "A", "ä", "Ä", "ß", "🙂"],
    'varchar(9) COLLATE "POSIX"': ["", "a", "A", "b'c", "%"],
}
MORE_OF = {
    "time[]": ["{00:00:00}"],
    "timetz[]": ["{24:00:00+00}"],
    "uuid[]": ["{}"],
    "interval[]": ['{"24:00:00","1 day"}'],
    "inet[]": ["{10.0.0.1}"],
    "cents[]": ["{1.50}"],
}
VALUES_OF = {t: [*values, *MORE_OF.get(t, ())] for t, values in {**VALUES, **MORE_VALUES}.items()}
NOT_NULL = frozenset({"needed", '"Needed.text"'})

# Types whose values a formula computes, so that there are enough keys; other key types have the values of the pool.
WIDE_KEYS = [
    "integer",
    "bigint",
    "counter",
    "text",
    "varchar(20)",
    "citext",
    'text COLLATE "C"',
    'text COLLATE "pg_c_utf8"',
    "uuid",
    "numeric",
    "numeric(12,2)",
    "date",
    "timestamp",
    "timestamptz",
    "bytea",
    "character(5)",
    "double precision",
    "real",
    "inet",
    "time",
    "money",
    "name",
    "smallint",
    "bit varying(9)",
    "oid",
]
NARROW_KEYS = [
    "boolean",
    '"Mo""od"',
    '"char"',
    "timetz",
    "cidr",
    "macaddr",
    "macaddr8",
    "pg_lsn",
    "xid8",
    "cents",
    "code",
    "bpchar",
    "bit(4)",
    "time(0)",
    "stamp",
    "needed",
]


def base(sql_type: str) -> str:
    """Return the type without its collation."""
    return sql_type.split(" COLLATE")[0]


def formula(rng: Random, base: str) -> str | None:
    """Return a random value, or None if the type has no formula."""
    chance = Chance.of(rng)
    word, n, clock, day = chance.word, chance.number, chance.clock, chance.day
    if base in ("smallint", "integer", "bigint", "counter", "needed"):
        return str(n)
    if base in ("numeric", "double precision", "real", "money", "numeric(12,2)", "cents", "numeric(38,10)"):
        return f"{n}.{rng.choice([0, 5, 25, 50])}"
    if base in ("text", "varchar(20)", "citext", "name", "character(5)"):
        return word
    others = {
        "uuid": f"{abs(n):032x}",
        "date": day,
        "timestamp": f"{day} {clock}",
        "timestamptz": f"{day} {clock}+00",
        "bytea": "\\x" + word.encode().hex(),
        "inet": f"10.{abs(n) % 256}.{rng.randint(0, 3)}.0/{rng.choice([16, 24, 32])}",
        "time": clock,
        "oid": str(abs(n)),
        "bit varying(9)": f"{abs(n) % 512:b}",
        "xid8": str(abs(n)),
        "pg_lsn": f"0/{abs(n):X}",
        "integer[]": f"{{{n},{abs(n)}}}",
        "text[]": '{"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"}',
        "jsonb": f'{{"a": {n}}}',
    }
    return others.get(base)


CONDITIONS = {
    "text": [
        "{c} LIKE '%a%' OR {c} NOT LIKE '\\%_%'",
        "{c} <> ':epoch' AND {c} <> '%(epoch)s' OR {c} = 'a:b'",
        "coalesce({c}, '?') <> '?' AND {c} !~ '^x{{2,}}'",
        "{c} IN ('', 'null', 'a''b') OR {c} > 'b;--'",
        "length({c}) % 2 = 0",
        "{c}::text LIKE '%' || 'a' || '%' OR {c} < 'b'",
    ],
    "integer": [
        "{c} % 3 <> 0",
        "{c}::text LIKE '%1%' OR {c} <= 0",
        "{c} BETWEEN -5 AND 1000000",
        "NOT {c} = 0",
        "CASE WHEN {c} > 0 THEN {c}::bigint * 2 > 5 ELSE true END",
    ],
    "boolean": ["{c}", "NOT {c}", "{c} IS NOT TRUE"],
    "jsonb": ["{c} ? 'a' OR {c} = '[]'", "({c} -> 'a')::text <> '1' OR {c} @> '{{}}'", "{c} ?| array['a', 'b']"],
    "timestamp": ["{c} > '2000-01-01 00:00:00'::timestamp", "{c} = 'infinity' OR extract(year FROM {c}) <> 1969"],
    "date": ["{c} >= DATE '1970-01-01'", "{c} <> 'infinity'"],
    "double precision": ["{c} <> 'NaN'", "{c} > -1.5e0"],
    "numeric": ["{c} <> 0 AND {c} IS NOT NULL"],
    "integer[]": ["{c}[1] = 1 OR 2 = ANY({c})", "cardinality({c}) > 0 AND {c} <> '{{1,2}}'::int4[]"],
    '"Mo""od"': ["{c} > 'sad' OR {c} IS NULL"],
}


def set_up(place: Place) -> str:
    """Make types, domains and the schema; return the schema's name."""
    place.sql(f"{MORE_SETUP}; CREATE SCHEMA {place.quote(SCHEMA)}")
    return SCHEMA


PG_POOL = Pool(
    values=VALUES_OF,
    not_null=NOT_NULL,
    wide_keys=WIDE_KEYS,
    narrow_keys=NARROW_KEYS,
    base=base,
    conditions=CONDITIONS,
    formula=formula,
    set_up=set_up,
    names=ODD_NAMES,
    unique="DEFERRABLE INITIALLY DEFERRED",
    loose_key="NULLS NOT DISTINCT",
)


def pool_of_release(release: int) -> Pool:
    """Return the pool of what a release has."""
    lacking = {'text COLLATE "pg_c_utf8"'} if release < 17 else set()
    return replace(
        PG_POOL,
        values={name: values for name, values in VALUES_OF.items() if name not in lacking},
        wide_keys=[name for name in WIDE_KEYS if name not in lacking],
        loose_key=PG_POOL.loose_key if release >= 15 else "",
    )
