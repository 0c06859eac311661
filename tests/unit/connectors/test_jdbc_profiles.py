"""Profiles of databases with a JDBC driver: their spelling, their SQL, and the page that lists them."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlglot

from qbcd.catalog.jdbc_sources import profile_of_source
from qbcd.config.jdbc_source import JdbcSourceConfig
from qbcd.connectors.jdbc.digests import HashedValue, bucket, digest, fingerprint, problem
from qbcd.connectors.jdbc.profile import Profile
from qbcd.connectors.jdbc.profiles import PROFILES, profile_of
from qbcd.connectors.jdbc.reading import TypedColumn, reading_of
from qbcd.errors import ConfigError
from qbcd.local.dumps import decimal_text
from qbcd.model import Travel
from qbcd.sql.restriction import check_restriction

PAGE = Path(__file__).parents[3] / "docs/reference/databases/jdbc.md"


def row_of(profile: Profile) -> str:
    """Return the line of the page for a profile."""
    driver = f"`{profile.driver.maven}`" if profile.driver.maven else "`driver_jar`, or `maven` with `sha256`"
    cells = [
        f"`{profile.name}`",
        profile.product,
        profile.executed,
        f"`{profile.url.prefix}`",
        ", ".join(f"`{name}`" for name in sorted(profile.url.parameters)) or "none",
        ", ".join(f"`{name}`" for name in sorted(profile.properties)) or "none",
        "Spark's own folder" if profile.bundled else driver,
    ]
    return f"| {' | '.join(cells)} |"


def statements(profile: Profile) -> dict[str, str]:
    """Return a statement for each part of a profile."""
    column = profile.quote('a"`]b')
    select = f"SELECT {column} FROM {profile.quoted_table('s', 't')}"
    null_safe = profile.null_safe.format(a="x", b="y")
    found = {
        "names": select,
        "nothing": f"SELECT 'value' AS {profile.quote('c0')}{profile.from_nothing}",
        "text": f"SELECT {profile.text.replace('{c}', column)} FROM {profile.quote('t')}",
        "null_safe": f"SELECT 1 FROM t WHERE {null_safe}",
        "limit": profile.limit.format(select=select, n=5),
    }
    if profile.digest:
        hashed = profile.digest.replace("{text}", "x")
        found["digest"] = f"SELECT COUNT(*), {profile.total.replace('{digest}', hashed)} FROM t"
    if profile.exact:
        values = [
            HashedValue(kind, "T", f"{kind}(9,2)" if kind == "DECIMAL" else kind, column) for kind in profile.exact
        ]
        found["row digest"] = f"SELECT {digest(profile, values)} FROM {profile.quote('t')}"
        found["bucket"] = f"SELECT {bucket(profile, values[:1], 7, 16)} FROM {profile.quote('t')}"
    if profile.position:
        found["position"] = profile.position
        found["snapshot"] = f"SELECT 1 FROM t{profile.snapshot.format(position=7)}"
    for name, rule in profile.types.items():
        if ": " in rule and not rule.startswith("refused"):
            found[f"type {name}"] = f"SELECT {rule.partition(': ')[2].replace('{c}', column)} FROM t"
    return found


@pytest.mark.parametrize("name", sorted(name for name, one in PROFILES.items() if one.sqlglot))
def test_sql_of_a_profile_parses_in_its_dialect(name: str) -> None:
    profile = PROFILES[name]
    for part, sql in statements(profile).items():
        [tree] = sqlglot.parse(sql, dialect=profile.sqlglot)
        assert tree is not None, part
        assert not list(tree.find_all(sqlglot.exp.Command)), part
    names = sqlglot.parse_one(statements(profile)["names"], dialect=profile.sqlglot)
    assert [column.name for column in names.find_all(sqlglot.exp.Column)] == ['a"`]b']


def test_the_page_has_each_profile_as_it_is() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    missing = [row for row in map(row_of, PROFILES.values()) if row not in lines]
    assert not missing, "\n".join(missing)


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_profile_is_whole(name: str) -> None:
    profile = PROFILES[name]
    assert profile.reference.startswith("https://")
    assert bool(profile.digest) == bool(profile.total)
    assert bool(profile.driver.maven) == bool(profile.driver.sha256) or profile.bundled
    fallback = PROFILES["firebird"] if name == "firebird4" else profile  # a URL does not say the version
    assert profile_of(f"{profile.url.prefix}//x", None) is fallback


def test_an_unknown_url_names_the_profiles() -> None:
    with pytest.raises(ConfigError, match="no profile knows"):
        profile_of("jdbc:monetdb://db/x", None)
    with pytest.raises(ConfigError, match='did you mean "oracle"'):
        profile_of("jdbc:oracle:thin:@//db/x", "orcale")


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [
        ("h2", TypedColumn(-5, "BIGINT", 64, 0, signed=True), Travel("int64")),
        ("h2", TypedColumn(3, "DECIMAL", 38, 10, signed=True), Travel("decimal", 38, 10)),
        ("h2", TypedColumn(3, "DECIMAL", 100, 10, signed=True), Travel("text")),
        ("h2", TypedColumn(3, "DECFLOAT", 34, 0, signed=True), Travel("text")),
        ("h2", TypedColumn(93, "TIMESTAMP", 29, 9, signed=False), Travel("text")),
        ("h2", TypedColumn(93, "TIMESTAMP", 26, 6, signed=False), Travel("timestamp")),
        ("sqlite", TypedColumn(4, "INTEGER", 0, 0, signed=True), Travel("int64")),
        ("oracle", TypedColumn(93, "DATE", 0, 0, signed=False), Travel("timestamp")),
        ("oracle", TypedColumn(2, "NUMBER", 0, -127, signed=True), Travel("text")),
        ("derby", TypedColumn(93, "TIMESTAMP", 29, 9, signed=False), Travel("text")),
        ("duckdb", TypedColumn(93, "TIMESTAMP_S", 29, 0, signed=False), Travel("text")),
        ("duckdb", TypedColumn(-7, "BIT", 0, 0, signed=False), Travel("text")),
        ("h2", TypedColumn(2003, "INTEGER ARRAY", 9, 0, signed=False), Travel("text")),
        ("h2", TypedColumn(1111, "ENUM('an ARRAY')", 9, 0, signed=False), Travel("text")),
    ],
)
def test_values_that_spark_would_change_travel_as_text(name: str, column: TypedColumn, expected: Travel) -> None:
    assert reading_of(PROFILES[name], column).travel == expected


@pytest.mark.parametrize("kind", ["CHARACTER VARYING(9) ARRAY", "ENUM('a') ARRAY[3]", 'ROW("X" INTEGER)'])
@pytest.mark.parametrize("as_text", [False, True])
def test_types_whose_text_is_not_exact_are_refused(kind: str, as_text: bool) -> None:
    assert reading_of(PROFILES["h2"], TypedColumn(2003, kind, 9, 0, signed=False), as_text=as_text).spark == ""


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_text_is_read_as_it_is_also_if_a_text_is_wanted(name: str) -> None:
    """The function for the text of other types may cut it, as Derby's does."""
    long = TypedColumn(12, "VARCHAR", 5_000, 0, signed=False)
    usual = reading_of(PROFILES[name], long)
    assert usual.expression in ("{c}", reading_of(PROFILES[name], long, as_text=True).expression) or name == "sqlite"
    assert usual.expression != "{c}" or reading_of(PROFILES[name], long, as_text=True) == usual


ROWS = (
    ("a", "b", 1),
    ("a", None, 1),
    (None, "a", 1),
    ("", "a", 1),
    ("a", "", 1),
    ("a1:b", "", 1),
    ("", "a1:b", 1),
    ("-", "a", 1),
    (None, None, None),
    ("1:a", "b", 1),
    ("ß", "日本", -1),
    ("a\x00b", "b", 1),
)


def test_different_rows_have_different_digests() -> None:
    profile = PROFILES["duckdb"]
    values = [HashedValue("x", "VARCHAR", "STRING", "x"), HashedValue("y", "VARCHAR", "STRING", "y")]
    values.append(HashedValue("n", "INTEGER", "INT", "n"))
    connection = duckdb.connect()
    connection.execute("CREATE TABLE t (x VARCHAR, y VARCHAR, n INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, ?, ?)", ROWS)
    found = connection.execute(f"SELECT {digest(profile, values)}, {bucket(profile, values, 5, 4)} FROM t").fetchall()
    assert len({one for one, _ in found}) == len(ROWS)
    assert {one for _, one in found} <= {5, 6, 7, 8}
    assert fingerprint(profile, values) != fingerprint(profile, values[:2])


@pytest.mark.parametrize(
    ("name", "type_name", "spark", "wrong"),
    [
        ("h2", "CHARACTER LARGE OBJECT", "STRING", True),
        ("h2", "CHARACTER VARYING", "STRING", False),
        ("oracle", "BINARY_DOUBLE", "DOUBLE", True),
        ("oracle", "NUMBER", "DECIMAL(10,2)", False),
        ("sqlite", "INTEGER", "BIGINT", True),
    ],
)
def test_a_type_without_an_exact_text_is_not_hashed(name: str, type_name: str, spark: str, *, wrong: bool) -> None:
    assert bool(problem(PROFILES[name], [HashedValue("c", type_name, spark, "c")])) is wrong


def own_profile(prefix: str) -> JdbcSourceConfig:
    written = {"product": "MonetDB", "driver": "org.monetdb.jdbc.MonetDriver", "prefix": prefix}
    return JdbcSourceConfig.model_validate({"url": f"{prefix}//db/x", "profile": written})


def test_a_profile_of_the_users_own_reads_numbers_in_the_widest_type() -> None:
    profile = profile_of_source(own_profile("jdbc:monetdb:"))
    read = {
        code: reading_of(profile, TypedColumn(code, "any", 10, 0, signed=True)).travel.kind
        for code in (-6, 5, 4, -5, 7, 8)
    }
    assert read == {-6: "int64", 5: "int64", 4: "int64", -5: "int64", 7: "float64", 8: "float64"}


@pytest.mark.parametrize("prefix", ["jdbc:sqlite:", "jdbc:oracle:thin:"])
def test_a_profile_of_the_users_own_is_refused_where_qbcd_has_one(prefix: str) -> None:
    with pytest.raises(ConfigError, match=r"has a profile that knows its types \(write dialect: (sqlite|oracle)"):
        profile_of_source(own_profile(prefix))


@pytest.mark.parametrize(
    ("value", "size", "text"),
    [("0.5", (1, 1), "0.5"), ("-0.05", (2, 2), "-0.05"), ("0", (2, 2), "0.00"), ("-0.5", (3, 2), "-0.50")],
)
def test_a_decimal_has_a_digit_before_the_point(value: str, size: tuple[int, int], text: str) -> None:
    with duckdb.connect() as connection:
        sql = decimal_text(f"CAST({value} AS DECIMAL({size[0]}, {size[1]}))", *size)
        assert connection.execute(f"SELECT {sql}").fetchall() == [(text,)]


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda one: one.name)
def test_a_restriction_cannot_leave_its_brackets(profile: Profile) -> None:
    check_restriction("A = 'x;--' AND (B > 1 OR B IS NULL)", profile.sqlglot)
    for text, said in (
        ("A = 1) OR (B = 2", "unbalanced brackets"),
        ("A = 1; DELETE FROM T", "semicolon"),
        ("A = 1 -- x", "comment"),
        ("A = 1 /* x */", "comment"),
    ):
        with pytest.raises(ConfigError, match=said):
            check_restriction(text, profile.sqlglot)
