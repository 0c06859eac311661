"""Invalid configurations; each message is compared by its text."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from qbcd.config import InvalidConfig, config_from_dict, load_config
from qbcd.errors import ConfigError, NotBuilt
from tests.support.config_files import CANARY, GOOD, failure, load, message

BUILT = "mds, id_rcs, ts, tdi, atdi, tlcs, id, vbd, dump and auto"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            "${env:SHOP_PASSWORD}",
            "${env:NOT_THERE}",
            "qbcd.yaml:5: sources.shop.password: the environment variable NOT_THERE is not set "
            "(set NOT_THERE, or use ${file:/path})",
        ),
        (
            "${env:SHOP_PASSWORD}",
            "${file:nowhere/x}",
            'qbcd.yaml:5: sources.shop.password: the file "nowhere/x" does not exist or is not a regular file '
            "(check the path and its permissions)",
        ),
        (
            "${env:SHOP_PASSWORD}",
            "pa${ss}",
            "qbcd.yaml:5: sources.shop.password: this ${..} is neither ${env:NAME} nor ${file:/path} "
            "(for a variable write ${env:NAME}; $${ is a plain ${)",
        ),
        (
            "${env:SHOP_PASSWORD}",
            "written",
            "qbcd.yaml:5: sources.shop.password: the password is written in the file "
            "(use ${env:NAME} or ${file:/path}; a literal is accepted only for a local host)",
        ),
        *(
            ("version: 1", f"version: 1\nlookups:\n  c: {written}", f"qbcd.yaml:3: lookups.c{expected}")
            for written, expected in (
                ("{table: t, on: {a: b}, take: [c]}", ".source: `source` is missing"),
                ("{source: shop, table: t, on: {a: b}, take: [c], methd: mesh}", '.methd: unknown key "methd"'),
                ("{source: shop, table: t, on: [a], take: [c]}", ".on: expected a mapping (write on: {customer_no: "),
            )
        ),
        (
            "    key: [order_id]",
            "    keys: [order_id]",
            'qbcd.yaml:16: tables[0].keys: unknown key "keys" (did you mean "key"?)',
        ),
        *(
            (
                "version: 1",
                f"version: 1\nspark: {{master: '{master}'}}",
                f'qbcd.yaml:2: spark.master: "{master}" is not a Spark master '
                "(write local[*], local[2], spark://host:7077, k8s://.. or yarn)",
            )
            for master in ("foo", "local[x]", "locals", "spark:/host")
        ),
        *(
            (
                "    where: region = 'EU'",
                f"    guards: {{allow_empty: {word}}}",
                "qbcd.yaml:19: tables[0].guards.allow_empty: expected true or false",
            )
            for word in ("yes", "on", "1", "'no'")
        ),
        (
            "    where: region = 'EU'",
            "    audited: 1d",
            'qbcd.yaml:19: tables[0].audited: unknown key "audited" (did you mean "audit"?)',
        ),
        (
            "    where: region = 'EU'",
            "    polite: 1d",
            'qbcd.yaml:19: tables[0].polite: unknown key "polite" (known keys: every, sinks, retain, strategy, '
            "baseline, guards, key_change, audit, engine, new_columns, enrich, source, name, table, tables, "
            "new_tables, query, key, columns, exclude, types, where)",
        ),
        (
            "fetchsize: 500",
            "fetchSize: 500",
            'qbcd.yaml:6: sources.shop.jdbc.fetchSize: unknown key "fetchSize" (did you mean "fetchsize"?)',
        ),
        (
            "rows_per_range: 10",
            "rows: 10",
            'qbcd.yaml:25: tables[1].strategy.rows: unknown key "rows" (known keys: type, pace, per_poll, '
            "max_staleness, replica, digest, rows_per_range, buckets, consistency)",
        ),
        (
            "rows_per_range: 10",
            "rows_per_range: 0",
            "qbcd.yaml:25: tables[1].strategy.rows_per_range: this number is too small (it must be at least 1)",
        ),
        (
            "path: out/changes",
            "paht: out/changes, path: x",
            'qbcd.yaml:8: sinks.changes.paht: unknown key "paht" (did you mean "path"?)',
        ),
        (
            "{max_delete_fraction: 0.3}",
            "{max_delete_fraction: 1.5}",
            "qbcd.yaml:30: tables[1].guards.max_delete_fraction: this number is too large (it must be at most 1.0)",
        ),
        (
            "type: jsonl",
            "type: json",
            'qbcd.yaml:8: sinks.changes.type: there is no sink type "json" (did you mean "jsonl"?)',
        ),
        (
            "type: jsonl",
            "type: duckdb",
            'qbcd.yaml:8: sinks.changes.type: there is no sink type "duckdb" '
            "(write {type: database, url: duckdb://.., mode: mirror})",
        ),
        (
            "  changes: {type: jsonl, path: out/changes}",
            "  changes: {type: jsonl}",
            "qbcd.yaml:8: sinks.changes.path: `path` is missing (write path: out/changes)",
        ),
        (
            "sinks: [lake, screen]",
            "sinks: [lake, sreen]",
            'qbcd.yaml:27: tables[1].sinks[1]: there is no sink "sreen" (did you mean "screen"?)',
        ),
        (
            "  - name: orders\n    source: shop",
            "  - name: orders\n    source: ship",
            'qbcd.yaml:14: tables[0].source: there is no source "ship" (did you mean "shop"?)',
        ),
        (
            "strategy: id_rcs",
            "strategy: id_rsc",
            'qbcd.yaml:20: tables[0].strategy: there is no strategy "id_rsc" (did you mean "id_rcs"?)',
        ),
        (
            "    strategy: id_rcs\n",
            "",
            "qbcd.yaml:13: tables[0].strategy: `strategy` is missing "
            "(write one of mds, id_rcs, ts, tdi, atdi, tlcs, id, vbd, dump, auto, here or under `defaults`)",
        ),
        (
            "name: customers",
            "name: orders",
            'qbcd.yaml:24: tables[1].name: the name "orders" is already used by tables[0] (give a `name` of its own)',
        ),
        (
            "    name: customers\n",
            "",
            'qbcd.yaml:23: tables[1].table: the name "T x" cannot be a stream\'s (give a `name` of 1 to 100 of',
        ),
        (
            "every: 5m",
            "every: 1:30",
            "qbcd.yaml:26: tables[1].every: not a duration (write it as 500ms, 30s, 5m, 1h or 7d; "
            "a whole number is seconds)",
        ),
        ("every: 5m", "every: 0s", "qbcd.yaml:26: tables[1].every: the interval must be longer than 0 (write it as"),
        (
            "exclude: [comment]",
            "exclude: [comment]\n    columns: [a]",
            "qbcd.yaml:29: tables[1].exclude: `columns` and `exclude` cannot both be given (remove one)",
        ),
        ("key: [order_id]", "key: [a, b, a]", 'qbcd.yaml:16: tables[0].key[2]: "a" is listed twice (remove one)'),
        ("key: [order_id]", "key: []", "qbcd.yaml:16: tables[0].key: the list is empty (add at least one)"),
        ("sinks: [lake, screen]", "sinks: 5", "qbcd.yaml:27: tables[1].sinks: expected a list (write [a, b])"),
        (
            "sinks: [lake, screen]",
            "sinks: lak",
            'qbcd.yaml:27: tables[1].sinks: there is no sink "lak" (did you mean "lake',
        ),
        (
            "table: public.orders",
            "table: a.b.c",
            "qbcd.yaml:15: tables[0].table: not a table name (write schema.table; put a part with dots, blanks or "
            'quotes in double quotes: "My Schema"."T")',
        ),
        (
            "    table: public.orders\n",
            "",
            "qbcd.yaml:13: tables[0]: `table` is missing (write table: schema.table, or query: SELECT ..)",
        ),
        ("baseline: events", "key_change: cycle", "qbcd.yaml:21: tables[0].key_change: pairs over the polls of a pass"),
        ("baseline: events", "baseline: loud", "qbcd.yaml:21: tables[0].baseline: this value is not known here"),
        (
            "types: {amount: text}",
            "types: {amount: int}",
            "qbcd.yaml:18: tables[0].types.amount: a column can be text,",
        ),
        ("version: 1", "version: 2", "qbcd.yaml:1: version: this value is not known here (expected 1, a number"),
        ("  screen: {type", "  python: {type", "qbcd.yaml:10: sinks.python: this name is reserved for the Python API"),
        ("/srv/lake", "out/changes", "qbcd.yaml:9: sinks.lake.path: sink changes has the same path (give it a path"),
        ("version: 1", "version: 1\nstate: sqlite://", "qbcd.yaml:2: state: the state cannot be kept in memory ("),
        ("version: 1", "version: 1\nversion: 1", "qbcd.yaml:2: version: this key is already in line 1 (remove"),
        (
            "reader@db.example:5432",
            "reader@db.example:port",
            "qbcd.yaml:4: sources.shop.url: the port in the URL is not",
        ),
        ("reader@db", "reader:pw@db", "qbcd.yaml:5: sources.shop.password: the password is given twice, here"),
        ("?sslmode=verify-full", "?password=x", "qbcd.yaml:4: sources.shop.url: a password is not allowed in the"),
        ("reader@db", "re/ader:p@w@db", "qbcd.yaml:4: sources.shop.url: there is an @ after the user part of the URL"),
        ("[order_id]", "[order_id", "qbcd.yaml:16: not valid YAML: a bracket is not closed, or"),
        ("[order_id]", "&x [order_id]", "qbcd.yaml:16: tables[0].key: anchors and aliases (&x, *x) are not allowed ("),
        ("[order_id]", "*x", "qbcd.yaml:16: tables[0].key: anchors and aliases (&x, *x) are not allowed ("),
        ("[order_id]", "!hunter2!x a", "qbcd.yaml:16: not valid YAML: a value cannot begin with ! (put"),
        ("[order_id]", "!!python/tuple [a]", "qbcd.yaml:16: tables[0].key: tags (!x) are not allowed ("),
        ("[order_id]", '"\\0"', "qbcd.yaml:16: tables[0].key: this text is not valid Unicode (correct the escape)"),
        ("[order_id]", "[" * 100 + "]" * 100, "qbcd.yaml:16: nested deeper than 32 levels"),
    ],
)
def test_refusals_say_where_and_what_helps(tmp_path: Path, old: str, new: str, expected: str) -> None:
    text = message(tmp_path, old, new)
    if expected.endswith(")"):
        assert text == expected
    else:
        assert text.startswith(expected)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("zone: UTC", "`zone` goes with `timestamp`"),
        ("delete_flag: gone", "`delete_flag` goes with `timestamp`"),
        ("timestamp: at, deleted_value: 1", "`deleted_value` goes with `delete_flag`"),
        ("timestamp: at, delete_flag: at", "the delete flag is a timestamp as well"),
        ("need: {batch: range}", "expected 'snapshot'"),
        ("need: {delets: true}", 'did you mean "deletes"?'),
        ("longest_statement: soon", "longest_statement"),
    ],
)
def test_needs_of_auto_are_checked(tmp_path: Path, options: str, expected: str) -> None:
    assert expected in message(tmp_path, "strategy: id_rcs", f"strategy: {{type: auto, {options}}}")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("/srv/lake", "abfs://bucket/lake", "sinks.lake.path: paths with this scheme are not built yet"),
        ("version: 1", "version: 1\nworkdir: ftp://x/y", "workdir: paths with this scheme are not built yet"),
    ],
)
def test_features_to_come_are_refused_as_such(tmp_path: Path, old: str, new: str, expected: str) -> None:
    error = failure(tmp_path, GOOD.replace(old, new))
    assert isinstance(error, NotBuilt)
    assert expected in str(error)


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("postgresql://u@localhost/d", True),
        ("postgresql://u@127.9.9.9/d", True),
        ("postgresql://u@[::1]:5432/d", True),
        ("postgresql://u@/d", True),
        ("postgresql://u@/d?host=/run/sock", True),
        ("postgresql://u@/d?host=/run/sock&host=db.example", False),
        ("postgresql://u@/d?host=localhost:1,db.example:2", False),
        ("postgresql://u@localhost/d?hostaddr=10.0.0.1", False),
        ("postgresql://u@/d?service=far", False),
        ("postgresql://u@10.0.0.1/d", False),
        ("postgresql://u@localhost.example/d", False),
    ],
)
def test_a_literal_password_is_for_a_local_host_only(tmp_path: Path, url: str, local: bool) -> None:
    in_key = GOOD.replace("postgresql://reader@db.example:5432/shop?sslmode=verify-full", url)
    in_key = in_key.replace("${env:SHOP_PASSWORD}", "l1teral")
    in_url = in_key.replace("u@", "u:l1teral@").replace("    password: l1teral\n", "")
    for text in (in_key, in_url):
        if local:
            assert load(tmp_path, text).databases["shop"].sqlalchemy_url().password == "l1teral"
        else:
            error = failure(tmp_path, text)
            assert "password" in error.what
            assert "l1teral" not in str(error)


def test_a_state_url_with_a_literal_password_is_refused(tmp_path: Path) -> None:
    error = failure(tmp_path, GOOD + "state: postgresql://u:l1teral@db.example/d\n")
    assert ":31: state: there is a literal password in the url" in str(error)
    assert "l1teral" not in str(error)


def test_several_problems_are_listed_in_the_order_of_the_file(tmp_path: Path) -> None:
    error = failure(tmp_path, GOOD.replace("every: 5m", "evry: 5m").replace("fetchsize: 500", "fetchsize: 0"))
    assert isinstance(error, InvalidConfig)
    lines = str(error).splitlines()
    assert len(lines) == 2
    assert ":6: sources.shop.jdbc.fetchsize: " in lines[0]
    assert ":26: tables[1].evry: " in lines[1]
    error = failure(tmp_path, GOOD.replace("strategy: id_rcs", "strategy: [id_rcs]\n    rows_per_range: 1"))
    assert isinstance(error, InvalidConfig)
    assert [problem.what[:11] for problem in error.problems] == ["a strategy ", "unknown key"]
    many = GOOD + "".join(f"x{n}: 1\n" for n in range(30))
    assert str(failure(tmp_path, many)).splitlines()[-1] == "(and 20 more)"


def test_files_that_cannot_be_a_configuration(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no configuration file .*`qbcd init`"):
        load_config(tmp_path / "none.yaml")
    with pytest.raises(ConfigError, match=r'"/folder/.*\.\.\..*/none\.yaml"') as long:
        load_config("/folder" * 20 + "/none.yaml")
    assert len(str(long.value)) < 180  # the name of the file remains when a path is shortened
    with pytest.raises(ConfigError, match="not a regular file"):
        load_config(tmp_path)
    with pytest.raises(ConfigError):
        load_config("a\0b")
    assert "the file is empty" in str(failure(tmp_path, ""))
    assert "qbcd.yaml:2: the file is not UTF-8" in str(failure(tmp_path, b"version: 1\n\xff\n"))
    assert "larger than 1 MB" in str(failure(tmp_path, "#" * 1_000_001))
    assert "a second document starts here" in str(failure(tmp_path, GOOD + "---\nx: 1\n"))
    assert "expected a mapping" in str(failure(tmp_path, "- 1\n"))
    assert load(tmp_path, b"\xef\xbb\xbf" + GOOD.encode()).version == 1


def test_aliases_cannot_explode(tmp_path: Path) -> None:
    bomb = "a: &a [x, x]\n" + "".join(f"b{n}: &b{n} [*a, *a]\n" for n in range(50))
    assert "anchors and aliases" in str(failure(tmp_path, bomb))


def test_unreadable_secret_files(tmp_path: Path) -> None:
    (tmp_path / "bin").write_bytes(b"\xff\xfe")
    (tmp_path / "big").write_bytes(b"x" * 70_000)
    os.mkfifo(tmp_path / "pipe")
    for name, expected in (("bin", "is not UTF-8 text"), ("big", "is larger than"), ("pipe", "not a regular file")):
        assert expected in str(failure(tmp_path, GOOD.replace("${env:SHOP_PASSWORD}", f"${{file:{name}}}")))


def test_a_value_from_a_placeholder_is_neither_shown_nor_hinted_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEARLY", "id_rsc")
    text = str(failure(tmp_path, GOOD.replace("strategy: id_rcs", "strategy: ${env:NEARLY}")))
    assert f'there is no strategy "${{env:NEARLY}}" (this version has {BUILT})' in text
    monkeypatch.setenv("NEARLY", "change")
    text = str(failure(tmp_path, GOOD.replace("sinks: [changes]", 'sinks: ["${env:NEARLY}"]')))
    assert 'there is no sink "${env:NEARLY}" (there are changes, lake, screen)' in text


@pytest.mark.parametrize(("word", "meant"), [("true", True), ("false", False), ("${env:EMPTY}", True)])
def test_switches_are_true_or_false(word: str, meant: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also as the value of a placeholder."""
    monkeypatch.setenv("EMPTY", "true")
    strategy = {"type": "tlcs", "checksums": "table", "deletes": word}
    config = config_from_dict(
        {
            "version": 1,
            "sources": {"s": {"url": "postgresql://localhost/d"}},
            "tables": [{"source": "s", "table": "t", "strategy": strategy, "guards": {"allow_empty": word}}],
        }
    )
    [stream] = config.streams
    assert (stream.guards.allow_empty, stream.options["deletes"]) == (meant, meant)
