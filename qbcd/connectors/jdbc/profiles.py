"""The profiles of databases that qbcd reads through JDBC alone.

A profile that says `executed: never` was written by the vendor's reference; no test has run it on the database.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from qbcd.config.document import did_you_mean
from qbcd.connectors.base import JdbcDriver
from qbcd.connectors.jdbc.profile import Profile, UrlForm
from qbcd.errors import ConfigError

_PATH = r"(?!:)[\w./~@+ -]+"
_HOST = r"//[\w.-]+(?::\d{1,5})?"


def _driver(name: str, artifact: str, maven: str = "", sha256: str = "") -> JdbcDriver:
    """Return a driver; coordinates are written only where the checksum of the jar is known."""
    return JdbcDriver(name, maven, (f"{artifact}-*.jar", f"{artifact}.jar"), "", sha256=sha256)


def _names(text: str) -> frozenset[str]:
    return frozenset(text.lower().split())


def _exact(text: str, kinds: str = "BOOLEAN SMALLINT INT BIGINT DECIMAL", **others: str) -> dict[str, str]:
    """Return exact texts: `text` of each of `kinds`, a text of itself, and those of `others`."""
    return {**dict.fromkeys(kinds.split(), text), "STRING": "{v}", **others}


_NUMBERS = "BOOLEAN SMALLINT INT BIGINT DECIMAL FLOAT DOUBLE DATE TIMESTAMP_NTZ"
_INTEGERS = "TINYINT SMALLINT INTEGER BIGINT UTINYINT USMALLINT UINTEGER UBIGINT"
_LOBS = frozenset(("CHARACTER LARGE OBJECT", "BINARY LARGE OBJECT", "CLOB", "NCLOB", "BLOB"))

_FIREBIRD = Profile(
    name="firebird",
    product="Firebird",
    executed="campaign",
    driver=_driver(
        "org.firebirdsql.jdbc.FBDriver",
        "jaybird",
        "org.firebirdsql.jdbc:jaybird:6.0.5",
        "5aabfa8eac4136970c21edc5539b25227ee921a8d8251c8b4e6024f6adda0af4",
    ),
    url=UrlForm("jdbc:firebirdsql:", rf"{_HOST}/[\w./-]+", "?", "&", _names("socketTimeout role")),
    reference="https://firebirdsql.org/file/documentation/html/en/refdocs/fblangref30/firebird-30-language-reference.html",
    properties=_names("socketTimeout role"),
    fixed_properties={"encoding": "UTF8"},
    from_nothing=" FROM RDB$DATABASE",
    text="CAST({c} AS VARCHAR(8000))",
    limit="{select} ROWS {n}",
    # its decimals hold all values of the integers in which they are stored, and not only their digits
    types={
        **dict.fromkeys(("NUMERIC", "DECIMAL"), "DECIMAL(38,{s})"),
        "FLOAT": "FLOAT",
        "INT128": "text",
        "DECFLOAT": "text",
    },
)

_BUILT = (
    Profile(
        name="h2",
        product="H2",
        executed="CI",
        driver=_driver(
            "org.h2.Driver",
            "h2",
            "com.h2database:h2:2.4.240",
            "29b70e427cc1c40cdc376283adbb0cc62853073797bb5fe5761f81fe73d57ce0",
        ),
        url=UrlForm(
            "jdbc:h2:",
            rf"(?:file:)?{_PATH}"
            r"|mem:\w+|(?:tcp|ssl)://[\w.-]+(?::\d{1,5})?/(?:mem:)?[\w./~-]+",
            parameters=_names("ACCESS_MODE_DATA DB_CLOSE_DELAY LOCK_TIMEOUT SCHEMA"),
            fixed={"IFEXISTS": "TRUE"},
        ),
        reference="https://h2database.com/html/functions.html",
        # [a, b] is an array of one text or of two
        inexact=r"ROW\b.*|(?!BIGINT|INTEGER|SMALLINT|TINYINT|NUMERIC|DEC|REAL|DOUBLE|BOOLEAN|DATE|TIME|INTERVAL|UUID)"
        r"(?!ENUM\([^)]*\)$).* ARRAY\b.*",
        digest="CAST(SUBSTRING(HASH('SHA-256', {text}) FROM 1 FOR 8) AS BIGINT)",
        total="SUM(CAST({digest} AS NUMERIC(38)))",
        exact=_exact("CAST({v} AS VARCHAR)", _NUMBERS, BINARY="RAWTOHEX({v})"),
        unhashed=_LOBS,
        shared={
            **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT"), "integer: CAST({c} AS VARCHAR)"),
            **dict.fromkeys(("NUMERIC", "DECIMAL"), "decimal {s}: CAST({c} AS VARCHAR)"),
            "BOOLEAN": "boolean: LOWER(CAST({c} AS VARCHAR))",
            "CHARACTER VARYING": "text: {c}",
            "DATE": "date: CAST({c} AS VARCHAR)",
            # nanoseconds stay, so that such a value differs from each one without
            "TIMESTAMP": "timestamp: CASE WHEN {c} BETWEEN TIMESTAMP '0001-01-01 00:00:00' "
            "AND TIMESTAMP '9999-12-31 23:59:59.999999999' "
            "THEN REGEXP_REPLACE(TO_CHAR({c}, 'YYYY-MM-DD\"T\"HH24:MI:SS.FF9'), '000$', '') "
            "ELSE CAST({c} AS VARCHAR) END",
            "UUID": "uuid: CAST({c} AS VARCHAR)",
            "BINARY VARYING": "binary: UPPER(RAWTOHEX({c}))",
        },
        shared_digest="BITXOR(CAST(SUBSTRING(HASH('MD5', {row}) FROM 1 FOR 8) AS BIGINT), "
        "CAST(-9223372036854775808 AS BIGINT))",
        shared_part="COALESCE(CAST(OCTET_LENGTH({t}) AS VARCHAR) || ':' || {t}, ':')",
        clock="CAST(LOCALTIMESTAMP AS VARCHAR)",
        session=("SET TIME ZONE 'UTC'",),
        types={
            "UUID": "text",
            "JSON": "text",
            "ENUM": "text",
            "DECFLOAT": "text",  # the driver says that it has no digits after the point
            "TIMESTAMP WITH TIME ZONE": "text",
        },
    ),
    Profile(
        name="hsqldb",
        product="HSQLDB",
        executed="CI",
        driver=_driver(
            "org.hsqldb.jdbc.JDBCDriver",
            "hsqldb",
            "org.hsqldb:hsqldb:2.7.4",
            "5fab2bb4384ac06b762638c8fa2740c944b8d080e4796c0c6c2af8b90dd4e5ad",
        ),
        url=UrlForm(
            "jdbc:hsqldb:",
            rf"file:{_PATH}|mem:\w+|hsqls?:{_HOST}(?:/\w+)?",
            parameters=_names("readonly files_readonly"),
            fixed={"ifexists": "true"},
        ),
        reference="https://hsqldb.org/doc/2.0/guide/builtinfunctions-chapt.html",
        from_nothing=" FROM (VALUES (0)) AS nothing(n)",
        text="CAST({c} AS VARCHAR(32000))",
        clock="CAST(LOCALTIMESTAMP AS VARCHAR(32))",
        session=("SET TIME ZONE INTERVAL '0:00' HOUR TO MINUTE",),
    ),
    Profile(
        name="derby",
        product="Apache Derby",
        executed="CI",
        driver=_driver("org.apache.derby.iapi.jdbc.AutoloadedDriver", "derby"),
        url=UrlForm("jdbc:derby:", rf"(?:directory:|memory:)?{_PATH}"),
        reference="https://db.apache.org/derby/docs/10.16/ref/",
        bundled=True,
        from_nothing=" FROM SYSIBM.SYSDUMMY1",
        # no number can be a VARCHAR; what is longer than a CHAR would be cut without an error, but no text is read so
        text="RTRIM(CAST({c} AS CHAR(254)))",
        null_safe="({a} = {b} OR ({a} IS NULL AND {b} IS NULL))",
        types={"TIMESTAMP": "text", "TIME": "STRING: CAST({c} AS CHAR(8))", "XML": "refused: XML has no JDBC type"},
        other="refused: it has no text",
    ),
    Profile(
        name="sqlite",
        product="SQLite",
        executed="CI",
        driver=_driver(
            "org.sqlite.JDBC",
            "sqlite-jdbc",
            "org.xerial:sqlite-jdbc:3.54.1.0",
            "f8dce420a6016278497f4f0560f65602b9db858de141b541cf91a4644ebe4639",
        ),
        url=UrlForm("jdbc:sqlite:", _PATH, "?", "&", _names("busy_timeout"), {"open_mode": "1"}),
        reference="https://www.sqlite.org/lang_corefunc.html",
        sqlglot="sqlite",
        text="CASE typeof({c}) WHEN 'real' THEN printf('%!.17g', {c}) WHEN 'blob' THEN abs(-9223372036854775808) "
        "ELSE CAST({c} AS TEXT) END",
        null_safe="{a} IS {b}",
        limit="{select} LIMIT {n}",
        # a column holds values of any class; one of another class than its type raises `integer overflow`
        types={
            **dict.fromkeys(
                ("INTEGER", "INT", "BIGINT", "SMALLINT", "TINYINT", "MEDIUMINT"),
                "BIGINT: CASE WHEN typeof({c}) IN ('integer', 'null') THEN {c} ELSE abs(-9223372036854775808) END",
            ),
            **dict.fromkeys(
                ("REAL", "DOUBLE", "FLOAT"),
                "DOUBLE: CASE WHEN typeof({c}) IN ('real', 'null') THEN {c} ELSE abs(-9223372036854775808) END",
            ),
            **dict.fromkeys(
                ("TEXT", "VARCHAR", "CHAR", "CLOB"),
                "STRING: CASE WHEN typeof({c}) IN ('text', 'null') THEN {c} ELSE abs(-9223372036854775808) END",
            ),
            "BLOB": "BINARY: CASE WHEN typeof({c}) IN ('blob', 'null') THEN {c} ELSE abs(-9223372036854775808) END",
            **dict.fromkeys(("NUMERIC", "DECIMAL", "BOOLEAN", "DATE", "DATETIME", "TIMESTAMP", "TIME"), "text"),
        },
        misfit="integer overflow",
        notes=("a value of another class than its column, such as a text in an INTEGER, is refused",),
    ),
    Profile(
        name="duckdb",
        product="DuckDB",
        executed="CI",
        driver=_driver(
            "org.duckdb.DuckDBDriver",
            "duckdb_jdbc",
            "org.duckdb:duckdb_jdbc:2.0.0.1",
            "6cb8b0e0fc51b2e45aead2d2c1e1fd09dd10267db2966e69aaab0de67319f826",
        ),
        url=UrlForm("jdbc:duckdb:", _PATH, parameters=_names("threads memory_limit")),
        reference="https://duckdb.org/docs/stable/sql/functions/overview",
        fixed_properties={"duckdb.read_only": "true"},
        sqlglot="duckdb",
        limit="{select} LIMIT {n}",
        digest="CAST(CAST(md5_number_upper({text}) AS HUGEINT) - 9223372036854775808 AS BIGINT)",
        total="SUM(CAST({digest} AS HUGEINT))",
        exact=_exact("CAST({v} AS VARCHAR)", _NUMBERS),
        shared={
            **dict.fromkeys(_INTEGERS.split(), "integer: CAST({c} AS VARCHAR)"),
            "BOOLEAN": "boolean: CAST({c} AS VARCHAR)",
            "DECIMAL": "decimal {s}: CAST({c} AS VARCHAR)",
            "VARCHAR": "text: {c}",
            "DATE": "date: CAST({c} AS VARCHAR)",
            "TIMESTAMP": "timestamp: CASE WHEN {c} BETWEEN TIMESTAMP '0001-01-01 00:00:00' "
            "AND TIMESTAMP '9999-12-31 23:59:59.999999' THEN strftime({c}, '%Y-%m-%dT%H:%M:%S.%f') "
            "ELSE CAST({c} AS VARCHAR) END",
            "UUID": "uuid: CAST({c} AS VARCHAR)",
            "BLOB": "binary: hex({c})",
        },
        shared_digest="CAST(CAST(CAST('0x' || left(md5({row}), 16) AS UBIGINT) AS HUGEINT) - 9223372036854775808 "
        "AS BIGINT)",
        shared_part="COALESCE(CAST(strlen({t}) AS VARCHAR) || ':' || {t}, ':')",
        clock="CAST(CAST(now() AS TIMESTAMP) AS VARCHAR)",
        session=("SET TimeZone = 'UTC'",),
        types={
            "DATE": "text",  # 'infinity'
            **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "text"),
            "BIT": "text",  # the driver says that it is one bit
            "HUGEINT": "text",
            "FLOAT": "FLOAT",
            "UBIGINT": "DECIMAL(20,0): CAST({c} AS DECIMAL(20,0))",
            "UINTEGER": "BIGINT: CAST({c} AS BIGINT)",
            "USMALLINT": "INT: CAST({c} AS INTEGER)",
            "UTINYINT": "SMALLINT: CAST({c} AS SMALLINT)",
            "BLOB": "STRING: hex({c})",
        },
    ),
    # Firebird 3 has no sound hash function, and a URL does not say the version
    replace(
        _FIREBIRD,
        name="firebird4",
        product="Firebird 4",
        reference="https://firebirdsql.org/file/documentation/html/en/refdocs/fblangref40/firebird-40-language-reference.html",
        digest="CAST('0x' || LEFT(HEX_ENCODE(CRYPT_HASH({text} USING SHA256)), 16) AS BIGINT)",
        total="SUM(CAST({digest} AS NUMERIC(38)))",
        exact=_exact(
            "CAST({v} AS VARCHAR(50))",
            "BOOLEAN SMALLINT INT BIGINT DECIMAL DATE TIMESTAMP_NTZ",
            BINARY="HEX_ENCODE({v})",
        ),
        unhashed=frozenset(("BLOB SUB_TYPE TEXT", "BLOB SUB_TYPE BINARY", "BLOB SUB_TYPE 0", "BLOB SUB_TYPE 1")),
        notes=("a row of more than 64 KB of text is refused with `checksums: source`",),
    ),
    _FIREBIRD,
    Profile(
        name="oracle",
        product="Oracle Database",
        executed="never",
        driver=_driver("oracle.jdbc.OracleDriver", "ojdbc11"),
        url=UrlForm("jdbc:oracle:thin:@", rf"(?:tcps?:)?{_HOST}/[\w.$#-]+|[\w.-]+:\d{{1,5}}:\w+", "?", "&"),
        reference="https://docs.oracle.com/en/database/oracle/oracle-database/23/sqlrf/Functions.html",
        properties=_names("oracle.net.ssl_server_dn_match oracle.net.CONNECT_TIMEOUT oracle.jdbc.ReadTimeout"),
        sqlglot="oracle",
        from_nothing=" FROM DUAL",
        text="TO_CHAR({c})",
        null_safe="DECODE({a}, {b}, 1, 0) = 1",
        session=(
            "BEGIN EXECUTE IMMEDIATE 'ALTER SESSION SET TIME_ZONE = ''UTC'' NLS_NUMERIC_CHARACTERS = ''.,'' "
            "NLS_DATE_FORMAT = ''SYYYY-MM-DD\"T\"HH24:MI:SS'' "
            "NLS_TIMESTAMP_FORMAT = ''YYYY-MM-DD\"T\"HH24:MI:SS.FF9'' "
            "NLS_TIMESTAMP_TZ_FORMAT = ''YYYY-MM-DD\"T\"HH24:MI:SS.FF9TZR'''; END;",
        ),
        digest="TO_NUMBER(SUBSTR(RAWTOHEX(STANDARD_HASH({text}, 'SHA256')), 1, 16), 'XXXXXXXXXXXXXXXX') "
        "- 9223372036854775808",
        total="SUM({digest})",
        exact=_exact(
            "TO_CHAR({v})",
            "SMALLINT INT BIGINT DECIMAL",
            BINARY="RAWTOHEX({v})",
            TIMESTAMP_NTZ="TO_CHAR(CAST({v} AS TIMESTAMP(6)), 'SYYYY-MM-DD HH24:MI:SS.FF6')",
        ),
        unhashed=_LOBS,
        part="CASE WHEN {t} IS NULL THEN '-' ELSE TO_CHAR(LENGTH({t})) || ':' || {t} END",
        clock="TO_CHAR(SYS_EXTRACT_UTC(SYSTIMESTAMP), 'YYYY-MM-DD HH24:MI:SS.FF6')",
        snapshot=" AS OF SCN {position}",
        position="SELECT DBMS_FLASHBACK.GET_SYSTEM_CHANGE_NUMBER AS c0 FROM DUAL",
        types={
            "DATE": "TIMESTAMP_NTZ",
            "NUMBER": "text",
            "TIMESTAMP WITH TIME ZONE": "text",
            "TIMESTAMP WITH LOCAL TIME ZONE": "text",
            "ROWID": "STRING: ROWIDTOCHAR({c})",
            "LONG": "refused: TO_CHAR does not read LONG",
            "LONG RAW": "refused: Spark does not read LONG RAW",
            "BFILE": "refused: its content is outside of the database",
        },
        other="refused: it has no text",
        notes=("the empty text is NULL", "DATE has a time of day"),
    ),
    Profile(
        name="sqlserver",
        product="SQL Server",
        executed="never",
        driver=_driver("com.microsoft.sqlserver.jdbc.SQLServerDriver", "mssql-jdbc"),
        url=UrlForm(
            "jdbc:sqlserver:",
            _HOST,
            parameters=_names(
                "databaseName database encrypt trustServerCertificate hostNameInCertificate applicationName "
                "applicationIntent loginTimeout socketTimeout multiSubnetFailover"
            ),
        ),
        reference="https://learn.microsoft.com/sql/t-sql/functions/functions",
        properties=_names("encrypt trustServerCertificate hostNameInCertificate loginTimeout socketTimeout"),
        sqlglot="tsql",
        quotes=("[", "]"),
        text="CONVERT(NVARCHAR(MAX), {c}, 126)",
        null_safe="EXISTS (SELECT {a} INTERSECT SELECT {b})",
        limit="SELECT TOP ({n}) * FROM ({select}) AS q",
        digest="CONVERT(BIGINT, SUBSTRING(HASHBYTES('SHA2_256', CONVERT(VARBINARY(MAX), {text})), 1, 8))",
        total="SUM(CONVERT(DECIMAL(38, 0), {digest}))",
        exact=_exact(
            "CONVERT(VARCHAR(50), {v})",
            FLOAT="CONVERT(VARCHAR(50), {v}, 3)",
            DOUBLE="CONVERT(VARCHAR(50), {v}, 3)",
            BINARY="CONVERT(VARCHAR(MAX), {v}, 2)",
            DATE="CONVERT(VARCHAR(10), {v}, 23)",
            TIMESTAMP_NTZ="CONVERT(VARCHAR(33), {v}, 126)",
        ),
        unhashed=frozenset(("TEXT", "NTEXT", "IMAGE", "XML")),
        # of type MAX: both CONCAT and + cut shorter types at 8,000 bytes without an error
        part="CASE WHEN {t} IS NULL THEN N'-' ELSE CONCAT(CONVERT(NVARCHAR(MAX), DATALENGTH({t})), ':', {t}) END",
        plus=" + ",
        bucket="({d} % {n} + {n}) % {n}",
        clock="CONVERT(VARCHAR(27), SYSUTCDATETIME(), 121)",
        moment="CAST('{t}' AS DATETIME2(6))",
        types={
            "DATETIME2": "text",
            "DATETIMEOFFSET": "text",
            "UNIQUEIDENTIFIER": "STRING: CONVERT(CHAR(36), {c})",
            "TIMESTAMP": "BINARY",
            "MONEY": "DECIMAL(19,4)",
            "SMALLMONEY": "DECIMAL(10,4)",
            "SQL_VARIANT": "refused: its values have types of their own",
        },
    ),
    Profile(
        name="db2",
        product="Db2",
        executed="never",
        driver=_driver("com.ibm.db2.jcc.DB2Driver", "jcc"),
        url=UrlForm(
            "jdbc:db2:",
            rf"{_HOST}/\w+",
            ":",
            ";",
            _names("sslConnection currentSchema loginTimeout blockingReadConnectionTimeout"),
        ),
        reference="https://www.ibm.com/docs/en/db2/12.1.x?topic=functions-scalar",
        properties=_names("sslConnection loginTimeout"),
        from_nothing=" FROM SYSIBM.SYSDUMMY1",
        text="VARCHAR({c})",
        types={"TIMESTAMP": "text", "DECFLOAT": "text", "XML": "refused: XML has no text"},
    ),
    Profile(
        name="hana",
        product="SAP HANA",
        executed="never",
        driver=_driver("com.sap.db.jdbc.Driver", "ngdbc"),
        url=UrlForm(
            "jdbc:sap:",
            rf"{_HOST}/?",
            "?",
            "&",
            _names("databaseName currentschema encrypt validateCertificate communicationTimeout"),
        ),
        reference="https://help.sap.com/docs/SAP_HANA_PLATFORM/4fe29514fd584807ac9f2a04f6754767/",
        properties=_names("encrypt validateCertificate communicationTimeout"),
        from_nothing=" FROM DUMMY",
        text="TO_NVARCHAR({c})",
        null_safe="({a} = {b} OR ({a} IS NULL AND {b} IS NULL))",
        limit="{select} LIMIT {n}",
        types={"TIMESTAMP": "text", "SECONDDATE": "TIMESTAMP_NTZ", "SMALLDECIMAL": "text", "DECIMAL": "text"},
    ),
    Profile(
        name="snowflake",
        product="Snowflake",
        executed="never",
        driver=_driver("net.snowflake.client.api.driver.SnowflakeDriver", "snowflake-jdbc"),
        url=UrlForm(
            "jdbc:snowflake:",
            r"//[\w.-]+\.snowflakecomputing\.(?:com|cn)(?::443)?/?",
            "?",
            "&",
            _names("warehouse db schema role loginTimeout networkTimeout"),
        ),
        reference="https://docs.snowflake.com/en/sql-reference/functions-all",
        properties=_names("warehouse db schema role loginTimeout networkTimeout"),
        sqlglot="snowflake",
        text="TO_VARCHAR({c})",
        null_safe="EQUAL_NULL({a}, {b})",
        limit="{select} LIMIT {n}",
        digest="MD5_NUMBER_LOWER64({text}) - 9223372036854775808",
        total="SUM({digest})",
        exact=_exact("TO_VARCHAR({v})", BINARY="HEX_ENCODE({v})", DATE="TO_VARCHAR({v}, 'YYYY-MM-DD')"),
        part="COALESCE(TO_VARCHAR(LENGTH({t})) || ':' || {t}, '-')",
        session=(
            "ALTER SESSION SET TIMEZONE = 'UTC', TIMESTAMP_OUTPUT_FORMAT = 'YYYY-MM-DD\"T\"HH24:MI:SS.FF9TZHTZM'",
        ),
        types=dict.fromkeys(
            ("TIMESTAMPNTZ", "TIMESTAMPLTZ", "TIMESTAMPTZ", "VARIANT", "OBJECT", "ARRAY", "GEOGRAPHY"), "text"
        ),
    ),
    Profile(
        name="bigquery",
        product="BigQuery",
        executed="never",
        driver=_driver("com.simba.googlebigquery.jdbc.Driver", "GoogleBigQueryJDBC42"),
        url=UrlForm(
            "jdbc:bigquery:",
            r"//https://www\.googleapis\.com/bigquery/v2(?::443)?",
            parameters=_names(
                "ProjectId OAuthType OAuthServiceAcctEmail OAuthPvtKeyPath DefaultDataset Location Timeout"
            ),
        ),
        reference="https://cloud.google.com/bigquery/docs/reference/standard-sql/functions-all",
        sqlglot="bigquery",
        quotes=("`", "`"),
        text="CAST({c} AS STRING)",
        limit="{select} LIMIT {n}",
        digest="FARM_FINGERPRINT({text})",
        total="SUM(CAST({digest} AS NUMERIC))",
        exact=_exact("CAST({v} AS STRING)", "BOOLEAN SMALLINT INT BIGINT DATE", BINARY="TO_HEX({v})"),
        part="COALESCE(CONCAT(CAST(CHAR_LENGTH({t}) AS STRING), ':', {t}), '-')",
        types=dict.fromkeys(("NUMERIC", "BIGNUMERIC", "TIMESTAMP", "DATETIME", "JSON", "GEOGRAPHY"), "text"),
        notes=("the driver is not on Maven: write `driver_jar`",),
    ),
    Profile(
        name="redshift",
        product="Amazon Redshift",
        executed="never",
        driver=_driver("com.amazon.redshift.Driver", "redshift-jdbc42"),
        url=UrlForm(
            "jdbc:redshift:", rf"{_HOST}/\w+", "?", "&", _names("ssl sslmode tcpKeepAlive ApplicationName loginTimeout")
        ),
        reference="https://docs.aws.amazon.com/redshift/latest/dg/c_SQL_functions.html",
        properties=_names("ssl sslmode tcpKeepAlive loginTimeout"),
        sqlglot="redshift",
        null_safe="({a} = {b} OR ({a} IS NULL AND {b} IS NULL))",
        limit="{select} LIMIT {n}",
        session=("SET TIMEZONE TO 'UTC'",),
        types={"TIMESTAMPTZ": "text", "SUPER": "refused: JSON_SERIALIZE gives a text: write a query or a view"},
    ),
    Profile(
        name="databricks",
        product="Databricks",
        executed="never",
        driver=_driver("com.databricks.client.jdbc.Driver", "databricks-jdbc"),
        url=UrlForm(
            "jdbc:databricks:",
            rf"{_HOST}(?:/\w*)?",
            parameters=_names("httpPath transportMode ssl AuthMech ConnCatalog ConnSchema"),
        ),
        reference="https://docs.databricks.com/en/sql/language-manual/sql-ref-functions-builtin.html",
        sqlglot="databricks",
        quotes=("`", "`"),
        text="CAST({c} AS STRING)",
        null_safe="{a} <=> {b}",
        limit="{select} LIMIT {n}",
        digest="xxhash64({text})",
        total="SUM(CAST({digest} AS DECIMAL(38, 0)))",
        exact=_exact(
            "CAST({v} AS STRING)", "BOOLEAN SMALLINT INT BIGINT DECIMAL DATE TIMESTAMP_NTZ", BINARY="hex({v})"
        ),
        part="COALESCE(concat(CAST(char_length({t}) AS STRING), ':', {t}), '-')",
        session=("SET TIME ZONE 'UTC'",),
        types={
            **dict.fromkeys(("TIMESTAMP", "VARIANT"), "text"),
            # the text [a, b] is an array of one text or of two
            **dict.fromkeys(("ARRAY", "MAP", "STRUCT"), "STRING: to_json({c}, map('ignoreNullFields', 'false'))"),
        },
    ),
    Profile(
        name="teradata",
        product="Teradata",
        executed="never",
        driver=_driver("com.teradata.jdbc.TeraDriver", "terajdbc"),
        url=UrlForm("jdbc:teradata:", r"//[\w.-]+", "/", ",", _names("DATABASE CHARSET TMODE DBS_PORT LOGMECH")),
        reference="https://docs.teradata.com/r/Enterprise_IntelliFlex_VMware/SQL-Functions-Expressions-and-Predicates",
        sqlglot="teradata",
        null_safe="({a} = {b} OR ({a} IS NULL AND {b} IS NULL))",
        text="CAST({c} AS VARCHAR(64000))",
        limit="SELECT TOP {n} * FROM ({select}) AS q",
        session=("SET TIME ZONE 'GMT'",),
        types={"TIMESTAMP WITH TIME ZONE": "text"},
        other="refused: it has no text",
    ),
    Profile(
        name="clickhouse",
        product="ClickHouse",
        executed="never",
        driver=_driver("com.clickhouse.jdbc.ClickHouseDriver", "clickhouse-jdbc"),
        url=UrlForm("jdbc:clickhouse:", rf"{_HOST}(?:/\w+)?", "?", "&", _names("ssl sslmode socket_timeout")),
        reference="https://clickhouse.com/docs/sql-reference/functions",
        properties=_names("ssl sslmode socket_timeout"),
        sqlglot="clickhouse",
        text="toString({c})",
        limit="{select} LIMIT {n}",
        digest="reinterpretAsInt64(sipHash64({text}))",
        total="sum(toInt128({digest}))",
        exact=_exact("toString({v})", "BOOLEAN SMALLINT INT BIGINT DECIMAL DATE"),
        part="coalesce(concat(toString(length({t})), ':', {t}), '-')",  # bytes: a text may be no UTF-8
        bucket="({d} % {n} + {n}) % {n}",
        types=dict.fromkeys(("DATETIME64", "DATETIME", "UINT64", "INT128", "INT256", "UUID", "IPV4", "IPV6"), "text"),
    ),
    Profile(
        name="trino",
        product="Trino",
        executed="never",
        driver=_driver("io.trino.jdbc.TrinoDriver", "trino-jdbc"),
        url=UrlForm("jdbc:trino:", rf"{_HOST}/\w+(?:/\w+)?", "?", "&", _names("SSL SSLVerification source")),
        reference="https://trino.io/docs/current/functions.html",
        properties=_names("SSL SSLVerification source"),
        sqlglot="trino",
        limit="{select} LIMIT {n}",
        digest="from_big_endian_64(xxhash64(to_utf8({text})))",
        total="SUM(CAST({digest} AS DECIMAL(38, 0)))",
        exact=_exact("CAST({v} AS VARCHAR)", "BOOLEAN SMALLINT INT BIGINT DECIMAL DATE", BINARY="to_hex({v})"),
        part="COALESCE(CAST(length({t}) AS VARCHAR) || ':' || {t}, '-')",
        types=dict.fromkeys(("TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "UUID", "JSON", "IPADDRESS"), "text"),
    ),
)

PROFILES: Mapping[str, Profile] = {profile.name: profile for profile in _BUILT}


def profile_of(url: str, dialect: str | None, own: Iterable[Profile] = ()) -> Profile:
    """Return the profile that the configuration names, or else that of the URL's prefix.

    Args:
        dialect: The name of a profile, or None.
        own: Profiles of the configuration.

    Raises:
        ConfigError: There is none.
    """
    known = {**PROFILES, **{one.name: one for one in own}}
    if dialect is not None:
        if dialect not in known:
            listed = f"there are {', '.join(sorted(known))}"
            raise ConfigError(f"there is no profile {dialect!r}", remedy=did_you_mean(dialect, list(known), listed))
        return known[dialect]
    fitting = [one for one in known.values() if url.startswith(one.url.prefix)]
    if not fitting:
        listed = ", ".join(sorted(known))
        raise ConfigError("no profile knows this JDBC URL", remedy=f"write dialect: one of {listed}; or `profile`")
    return fitting[-1]
