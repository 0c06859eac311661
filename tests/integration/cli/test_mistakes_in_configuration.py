"""Mistakes of a first configuration: each is answered by what, where and a fix.

There is no traceback, and no masked word.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Cli

# The password is also the name of the stream. A secret of PW, or one in the file, is never shown.
PASSWORD, CANARY, WRITTEN = "orders", "c4naryXy7", "written-Xy7"
GOOD = """\
version: 1
sources:
  shop:
    url: postgresql://reader@db.example:5432/store
    password: ${env:SHOP_PASSWORD}
sinks:
  changes: {type: jsonl, path: out/changes}
defaults:
  every: 30s
  sinks: [changes]
tables:
  - table: app.orders
    source: shop
    key: [id]
    strategy: id_rcs
"""
URL = "    url: postgresql://reader@db.example:5432/store\n"
SHOP = f"  shop:\n{URL}    password: ${{env:SHOP_PASSWORD}}\n"
TABLES = GOOD.partition("tables:\n")[2]


@dataclass(frozen=True)
class Mistake:
    """A change of the good configuration, or a text of its own, and the answer.

    Attributes:
        old: The text that is replaced, once; empty for the whole file.
        new: The text in its place.
        line: Line of the place.
        path: Key path of the place; empty if the file is no YAML.
        what: Part of the problem.
        fix: Part of the remedy.
    """

    old: str
    new: str
    line: int
    path: str
    what: str
    fix: str

    @property
    def text(self) -> str:
        if not self.old:
            return self.new
        assert GOOD.count(self.old) == 1, self.old
        return GOOD.replace(self.old, self.new)

    @property
    def where(self) -> str:
        return f"qbcd.yaml:{self.line}{self.path and ': '}{self.path}"


KEY, STRATEGY, EVERY, SOURCE = "    key: [id]\n", "    strategy: id_rcs\n", "  every: 30s\n", "    source: shop\n"
LOGIN = "    password: ${env:SHOP_PASSWORD}\n"
TABLE, SINK = "  - table: app.orders\n", "  changes: {type: jsonl, path: out/changes}\n"
AT_URL, AT_TABLE = "sources.shop.url", "tables[0]"
NO_CONNECTOR = "there are mariadb, mysql, postgresql; docs/"

MISTAKES = {
    # -- YAML
    "tab": Mistake("  shop:\n", "\tshop:\n", 3, "", "this line is indented with a tab", "spaces"),
    "tab-in-line": Mistake("version: 1", "version:\t1", 1, "", "there is a tab in this line", "spaces"),
    "no-colon": Mistake("sources:\n", "sources\n", 2, "", "no `key: value`", "write a colon"),
    "no-blank": Mistake("version: 1", "version:1", 2, "", "the line above has no `key: value`", "same column"),
    "indent": Mistake(SOURCE, "   source: shop\n", 13, "", "indentation of this line matches no line", "same column"),
    "second-colon": Mistake(KEY, "    where: a: b\n", 14, "", "a second colon", "in quotes"),
    "at-sign": Mistake("${env:SHOP_PASSWORD}", f"@{WRITTEN}", 5, "", "cannot begin with @", "in quotes"),
    "star": Mistake("app.orders", "*", 12, "", "cannot begin with *", "in quotes"),
    "open-quote": Mistake(KEY, "    where: 'a = 1\n", 14, "", "this quote is never closed", "close it"),
    "behind-quote": Mistake(KEY, "    where: 'a' = 'b'\n", 14, "", "text after a quoted value", "in quotes"),
    "open-bracket": Mistake("[id]", "[id", 14, "", "a bracket is not closed", "close it"),
    "braces": Mistake(SHOP, "  shop: {url: ${env:PW}}\n", 3, "", "a value in it needs quotes", "quote values"),
    "template": Mistake("${env:SHOP_PASSWORD}", "{{ PW }}", 5, "sources.shop.password", "a key must be", "${env:NAME}"),
    "tag": Mistake("${env:SHOP_PASSWORD}", "!env PW", 5, "sources.shop.password", "tags (!x) are not", "quote them"),
    "anchor": Mistake("[id]", "&x [id]", 14, "tables[0].key", "anchors and aliases", "quote it"),
    "empty": Mistake("", "# nothing\n", 1, "", "the file is empty", "qbcd init"),
    "list": Mistake("", "- a\n", 1, "", "expected a mapping with `version`", "qbcd init"),
    "twice": Mistake("version: 1", "version: 1\nversion: 1", 2, "version", "is already in line 1", "remove one"),
    "documents": Mistake(STRATEGY, f"{STRATEGY}---\na: 1\n", 16, "", "a second document", "keep one"),
    # -- sections
    "version": Mistake("version: 1\n", "", 1, "version", "`version` is missing", "version: 1"),
    "version-2": Mistake("version: 1", "version: 2", 1, "version", "not known here", "expected 1"),
    "streams": Mistake("tables:", "streams:", 11, "streams", 'unknown key "streams"', '"tables"'),
    "databases": Mistake("sources:\n", "databases:\n", 2, "databases", 'unknown key "databases"', '"sources"'),
    "misplaced": Mistake("version: 1", "version: 1\nretain: 1d", 2, "retain", "unknown key", "under `defaults`"),
    "sources-list": Mistake(SHOP, "  - name: shop\n", 2, "sources", "expected a mapping", "sources: {shop: {url: "),
    "source-without-name": Mistake(
        SHOP, f"{URL[2:]}  password: ${{env:PW}}\n", 2, "sources", "each source needs a name", "sources: {shop: {url"
    ),
    "source-is-url": Mistake(SHOP, "  shop: x://h/d\n", 3, "sources.shop", "expected a mapping", "shop: {url: "),
    "sinks-list": Mistake(SINK, "  - {type: jsonl}\n", 6, "sinks", "expected a mapping", "sinks: {changes: {type"),
    "sink-is-text": Mistake(SINK, "  changes: jsonl\n", 7, "sinks.changes", "a sink is a mapping", "{type: jsonl"),
    "tables-mapping": Mistake(TABLES, "  orders: {source: shop}\n", 11, "tables", "expected a list", "tables: [{"),
    "tables-names": Mistake(TABLES, "  - app.orders\n", 12, "tables[0]", "expected a mapping", "{source: shop, table"),
    "tables-none": Mistake(TABLES, "", 11, "tables", "`tables` is missing", "tables: [{source: shop"),
    # -- sources
    "no-url": Mistake(URL, "", 3, AT_URL, "`url` is missing", "url: postgresql://user@host"),
    "host-and-port": Mistake(
        URL,
        "    host: db.example\n    port: 3306\n    database: store\n    username: reader\n",
        4,
        "sources.shop.host",
        "address is one URL",
        "url: mariadb://reader@db.example:3306/store",
    ),
    "parts-from-placeholders": Mistake(
        URL,
        "    type: postgres\n    host: ${env:PW}\n",
        4,
        "sources.shop.type",
        "address is one URL",
        "url: postgresql://${env:PW}/DATABASE",
    ),
    "host-too": Mistake(URL, f"{URL}    host: x\n", 5, "sources.shop.host", 'unknown key "host"', "a part of `url`"),
    "mssql": Mistake("postgresql:", "mssql:", 4, AT_URL, 'no connector for database "mssql"', NO_CONNECTOR),
    "snowflake": Mistake("postgresql:", "snowflake:", 4, AT_URL, 'database "snowflake"', "/add-a-connector.md says"),
    "misspelled": Mistake("postgresql:", "postgrsql:", 4, AT_URL, "no connector for", 'did you mean "postgresql"?'),
    "short": Mistake("postgresql:", "psql:", 4, AT_URL, "no connector for", 'did you mean "postgresql"?'),
    "placeholder": Mistake(URL, "    url: ${env:PW}://x\n", 4, AT_URL, '"${env:PW}://x" names', NO_CONNECTOR),
    "jdbc": Mistake(
        "url: ", "url: jdbc:", 4, AT_URL, "postgresql has a connector of its own", "write url: postgresql://user@host"
    ),
    "no-scheme": Mistake("postgresql://", "", 4, AT_URL, "not a database URL", "write dialect://"),
    "port": Mistake(":5432", ":main", 4, AT_URL, "the port in the URL is not a whole number", "such as 5432"),
    "no-database": Mistake("/store", "", 4, AT_URL, "has no database", "/DATABASE"),
    "at-in-password": Mistake("reader@", f"reader:p@{WRITTEN}@", 4, AT_URL, "there is an @", "percent-encode"),
    "password-in-query": Mistake("/store", f"/store?password={WRITTEN}", 4, AT_URL, "query part", "`password:`"),
    "written-out": Mistake(
        "${env:SHOP_PASSWORD}", WRITTEN, 5, "sources.shop.password", "is written in the file", "${env:NAME}"
    ),
    "password-twice": Mistake(
        "reader@", "reader:${env:PW}@", 5, "sources.shop.password", "is given twice", "remove one"
    ),
    "password-number": Mistake(
        "${env:SHOP_PASSWORD}", "123456", 5, "sources.shop.password", "expected text", "in quotes"
    ),
    "passwd": Mistake(
        "    password", "    passwd", 5, "sources.shop.passwd", "unknown key", 'did you mean "password"?'
    ),
    "variable": Mistake(
        "${env:SHOP_PASSWORD}", "${env:NOT_SET}", 5, "sources.shop.password", "NOT_SET is not set", "set NOT_SET"
    ),
    "shell-variable": Mistake(
        "${env:SHOP_PASSWORD}", "${SHOP_PASSWORD}", 5, "sources.shop.password", "neither ${env", "write ${env:NAME}"
    ),
    "no-secret-file": Mistake(
        "${env:SHOP_PASSWORD}", "${file:none}", 5, "sources.shop.password", '"none" does not exist', "check the path"
    ),
    "connections": Mistake(
        LOGIN, f"{LOGIN}    connections: 100\n", 6, "sources.shop.connections", "too large", "at most 16"
    ),
    "url-option": Mistake(
        "/store", "/store?sslmode=${env:PW}", 3, "sources.shop", "sets sslmode to a value", "verify-full"
    ),
    "url-option-name": Mistake(
        "/store", "/store?ssl_mode=x", 3, "sources.shop", "may not set 'ssl_mode'", "did you mean sslmode?"
    ),
    "jdbc-property": Mistake(
        LOGIN, f"{LOGIN}    jdbc: {{fetch_size: 9}}\n", 6, "sources.shop.jdbc.fetch_size", "unknown", '"fetchsize"'
    ),
    # -- state, workdir, Spark
    "state-path": Mistake("version: 1", "version: 1\nstate: state.db", 2, "state", "database URL", "sqlite:///"),
    "state-oracle": Mistake(
        "version: 1", "version: 1\nstate: oracle://u@h/d", 2, "state", 'state in "oracle"', "sqlite"
    ),
    "state-placeholder": Mistake(
        "version: 1", "version: 1\nstate: ${env:PW}://x", 2, "state", '"${env:PW}://x" names', "sqlite"
    ),
    "workdir": Mistake("version: 1", "version: 1\nworkdir: s3://b/x", 2, "workdir", "not the URL of a store", "s3://"),
    "spark-setting": Mistake("version: 1", "version: 1\nspark: {memory: 2g}", 2, "spark.memory", "unknown", "`conf`"),
    "master": Mistake(
        "version: 1", "version: 1\nspark: {master: '${env:PW}'}", 2, "spark.master", '"${env:PW}" is no', "local[*]"
    ),
    # -- sinks
    "pulsar": Mistake("jsonl", "pulsar", 7, "sinks.changes.type", 'no sink type "pulsar"', "there are jsonl, parquet"),
    "folder": Mistake("path:", "folder:", 7, "sinks.changes.folder", 'unknown key "folder"', '"path"'),
    "no-path": Mistake(", path: out/changes", "", 7, "sinks.changes.path", "`path` is missing", "path: out/changes"),
    "bucket": Mistake("out/changes", "s3a://b/x", 7, "sinks.changes.path", "scheme is not known", "write s3://"),
    "store": Mistake("out/changes", "abfs://b/x", 7, "sinks.changes.path", "not built yet", "local or mounted"),
    "unknown-sink": Mistake("[changes]", "changs", 10, "defaults.sinks", 'no sink "changs"', '"changes"'),
    "hidden-sink": Mistake("[changes]", "${env:PW}", 10, "defaults.sinks", 'no sink "${env:PW}"', "there are changes"),
    "sinks-with-commas": Mistake("[changes]", "a, b", 10, "defaults.sinks", "needs brackets", "[a, b]"),
    # -- tables
    "unknown-source": Mistake("source: shop", "source: shp", 13, "tables[0].source", 'no source "shp"', '"shop"'),
    "no-source": Mistake(SOURCE, "", 12, "tables[0].source", "`source` is missing", "source: shop, here or under"),
    "pattern": Mistake("app.orders", "app.*", 12, "tables[0].table", "a key of its own", "tables: 'app.*'"),
    "parts": Mistake("app.orders", "x.app.orders", 12, "tables[0].table", "not a table name", "schema.table"),
    "schema": Mistake(TABLE, "  - schema: app\n", 12, "tables[0].schema", "unknown key", "table: schema.table"),
    "name": Mistake(SOURCE, f"{SOURCE}    name: my orders\n", 14, "tables[0].name", "cannot be a stream's", "1 to 100"),
    "no-table": Mistake(TABLE, "  - name: orders\n", 12, AT_TABLE, "`table` is missing", "table: schema.table"),
    "query": Mistake(
        TABLE, "  - name: q\n    query: SELECT 1\n", 13, "tables[0].query", "strategy id_rcs reads a table", "vbd"
    ),
    "filter": Mistake(KEY, "    filter: a = 1\n", 14, "tables[0].filter", 'unknown key "filter"', '"where"'),
    "primary-key": Mistake(KEY, "    primary_key: id\n", 14, "tables[0].primary_key", "unknown key", '"key"'),
    "keys-with-commas": Mistake("[id]", "id, line", 14, "tables[0].key", "needs brackets", "[a, b]"),
    "types": Mistake(
        KEY,
        "    types: {a: int}\n",
        14,
        "tables[0].types.a",
        "a column can be text, set or multiset",
        "write {tags: set}",
    ),
    "strategy": Mistake("id_rcs", "id_rsc", 15, "tables[0].strategy", 'no strategy "id_rsc"', '"id_rcs"'),
    "auto": Mistake(
        "id_rcs", "{type: auto, zone: UTC}", 15, "tables[0].strategy.zone", "goes with `timestamp`", "remove"
    ),
    "no-timestamp": Mistake("id_rcs", "ts", 15, "tables[0].strategy.timestamp", "is missing", "{type: ts, timestamp"),
    "option-of-table": Mistake(
        STRATEGY, f"{STRATEGY}    rows_per_range: 9\n", 16, "tables[0].rows_per_range", "unknown", "{type: id_rcs, rows"
    ),
    "no-strategy": Mistake(STRATEGY, "", 12, "tables[0].strategy", "`strategy` is missing", "mds, id_rcs"),
    "interval": Mistake(EVERY, "  interval: 30s\n", 9, "defaults.interval", "unknown key", 'did you mean "every"?'),
    "duration": Mistake("30s", "30 seconds", 9, "defaults.every", "not a duration", "500ms, 30s, 5m"),
    "switch": Mistake(
        EVERY, "  guards: {allow_empty: yes}\n", 9, "defaults.guards.allow_empty", "true or false", "write true"
    ),
    "percent": Mistake(
        EVERY, "  guards: {max_delete_fraction: 50%}\n", 9, "defaults.guards.max_delete_fraction", "a number", "0.5"
    ),
    "audit": Mistake(EVERY, "  audit: 24h\n", 9, "defaults.audit", "how often", "{every: 24h}"),
    "baseline": Mistake(EVERY, "  baseline: true\n", 9, "defaults.baseline", "not known here", "'events' or 'silent'"),
    "table-in-defaults": Mistake(EVERY, "  table: a.b\n", 9, "defaults.table", "unknown key", "an entry of `tables`"),
}


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, workspace: Path) -> Cli:
    monkeypatch.chdir(workspace)
    monkeypatch.setenv("SHOP_PASSWORD", PASSWORD)
    monkeypatch.setenv("PW", CANARY)
    return Cli(capsys)


def problems(data: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the problems of an answer in JSON: several, findings of a check, or the answer."""
    if "findings" in data:
        return [finding for finding in data["findings"] if finding.get("exit_code") == 2]
    return list(data.get("problems", [data]))


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_answered_by_what_where_and_a_fix(cli: Cli, workspace: Path, mistake: Mistake) -> None:
    (workspace / "qbcd.yaml").write_text(mistake.text)
    ran = cli("check", "--json")
    assert ran.code == 2
    [answer] = problems(ran.data)
    assert answer["where"] == mistake.where
    assert mistake.what in answer["error"]
    assert mistake.fix in answer["remedy"]
    assert "findings" in ran.data or f"error: {mistake.where}: " in ran.err
    for unwanted in ("Traceback", "***", CANARY, WRITTEN):
        assert unwanted not in ran.out + ran.err


def test_missing_files(cli: Cli, workspace: Path) -> None:
    for arguments in ((), ("-c", "other.yaml"), ("-c", ".")):
        ran = cli("check", "--json", *arguments)
        assert ran.code == 2
        assert ran.data["remedy"]
        assert "Traceback" not in ran.err
    assert "qbcd init" in cli("check").err


def test_one_problem_hides_no_other(cli: Cli, workspace: Path) -> None:
    """Neither a missing version nor an unset variable hides others.

    An unknown database comes before its password.
    """
    text = GOOD.replace("version: 1\n", "").replace("SHOP_PASSWORD", "NOT_SET").replace("[changes]", "[x]")
    text = text.replace("postgresql://reader@", f"oracle://reader:{WRITTEN}@").replace("source: shop", "source: y")
    (workspace / "qbcd.yaml").write_text(text)
    found = [problem["where"] for problem in problems(cli("check", "--json").data)]
    assert found == ["qbcd.yaml:1: version", "qbcd.yaml:4: sources.shop.password"]
    (workspace / "qbcd.yaml").write_text(text.replace("    password: ${env:NOT_SET}\n", ""))
    ran = cli("check", "--json")
    assert [(problem["where"], problem["error"][:20]) for problem in problems(ran.data)] == [
        ("qbcd.yaml:1: version", "`version` is missing"),
        ("qbcd.yaml:3: sources.shop.url", "no connector for dat"),
        ("qbcd.yaml:3: sources.shop.url", "there is a literal p"),
        ("qbcd.yaml:8: defaults.sinks[0]", 'there is no sink "x"'),
        ("qbcd.yaml:11: tables[0].source", 'there is no source "'),
    ]
    assert WRITTEN not in ran.out + ran.err
