"""Functions that variant delta follows on PostgreSQL: rewriting keeps their values."""

from __future__ import annotations

import pytest

from qbcd.connectors.postgresql.functions import PLAIN, WRITTEN_AGAIN
from qbcd.queries.syntax_tree import NotIncremental
from qbcd.queries.views import check_written_again
from tests.support.places import Place
from tests.support.rewritten_views import functions_of, is_another_value, listed

TABLE = """
CREATE TABLE v (id integer PRIMARY KEY, n integer, d numeric(12, 4), f double precision, s text, b bytea, day date,
  at timestamp, z timestamptz, t time, i interval, a integer[], w text[], j jsonb, js json, c char(4), yes boolean);
INSERT INTO v VALUES
  (1, 7, 12.3456, 0.1, 'Ein Wort, noch eins', '\\x41ff00', '2024-02-29', '2024-12-31 23:59:59.123456',
   '2024-12-31 23:59:59.123456+05:30', '10:11:12.5', '1 day 02:03', '{1,2,3}', '{a,b}', '{"a": [1.00, {"b": "x"}]}',
   '{"a": {"b": 2}}', 'ab', true),
  (2, -3, -0.5000, -1e300, '', '\\x', '1999-01-01', '2000-01-01', '2000-01-01 00:00+00', '00:00', '-3 mons', '{}', '{}',
   '[]', '[1, 2]', '', false),
  (3, 2, 99999999.9999, 2, ' 42abc ', '\\x0a', '2023-07-04', '2023-07-04 12:30', '2023-07-04 12:30+00', '23:59:59',
   '90 min', '{3,NULL}', '{NULL,z}', '"x"', '"y"', 'é', NULL),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
# Each has a value for one row.
SCALARS = r"""
abs(n);; yes AND n > 1;; yes OR n > 1;; ARRAY[n, 2];; array_append(a, n);; array_cat(a, a);; a <@ ARRAY[1, 2, 3]
a @> ARRAY[1];; a && ARRAY[3];; array_position(a, 3);; array_remove(a, 2);; array_length(a, 1);; array_to_string(w, '-')
ascii(s);; bit_length(s);; CASE WHEN n > 1 THEN 'x' ELSE s END;; CASE n WHEN 7 THEN 'a' END;; n::text;; d::integer
CAST(d AS numeric(12, 1));; s::varchar(3);; c::text;; c = 'ab';; at::date;; d::float8;; n::bigint;; s::char(2);; j::text
day::timestamp;; cbrt(d);; ceil(d);; ceiling(f);; chr(65 + abs(n));; coalesce(s, 'x');; s COLLATE "C";; concat(s, n)
concat_ws('-', s, n);; decode('41ff', 'hex');; encode(b, 'hex');; degrees(n)
exp(d / 100000000);; extract(epoch FROM z);; extract(year FROM at);; extract(dow FROM day);; floor(d)
format('%s-%s', n, s);; greatest(n, d);; least(n, id);; initcap(s);; j -> 'a';; j ->> 'a';; j #> '{a,0}'
j #>> '{a,1,b}';; js -> 'a' ->> 'b';; j ? 'a';; justify_days(i);; left(s, 3);; right(s, 3)
length(s);; char_length(s);; ln(abs(n) + 1)
log(abs(n) + 1);; log(2, abs(d) + 1);; lower(s);; upper(s);; md5(s);; mod(n, 4);; n % 4;; nullif(n, 7)
overlay(s PLACING 'zz' FROM 2 FOR 1);; lpad(s, 5);; lpad(s, 5, 'x');; rpad(s, 30, '.');; pi() * n;; power(n, 2);; n ^ 2
2 ^ 3 ^ 2 + n;; - n ^ 2;; radians(n);; s ~ '^E';; s !~ '^E';; s ~* 'WORT';; s !~* 'WORT'
regexp_replace(s, 'o', '0', 'g');; repeat(s, 2);; replace(s, 'e', 'E');; reverse(s)
round(d);; round(d, 1);; sha256(b);; sign(d);; split_part(s, ',', 1)
sqrt(abs(n));; starts_with(s, 'Ein');; string_to_array(s, ',');; strpos(s, 'o');; position('o' IN s)
to_date('2024-' || abs(n), 'YYYY-MM');; to_timestamp('2024-' || abs(n), 'YYYY-MM');; to_timestamp(n)
substring(s, 2, 3);; substring(s FROM 2 FOR 3);; substr(s, 2);; substring(s FROM 'o.');; date_trunc('month', at)
date_trunc('hour', z);; to_char(at, 'YYYY-MM-DD HH24:MI:SS');; to_char(n, '999');; to_number('12' || abs(n), '999')
translate(s, 'eo', 'EO');; trim(s);; btrim(s, 'E');; ltrim(s);; rtrim(s, 's');; trim(BOTH 'E' FROM s);; trunc(d)
trunc(d, 2);; width_bucket(d, 0, 100, 5);; regexp_count(s, 'o');; EXISTS (SELECT 1 FROM v AS y WHERE y.id = v.n)
age(at, day::timestamp);; cardinality(a);; make_date(2024, 2, abs(n));; make_interval(days => n)
make_interval(1, 2, secs => 1.5);; octet_length(s);; quote_literal(s)
at + interval '1 day';; at - interval '2 hours 3 min';; at + '1 day 02:00'::interval;; z AT TIME ZONE 'Asia/Tokyo'
at + n * interval '90 min';; day + 3;; day - date '2020-01-01';; date '2024-01-01' + time '10:00';; n BETWEEN 0 AND 8
n BETWEEN SYMMETRIC 8 AND 0;; n IS DISTINCT FROM 7;; (n > 1) IS NOT TRUE;; n NOTNULL;; s LIKE 'E%';; s NOT ILIKE 'e%'
s SIMILAR TO 'E%';; a[1];; a[1:2];; n = ANY(a);; n <> ALL(a);; (n, id) < (3, 9);; (n, id) IN ((7, 1), (2, 3));; n & 3
n | 8;; n # 5;; ~ n;; n << 2;; n / 2;; d / 3;; - n;; s || n;; s || n + 1;; 'it''s';; E'a\nb';; '100%';; 1e3 + n
.5 * n;; B'101';; X'1F';; U&'\0041';; $$x$$;; j @> '{"a": []}';; date(at);; date(z)
acos(f / 1e301);; asin(f / 1e301);; atan(n);; cos(n);; sin(n);; tan(n);; at - interval '3' day;; date_trunc('MONTH', at)
"""
GROUPED = """
avg(d);; bit_and(n);; bit_or(n);; count(*);; count(DISTINCT s);; count(*) FILTER (WHERE n > 0);; corr(n, d)
covar_pop(n, id);; covar_samp(n, id);; string_agg(s, ',' ORDER BY id);; array_agg(n ORDER BY id DESC);; bool_and(yes)
bool_or(yes);; max(s);; min(at);; sum(d);; sum(DISTINCT n);; stddev(n);; stddev_pop(n);; stddev_samp(n);; variance(n)
var_pop(n);; var_samp(n);; percentile_cont(0.5) WITHIN GROUP (ORDER BY f)
percentile_disc(0.5) WITHIN GROUP (ORDER BY n)
"""


def test_rewritten_expressions_mean_the_same(place: Place) -> None:
    place.sql(TABLE)
    scalars = listed(SCALARS)
    seen = functions_of([*scalars, *listed(GROUPED)], scalars, place, "postgres", WRITTEN_AGAIN)
    assert WRITTEN_AGAIN - seen == set(), "no example"
    assert seen - WRITTEN_AGAIN - PLAIN == set(), "examples of functions that are refused elsewhere"


@pytest.mark.parametrize("text", ["at + interval '1 day 02:00'", "regexp_like(E'a\\nb' || s, '^b', 'n')", "|/ d + 1"])
def test_expressions_that_change_their_value_are_refused(text: str, place: Place) -> None:
    place.sql(f"{TABLE}; DELETE FROM v WHERE id = 2")
    assert is_another_value(text, place, "postgres")
    with pytest.raises(NotIncremental):
        check_written_again(f"SELECT {text} AS x FROM v", "postgres", WRITTEN_AGAIN)
