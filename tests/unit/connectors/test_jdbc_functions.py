"""Functions in the SQL of each profile: each is one that the vendor's reference documents.

The pages are those of `Profile.reference`. A function that is added to a profile is looked up there and added here; on
the databases that the tests run, it is executed too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from qbcd.connectors.jdbc.profile import Profile
from qbcd.connectors.jdbc.profiles import PROFILES

# by profile: its functions; words of SQL's own grammar are in _GRAMMAR
DOCUMENTED = {
    "h2": "CHAR_LENGTH COALESCE HASH MOD RAWTOHEX SUBSTRING SUM",
    "hsqldb": "",
    "derby": "RTRIM",
    "sqlite": "abs printf typeof",
    "duckdb": "CHAR_LENGTH COALESCE MOD SUM hex md5_number_upper",
    "firebird": "",
    "firebird4": "CHAR_LENGTH COALESCE CRYPT_HASH HEX_ENCODE LEFT MOD SUM",
    "oracle": "DECODE LENGTH MOD RAWTOHEX ROWIDTOCHAR STANDARD_HASH SUBSTR SUM TO_CHAR TO_NUMBER",
    "sqlserver": "CONCAT CONVERT DATALENGTH HASHBYTES SUBSTRING SUM",
    "db2": "VARCHAR",
    "hana": "TO_NVARCHAR",
    "snowflake": "COALESCE EQUAL_NULL HEX_ENCODE LENGTH MD5_NUMBER_LOWER64 MOD SUM TO_VARCHAR",
    "bigquery": "CHAR_LENGTH COALESCE CONCAT FARM_FINGERPRINT MOD SUM TO_HEX",
    "redshift": "",
    "databricks": "COALESCE MOD SUM char_length concat hex map to_json xxhash64",
    "teradata": "",
    "clickhouse": "coalesce concat length reinterpretAsInt64 sipHash64 sum toInt128 toString",
    "trino": "COALESCE MOD SUM from_big_endian_64 length to_hex to_utf8 xxhash64",
}
# by profile: the vendor's page of its hash function; H2, DuckDB and Firebird execute theirs
HASH_PAGES = {
    "h2": "https://h2database.com/html/functions.html#hash",
    "duckdb": "https://duckdb.org/docs/stable/sql/functions/text",
    "firebird4": "https://firebirdsql.org/file/documentation/html/en/refdocs/fblangref40/firebird-40-language-reference.html",
    "oracle": "https://docs.oracle.com/en/database/oracle/oracle-database/19/sqlrf/STANDARD_HASH.html",
    "sqlserver": "https://learn.microsoft.com/sql/t-sql/functions/hashbytes-transact-sql",
    "snowflake": "https://docs.snowflake.com/sql-reference/functions/md5_number_lower64",
    "bigquery": "https://docs.cloud.google.com/bigquery/docs/reference/standard-sql/hash_functions",
    "databricks": "https://docs.databricks.com/aws/sql/language-manual/functions/xxhash64",
    "clickhouse": "https://clickhouse.com/docs/sql-reference/functions/hash-functions#siphash64",
    "trino": "https://trino.io/docs/current/functions/binary.html",
}
_GRAMMAR = frozenset(["CAST", "EXISTS", "FROM", "IN", "OR", "TOP", "VALUES", "nothing"])
_TYPES = frozenset(["CHAR", "DECIMAL", "NUMERIC", "NVARCHAR", "TIMESTAMP", "VARBINARY", "VARCHAR"])
_DIGESTING = ("digest", "total", "part", "bucket")


def texts(profile: Profile) -> Iterator[str]:
    """Yield the SQL of a profile; that of digests only if the database has a hash function."""
    yield from (profile.from_nothing, profile.text, profile.null_safe, profile.limit, profile.position)
    yield from profile.session
    for rule in profile.types.values():
        kind, _, rest = rule.partition(": ")
        yield rest if kind != "refused" else ""
    if profile.digest:
        yield from (getattr(profile, name) for name in _DIGESTING)
        yield from profile.exact.values()


def functions(profile: Profile) -> set[str]:
    """Return the names that a profile calls."""
    plain = [re.sub(r"'[^']*'", "''", text) for text in texts(profile)]
    called = {name for text in plain for name in re.findall(r"\b([A-Za-z_]\w*)\s?\(", text)}
    types = set() if profile.name == "db2" else _TYPES  # Db2 casts by functions of the types' names
    return called - _GRAMMAR - types


@pytest.mark.parametrize("name", sorted(PROFILES))
def test_a_profile_calls_documented_functions_alone(name: str) -> None:
    assert functions(PROFILES[name]) == set(DOCUMENTED[name].split())


def test_each_hash_function_has_the_page_that_documents_it() -> None:
    assert {name for name, profile in PROFILES.items() if profile.digest} == set(HASH_PAGES)


def test_texts_of_sql_server_are_not_cut_at_8000_bytes() -> None:
    """CONCAT and + cut their result, unless one part is of type MAX."""
    assert "CONCAT(CONVERT(NVARCHAR(MAX)" in PROFILES["sqlserver"].part
