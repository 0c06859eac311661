"""Definitions of views from the catalog, parsed and rewritten.

Same rows and types as the view.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.api import parts_of
from qbcd.catalog.query_table import probe_query
from qbcd.catalog.source import Source
from qbcd.connectors.queries import SupportsQueryColumns
from qbcd.queries.syntax_tree import NotIncremental
from qbcd.strategies.incremental.query_tables import skeleton_of
from tests.support.places import Place
from tests.support.project import config, opened

TABLES = """
CREATE EXTENSION citext SCHEMA public;
CREATE TYPE col AS ENUM ('x', 'y'); CREATE DOMAIN dom AS varchar(5);
CREATE TABLE x (id integer PRIMARY KEY, n integer, m integer, v varchar(20), w text, c3 char(3), t timestamp,
  z timestamptz, d date, j jsonb, arr integer[], b boolean, f float8, by bytea, u uuid, i interval, "end" integer,
  "Mixed" integer, e col, dm dom, ip inet, mo money, r int4range, ci citext);
CREATE TABLE y (id integer PRIMARY KEY, n integer, m integer);
INSERT INTO y SELECT i, i % 3, i % 4 FROM generate_series(1, 7) i;
INSERT INTO x SELECT i, i % 4 - 1, i % 3, (ARRAY['a', 'ab', 'b', NULL, 'Ab '])[1 + i % 5],
  (ARRAY['q', NULL, 'z'])[1 + i % 3], (ARRAY['a', 'ab', 'b '])[1 + i % 3],
  '2020-01-01'::timestamp + i * interval '7 hours 3 min', '2020-01-01'::timestamptz + i * interval '7 hours',
  '2020-01-01'::date + i % 3, jsonb_build_object('a', i % 2), ARRAY[i % 3, i % 2], i % 2 = 0, i * 0.37,
  decode('0' || i % 3, 'hex'), ('00000000-0000-0000-0000-00000000000' || i % 3)::uuid, i * interval '20 min', i % 2,
  i % 3, (ARRAY['x', 'y'])[1 + i % 2]::col, 'd' || i % 3, ('10.0.0.' || i)::inet, i, int4range(i % 3, 5),
  (ARRAY['a', 'A', 'b'])[1 + i % 3] FROM generate_series(1, 30) i
"""
ROWS = r"""
v IN ('a','b') ;; v NOT IN ('a','b') ;; v LIKE 'a%' ;; v NOT LIKE 'a%' ;; v ILIKE 'A%' ;; v NOT ILIKE 'A%'
v SIMILAR TO 'a%' ;; v ~ '^a' ;; v !~ '^a' ;; v ~* 'A' ;; n BETWEEN 1 AND 3 ;; n NOT BETWEEN 1 AND 3
n BETWEEN SYMMETRIC 3 AND 1 ;; v IS DISTINCT FROM 'a' ;; v IS NOT DISTINCT FROM 'a' ;; n IS NULL
(n > 1) IS TRUE ;; (n > 1) IS NOT TRUE ;; (n>1) IS UNKNOWN ;; n+1*2-3 ;; (n+1)*2 ;; n-(m-1) ;; n/(m+1) ;; -(n)
- n ^ 2 ;; n % 2 ;; n ^ 2 ^ 2 ;; v||w ;; v||(n+1) ;; n::text ;; n::numeric(6,1) ;; c3 ;; c3 = 'ab' ;; c3::text
c3 || 'x' ;; v::varchar(2) ;; v::char(2) ;; v::char(2) = 'a' ;; substring(v from 1 for 1) ;; substring(v,1,1)
left(v,1) ;; right(v,1) ;; overlay(v placing 'z' from 1) ;; position('a' in v) ;; trim(both 'a' from v)
trim(v) ;; ltrim(v,'a') ;; btrim(v, 'a') ;; upper(v) ;; coalesce(n,0) ;; nullif(n,1) ;; greatest(n,m)
least(n,m) ;; CASE WHEN n>1 THEN 'x' ELSE 'y' END ;; CASE n WHEN 1 THEN 'x' END ;; extract(year from t)
extract(epoch from t) ;; date_trunc('day', t) ;; t::date ;; t + interval '1 day' ;; t - interval '2 hours 3 min'
d + 3 ;; d - date '2020-01-01' ;; t > '2020-01-01' ;; t AT TIME ZONE 'UTC' ;; z AT TIME ZONE 'UTC'
to_char(d,'YYYY') ;; d BETWEEN '2020-01-01' AND '2020-12-31' ;; j->'a' ;; j->>'a' ;; j#>>'{a,b}'
j @> '{"a":1}' ;; j ? 'a' ;; arr[1] ;; arr[1:2] ;; arr @> ARRAY[1] ;; n = ANY(arr) ;; n <> ALL(arr)
array_length(arr,1) ;; ARRAY[n,m] ;; ROW(n,m) = ROW(1,2) ;; (n,m) IN ((1,2),(2,3)) ;; (n,m) < (2,2) ;; b
NOT b ;; b AND n>1 OR m<2 ;; NOT (b OR n>1) ;; b IS TRUE ;; b::int ;; f * 1.5 ;; round(f::numeric,1) ;; f/3
1e3 ;; 0x10 ;; 1.50 ;; 'it''s' ;; E'a\nb' ;; 'a' || E'\t' ;; U&'\0061' ;; n & 1 ;; n  ;; n # 1 ;; ~n ;; n << 1
by ;; by = '\x01' ;; encode(by,'hex') ;; v COLLATE "C" ;; v COLLATE "C" < 'b' ;; md5(v) ;; format('%s-%s', v, n)
concat(v,w) ;; concat_ws('-',v,w) ;; length(v) ;; char_length(v) ;; initcap(v) ;; replace(v,'a','b')
translate(v,'a','b') ;; split_part(v,'a',1) ;; regexp_replace(v,'a','b','g') ;; lpad(v,5,'*') ;; repeat(v,2)
reverse(v) ;; strpos(v,'a') ;; chr(65) ;; ascii(v) ;; abs(n) ;; ceil(f) ;; floor(f) ;; trunc(f) ;; mod(n,2)
power(n,2) ;; sign(n) ;; ln(abs(n)+1) ;; log(abs(n)+1) ;; exp(1.0) ;; u
u = '00000000-0000-0000-0000-000000000001' ;; i ;; i > interval '1 hour' ;; make_interval(days => n)
d::timestamp ;; time '10:00' ;; t::time ;; cast(n as bigint) ;; cast(n as smallint) ;; n::real ;; n::float8
n::oid ;; v::name ;; 't'::bool ;; null::int ;; v = 'a' COLLATE "C" ;; EXISTS (SELECT 1 FROM y WHERE y.n = x.n)
n IN (SELECT y.n FROM y) ;; n NOT IN (SELECT y.n FROM y WHERE y.n=x.m)
n > ALL (SELECT y.n FROM y WHERE y.m=x.m) ;; n = ANY (SELECT y.n FROM y WHERE y.m=x.m)
n < ANY (SELECT y.n FROM y WHERE y.m = x.m) ;; (SELECT max(y.n) FROM y WHERE y.m=x.m)
(SELECT count(*) FROM y WHERE y.m=x.m) > 1 ;; (n,m) IN (SELECT y.n, y.m FROM y)
ARRAY(SELECT y.n FROM y WHERE y.m=x.m ORDER BY 1) ;; x IS NULL ;; date '2020-01-01' + time '10:00'
timestamptz '2020-01-01 00:00+02' ;; t::timestamp(0) ;; z::date ;; extract(dow from d) ;; v < 'b' ;; "end"
"Mixed" ;; x."end" = 1 ;; e ;; e = 'x' ;; e::text ;; dm ;; dm || 'x' ;; ip ;; ip << '10.0.0.0/8' ;; mo
mo::numeric ;; r @> 3 ;; lower(r) ;; j || '{"z":1}' ;; n IS NOT NULL AND m IS NOT NULL
d IN ('2020-01-01','2020-01-02') ;; e IN ('x','y') ;; c3 IN ('ab','b') ;; (d, d) OVERLAPS (d, d)
coalesce(v, 'none'::varchar) ;; t::timestamptz ;; timezone('UTC', t) ;; extract(century from d) ;; n::money
n::bit(3) ;; make_date(2020, 1, n + 2) ;; v::"char" ;; n | 4 ;; ci = 'A' ;; ci ;; ci LIKE 'a'
"""
GROUPS = r"""
count(*) ;; count(n) ;; count(distinct n) ;; sum(n) FILTER (WHERE m>1) ;; max(v) ;; avg(n)
string_agg(v, ',' ORDER BY v) ;; array_agg(n ORDER BY n DESC) ;; bool_and(b) ;; stddev(n)
percentile_cont(0.5) WITHIN GROUP (ORDER BY n) ;; sum(n)/count(*) ;; min(d)
count(*) FILTER (WHERE v LIKE 'a%') ;; json_agg(n ORDER BY n) ;; mode() WITHIN GROUP (ORDER BY n)
sum(distinct n) ;; bit_or(n) ;; coalesce(sum(n),0) ;; max(t)-min(t) ;; variance(n) ;; corr(n,m)
string_agg(distinct v, ',') ;; any_value(m) ;; array_agg(distinct n)
"""

REFUSED = ("x IS NULL", "json_agg(n ORDER BY n)", "mode() WITHIN GROUP (ORDER BY n)", "any_value(m)")


def definitions() -> Iterator[tuple[str, str]]:
    """Return (definition, key) of a view for each form."""
    for form in ROWS.strip().replace("\n", " ;; ").split(" ;; "):
        yield f"SELECT id, {form} AS c FROM x", "id"
    for form in GROUPS.strip().replace("\n", " ;; ").split(" ;; "):
        yield f"SELECT coalesce(m, 0) AS m, {form} AS c FROM x GROUP BY coalesce(m, 0)", "m"


@pytest.mark.campaign
def test_a_definition_means_the_same_where_it_is_written_again(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    with opened(
        config(place.url, {"name": "q", "query": "SELECT id, n FROM public.x", "strategy": "vbd"}), workspace
    ) as project:
        source = parts_of(project).open_stream("q").source
        for number, (definition, key) in enumerate(definitions()):
            place.sql(f"CREATE VIEW v{number} AS {definition}")
            if any(f" {form} AS c " in definition for form in REFUSED):
                with pytest.raises(NotIncremental, match=r"may not reproduce exactly|name its columns"):
                    _written_again(source, f"public.v{number}", key)
                continue
            theirs, ours = f"SELECT * FROM public.v{number}", _written_again(source, f"public.v{number}", key)
            assert _seen(source, ours) == _seen(source, theirs), ours


def _written_again(source: Source, view: str, key: str) -> str:
    with source.read("q") as session:
        table = probe_query(source, session, f"SELECT v.* FROM {view} AS v", stream="q")
    return skeleton_of(source.connector, table, (key,)).prepared.tree.sql(dialect=source.connector.dialect)


def _seen(source: Source, query: str) -> tuple[Counter[str], list[tuple[str, str | None]]]:
    """Return the rows of a query, and the types of its columns."""
    with source.read("q") as session:
        columns = source.connector.require(SupportsQueryColumns).query_columns(session.connection, query)
        rows = Counter(str([_shown(value) for value in row]) for row in session.rows(query))
        return rows, [(c.sql_type, c.collation) for c in columns]


def _shown(value: Any) -> Any:
    return bytes(value) if isinstance(value, memoryview) else value
