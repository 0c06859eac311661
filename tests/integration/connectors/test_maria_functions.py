"""Functions that variant delta follows on MariaDB: rewriting keeps their values."""

from __future__ import annotations

import pytest

from qbcd.connectors.mysql_family.dialect_gaps import misread
from qbcd.connectors.mysql_family.functions import PLAIN, WRITTEN_AGAIN
from tests.support.places import Place
from tests.support.rewritten_views import functions_of, is_another_value, listed

pytestmark = pytest.mark.parametrize("database", ["mariadb"], indirect=True)
TABLE = """
CREATE TABLE v (id integer PRIMARY KEY, n integer, d decimal(12, 4), f double, s varchar(40), b varbinary(9), day date,
  at datetime(6), t time(6), js longtext, yes boolean);
INSERT INTO v VALUES
  (1, 7, 12.3456, 0.1, 'Ein Wort, noch eins', x'41ff00', '2024-02-29', '2024-12-31 23:59:59.123456', '10:11:12.5',
   '{"a": [1.00, {"b": "x"}]}', TRUE),
  (2, -3, -0.5000, -1e300, '', x'', '1999-01-01', '2000-01-01', '00:00', '[]', FALSE),
  (3, 2, 99999999.9999, 2, ' 42abc ', x'0a', '2023-07-04', '2023-07-04 12:30', '23:59:59', '"x"', NULL),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)
"""
# Each has a value for one row.
SCALARS = r"""
abs(n);; yes AND n > 1;; yes OR n > 1;; n && yes;; n || yes;; ascii(s);; bit_length(s)
CASE WHEN n > 1 THEN 'x' ELSE s END;; CASE n WHEN 7 THEN 'a' END;; CAST(n AS CHAR);; CAST(n AS CHAR(2))
CAST(d AS SIGNED);; CAST(abs(n) AS UNSIGNED);; CAST(d AS DECIMAL(12, 1));; CAST(at AS DATE);; CAST(s AS BINARY)
binary s;; CAST(day AS DATETIME);; CAST(at AS DATETIME(3));; CAST(at AS TIME);; CAST(at AS TIME(3))
CAST(d AS DOUBLE);; CAST(d AS FLOAT);; CAST(n AS INTEGER);; CAST(s AS VARCHAR(3));; CONVERT(n, CHAR)
CONVERT(s USING utf8mb4);; CONVERT(s USING latin1);; CONVERT(d, SIGNED);; ceil(d);; ceiling(f);; char(65 + abs(n))
coalesce(s, 'x');; ifnull(s, 'x');; ifnull(n, 0.5);; nvl(s, 'x');; if(n > 1, 'a', s);; nullif(n, 7)
s COLLATE utf8mb4_bin;; concat(s, n);; 'a' 'b';; concat_ws('-', s, n);; degrees(n);; radians(n);; exp(d / 100000000)
floor(d);; greatest(n, d);; least(n, id);; left(s, 3);; right(s, 3);; length(s);; char_length(s);; octet_length(s)
ln(abs(n) + 1);; log(abs(n) + 1);; lower(s);; upper(s);; lcase(s);; ucase(s);; md5(s);; sha1(s);; sha2(s, 256)
crc32(s);; mod(n, 4);; n % 4;; n MOD 4;; n DIV 2;; n / 2;; d / 3;; d / 0;; - n;; -n * 2 - 3;; insert(s, 2, 1, 'zz')
instr(s, 'o');; locate('o', s);; locate('o', s, 9);; position('o' IN s);; lpad(s, 5, 'x');; rpad(s, 30, '.')
pi() * n;; power(n, 2);; pow(n, 2);; repeat(s, 2);; replace(s, 'e', 'E');; reverse(s);; round(d);; round(d, 1)
truncate(d, 1);; sign(d);; sqrt(abs(n));; substring(s, 2, 3);; substring(s FROM 2 FOR 3);; substr(s, 2);; mid(s, 2, 2)
substring_index(s, ',', 1);; trim(s);; ltrim(s);; rtrim(s);; trim(BOTH 'E' FROM s);; trim(LEADING 'E' FROM s);; hex(n)
hex(s);; unhex('41');; bin(n);; oct(n);; conv(n, 10, 16);; year(at);; month(at);; day(at);; dayofmonth(at);; hour(at)
minute(at);; second(at);; microsecond(at);; quarter(at);; week(at);; week(at, 1);; weekofyear(at);; weekday(at)
dayofweek(at);; dayofyear(at);; dayname(at);; date(at);; time(at);; last_day(at);; from_days(730000 + n)
yearweek(at);; extract(year FROM at);; extract(hour FROM at);; extract(day_hour FROM at);; date_format(at, '%Y-%m')
date_format(at, '%Y-%m-%d %T');; date_format(at, '%M %D %f %j %W %e');; str_to_date('2024-02-03', '%Y-%m-%d')
time_format(t, '%H:%i');; at + INTERVAL 1 DAY;; at - INTERVAL 2 HOUR;; at + INTERVAL n MINUTE
at + INTERVAL '1:30' MINUTE_SECOND;; date_add(at, INTERVAL 1 MONTH)
date_sub(at, INTERVAL 1 WEEK);; adddate(day, 3);; datediff(at, day);; timestampdiff(HOUR, day, at)
timestampadd(MONTH, n, at);; makedate(2024, 60);; maketime(1, 2, 3);; sec_to_time(n)
time_to_sec(t);; unix_timestamp(at);; from_unixtime(abs(n));; timestamp(day);; timediff(at, day)
addtime(at, '01:00:00');; period_add(202401, 2);; day >= DATE '2024-01-01';; at > TIMESTAMP '2024-12-31 23:59:59.1'
t > TIME '10:00:00';; n BETWEEN 0 AND 8;; n IN (7, 2);; n NOT IN (7);; n <=> NULL;; NOT (n <=> 7);; n IS NOT NULL
(n > 1) IS TRUE;; (n > 1) IS NOT TRUE;; (n > 1) IS UNKNOWN;; isnull(n);; NOT n > 1;; NOT n = 7;; ! n = 7;; n <> 7
n != 7;; s LIKE 'E%';; s NOT LIKE 'E%';; s LIKE '%|%%' ESCAPE '|';; regexp_replace(s, 'o', '0')
regexp_substr(s, 'o.');; regexp_instr(s, 'o');; strcmp(s, 'x');; field(s, 'a', 'b');; find_in_set('b', 'a,b')
elt(abs(n), 'a', 'b');; format(d, 2);; soundex(s);; s SOUNDS LIKE 'x';; ord(s);; quote(s);; (n, id) < (3, 9)
(n, id) IN ((7, 1), (2, 3));; n & 3;; n | 8;; n | 8 = 8;; n ^ 5;; -2 ^ 2;; ~ n;; n << 2;; n >> 1;; 'it''s';; "it's"
"a""b";; '100%';; 1e3 + n;; .5 * n;; 0b101 + n;; b'101';; X'1F';; _latin1'x';; n = 7 OR d > 1 AND f < 1
acos(f / 1e301);; asin(f / 1e301);; atan(n);; atan2(n, 2);; cos(n);; sin(n);; tan(n);; cot(n + 1)
json_extract(js, '$.a');; json_value(js, '$.a');; json_unquote(json_extract(js, '$.a'));; json_length(js)
json_valid(js);; json_contains(js, '1');; bit_count(n);; inet_aton('1.2.3.4')
EXISTS (SELECT 1 FROM v AS y WHERE y.id = v.n);; s = 'x' COLLATE utf8mb4_bin
n = ANY (SELECT id FROM v);; n <> ALL (SELECT id FROM v WHERE id > 2);; n + 1 BETWEEN 2 AND 9 AND yes;; s + 0;; s = 0
'5' + n
"""
GROUPED = """
avg(d);; bit_and(n);; bit_or(n);; bit_xor(n);; count(*);; count(DISTINCT s);; count(DISTINCT s, n);; max(s);; min(at)
group_concat(s ORDER BY id SEPARATOR ',');; group_concat(DISTINCT s ORDER BY s SEPARATOR '')
group_concat(s ORDER BY id);; group_concat(s, n ORDER BY id DESC);; sum(DISTINCT n)
std(n);; sum(d);; stddev(n);; stddev_pop(n);; stddev_samp(n);; variance(n);; var_pop(n);; var_samp(n)
"""


def test_rewritten_expressions_mean_the_same(place: Place) -> None:
    place.sql(TABLE)
    scalars = listed(SCALARS)
    for text in (*scalars, *listed(GROUPED)):
        assert not misread(f"SELECT {text} AS x FROM v", []), text
    seen = functions_of([*scalars, *listed(GROUPED)], scalars, place, "mysql", WRITTEN_AGAIN)
    assert WRITTEN_AGAIN - seen == set(), "no example"
    assert seen - WRITTEN_AGAIN - PLAIN == set(), "examples of functions that are refused elsewhere"
    assert PLAIN - seen == set(), "no example"


OTHERWISE = [
    "log10(1000)",
    "t > TIME '10:11:12.4' AND t < TIME '10:11:12.6'",
    "date_add(day, INTERVAL 2.5 DAY)",
    "n NOT IN (1, 2) = yes",
    "n NOT BETWEEN 1 AND 5 = yes",
    "yes <=> n >= 1",
]


@pytest.mark.parametrize("text", OTHERWISE)
def test_expressions_that_change_their_value_are_refused(text: str, place: Place) -> None:
    place.sql(f"{TABLE}; UPDATE v SET yes = 5 WHERE id = 1")
    assert is_another_value(text, place, "mysql") and misread(f"SELECT {text} AS x FROM v", [])


@pytest.mark.parametrize(
    "text",
    ["CAST(s AS NCHAR(9)) = 'x'", "N'x' = s", "s LIKE 'a\\\\_b'", "len(s)", "n = 1 = yes", "n = id >= 1", "chr(n)"],
)
def test_expressions_that_may_change_their_value_are_refused(text: str, place: Place) -> None:
    assert misread(f"SELECT {text} AS x FROM v", [])
