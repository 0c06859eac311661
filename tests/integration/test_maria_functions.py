"""Functions that variant delta follows on MariaDB: what qbcd writes for them gives what the user's text gave."""

from __future__ import annotations

from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from qbcd.connectors.mysql_family.functions import PLAIN, WRITTEN_AGAIN
from qbcd.queries.prepared import NotIncremental
from qbcd.queries.views import check_written_again
from tests.support.places import Place

pytestmark = pytest.mark.parametrize("database", ["mariadb"], indirect=True)

TABLE = """
CREATE TABLE v (id integer PRIMARY KEY, n integer, d decimal(12, 4), f double, s varchar(40), b varbinary(20),
  day date, at datetime(6), t time(6));
INSERT INTO v VALUES
  (1, 7, 12.3456, 0.1, 'Ein Wort, noch eins', x'41ff00', '2024-02-29', '2024-12-31 23:59:59.123456', '-10:11:12.5'),
  (2, -3, -0.5000, -1e300, '', x'', '1999-01-01', '2000-01-01 00:00:00', '00:00:00'),
  (3, 0, 99999999.9999, 2, ' 42abc ', x'0a', '2023-07-04', '2023-07-04 12:30:00.000001', '838:59:59'),
  (4, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (5, 1000000, 3.0000, 1e-5, 'äöü€', x'ff', '0001-01-01',
   '9999-12-31 00:00:00', '23:00:00')
"""
# Of one row each.
SCALARS = """
abs(n)|ascii(s)|bit_length(s)|CASE n WHEN 7 THEN 'a' WHEN 0 THEN 'b' END|CASE WHEN n > 0 THEN d ELSE f END
cast(d AS char)|cast(s AS signed)|cast(n AS unsigned)|cast(f AS decimal(20,4))|cast(at AS date)|cast(day AS datetime(6))
cast(at AS time)|convert(d, char(3))|convert(s USING latin1)|cast(s AS binary)|BINARY s|ceil(d)|ceiling(f)
coalesce(s, 'x')|ifnull(n, 5)|nvl(n, d)|concat(s, n)|concat_ws('-', s, n, d)|date_add(day, interval 1 month)
date_add(at, interval '1:30' minute_second)|at + interval n day|date_sub(day, interval 3 day)|day - interval 1 year
datediff(at, day)|day(at)|dayname(day)|dayofmonth(at)|dayofweek(at)|dayofyear(at)|elt(2, s, n)
EXISTS (SELECT 1 FROM v AS w WHERE w.id = v.n)|extract(year_month FROM at)|extract(hour FROM t)|floor(d)|floor(f)
greatest(n, d)|hex(b)|hex(n)|hex(s)|hour(t)|if(n > 0, s, d)|last_day(day)|least(n, f)|left(s, 3)|length(s)
char_length(s)|character_length(s)|ln(d)|log(d)|lower(s)|lcase(s)|md5(s)|minute(t)|month(day)|nullif(n, 7)
n > 0 AND d > 1|n > 0 OR s = ''|n > 0 XOR d > 1|lpad(s, 5, 'x')|rpad(n, 9, '.')|pow(n, 2)|power(d, 2)|quarter(day)
repeat(s, 2)|replace(s, 'e', 'E')|reverse(s)|right(s, 3)|round(d)|round(d, 1)|round(f, 2)|second(at)|sha1(s)|sha(s)
sha2(s, 256)|sign(d)|sqrt(d)|instr(s, 'o')|locate('o', s)|locate('o', s, 7)|position('o' IN s)|substring(s, 2, 3)
substr(s, 2)|substring(s FROM 2 FOR 3)|substring_index(s, ',', 1)|timestampdiff(day, day, at)
timestampdiff(second, day, at)|date_format(at, '%Y-%m')|date_format(at, '%d.%m.%y %H:%i:%s')
date_format(at, '%W %M %e %j %f %p %h %k %l %u %v %x %a %b')|trim(s)|ltrim(s)|rtrim(s)|trim(LEADING 'E' FROM s)
trim(BOTH ' ' FROM s)|truncate(d, 2)|truncate(f, 0)|date(at)|unhex(hex(b))|upper(s)|ucase(s)|week(day)|week(day, 3)
weekofyear(day)|year(at)
addtime(t, '1:00')|adddate(day, 1)|subdate(day, 1)|bin(n)|conv(n, 10, 16)|crc32(s)|field(s, '', 'x')
find_in_set('x', s)|inet_aton('10.0.0.1')|inet_ntoa(n)|makedate(2024, n)|microsecond(at)|mid(s, 2, 2)|oct(n)
octet_length(s)|ord(s)|period_add(202401, n)|period_diff(202401, 202301)|quote(s)|sec_to_time(n)|strcmp(s, 'E')
subtime(t, '1:00')|time_to_sec(t)|timediff(at, day)|weekday(day)|yearweek(day)
n DIV 2|n MOD 4|mod(n, 4)|n % 4|d / 3|n <=> 7|s LIKE '%o%'|s NOT LIKE 'E%'|n BETWEEN 0 AND 8|NOT n|! n|- n|~ n|n << 2
n & 3|n ^ 5|n | 8|n IS TRUE|n IS NOT FALSE|n IS UNKNOWN|isnull(n)|s COLLATE utf8mb4_bin = 'ein'|'it''s'|"dq"|x'4d4e'
'a\\nb'|'100%'|date '2024-01-02'|timestamp '2024-01-02 03:04:05'|1e3|.5|n IN (7, 0)
acos(f)|asin(f)|atan(n)|bit_count(n)
cos(n)|degrees(n)|exp(d / 100000000)|pi()|radians(n)|sin(n)|soundex(s)|tan(n)|time(at)
date_add(day, interval -7 day)|date_format(at, '%Y-%m-%d %T')|date_format(at, '%H:%i:%S %I %p')
"""
GROUPED = """
avg(d)|bit_and(n)|bit_or(n)|bit_xor(n)|count(*)|count(DISTINCT s, n)|count(s)|sum(d)|sum(DISTINCT n)|max(s)|min(at)
group_concat(DISTINCT s ORDER BY n DESC SEPARATOR '-')|group_concat(s)
group_concat(concat(s, n) ORDER BY id)|std(n)|stddev(n)|stddev_pop(n)|stddev_samp(n)|variance(n)
var_pop(n)|var_samp(n)
"""


def listed(text: str) -> list[str]:
    """The expressions of a text; a single bar between blanks is an operator."""
    lines = (line.replace(" | ", "\0").split("|") for line in text.strip().splitlines())
    return [one.strip().replace("\0", " | ") for line in lines for one in line]


def compared(place: Place, conn: Any, text: str) -> set[str]:
    """Asks for an expression as it is and as qbcd writes it; which functions it calls."""
    query = f"SELECT {text} AS x FROM v"
    tree = sqlglot.parse_one(query, read="mysql")
    again = tree.sql(dialect="mysql")
    order = " ORDER BY id" if text in listed(SCALARS) else ""
    written, rewritten = (place.run(conn, one.replace("%", "%%") + order, []) for one in (query, again))
    assert repr(written) == repr(rewritten), (query, again)
    try:
        check_written_again(query, "mysql", WRITTEN_AGAIN)
    except NotIncremental as refused:
        raise AssertionError(f"{query} is refused: {refused}") from None
    return {f.name.lower() if isinstance(f, exp.Anonymous) else f.key for f in tree.find_all(exp.Func)}


def test_what_is_written_again_means_the_same(place: Place) -> None:
    place.sql(TABLE)
    with place.connect() as conn:
        seen = {key for text in [*listed(SCALARS), *listed(GROUPED)] for key in compared(place, conn, text)}
    known = WRITTEN_AGAIN | PLAIN
    assert known - seen == set(), "no example"
    assert seen - known == set(), "examples of functions that are refused"


def test_what_may_not_be_written_again_is_known_not_to(place: Place) -> None:
    """Whose other spelling gives something else, or takes other operands, or was not tried."""
    for text in ("log10(d)", "decode(s, 'x')", "monthname(day)", "n + 0x41"):
        with pytest.raises(NotIncremental):
            check_written_again(f"SELECT {text} AS x FROM v", "mysql", WRITTEN_AGAIN)


def test_an_aggregate_of_pairs_is_refused(place: Place) -> None:
    """It would be one of the pairs' texts, of which several are the same."""
    place.sql("CREATE TABLE w (a varchar(2), b varchar(2)); INSERT INTO w VALUES ('x', 'yz'), ('xy', 'z')")
    query = "SELECT group_concat(DISTINCT a, b SEPARATOR ';') AS x FROM w"
    again = sqlglot.parse_one(query, read="mysql").sql(dialect="mysql")
    assert place.sql(query) != place.sql(again)
    with pytest.raises(NotIncremental, match="side by side"):
        check_written_again(query, "mysql", WRITTEN_AGAIN)
