"""Places of sinks in a configuration: stores with their options, catalogs, topics; problems of stores in words."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from qbcd.config import config_from_dict, load_config
from qbcd.config.masking import secrets_of
from qbcd.errors import ConfigError
from qbcd.stores.problems import explain

CONFIG = """\
version: 1
sources: {shop: {url: "postgresql://reader@127.0.0.1/shop"}}
sinks:
  lake: SINK
tables: [{source: shop, table: public.t, strategy: mds, sinks: lake}]
"""
S3 = "{type: parquet, path: 's3://lake/x', "
OWN = "storage: {access_key: '${env:LAKE_KEY}', secret_key: '${env:LAKE_SECRET}'}}"


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAKE_KEY", "AKIACANARYCANARY")
    monkeypatch.setenv("LAKE_SECRET", "canary/of+secrets")


def loaded(folder: Path, sink: str) -> Any:
    file = folder / "qbcd.yaml"
    file.write_text(CONFIG.replace("SINK", sink))
    return load_config(file)


@pytest.mark.parametrize(
    ("sink", "options"),
    [
        ("{type: jsonl, path: 's3://lake/a/b=1/'}", {"path": "s3://lake/a/b=1"}),
        ("{type: jsonl, path: 'S3://lake'}", {"path": "s3://lake"}),
        ("{type: jsonl, path: 'gs://lake/a', storage: {anonymous: true}}", {"storage": {"anonymous": True}}),
        ("{type: jsonl, path: 'hdfs://host:8020/a', storage: {user: me}}", {"path": "hdfs://host:8020/a"}),
        ("{type: jsonl, path: 'file:///srv/a%20b'}", {"path": Path("/srv/a b"), "roll": None, "keep": None}),
        ("{type: jsonl, path: /a, keep: 30d}", {"keep": timedelta(days=30)}),
    ],
)
def test_sinks_of_stores(tmp_path: Path, sink: str, options: dict[str, Any]) -> None:
    found = loaded(tmp_path, sink).sinks["lake"].options
    assert {name: found[name] for name in options} == options


def test_roll_has_defaults_and_secrets_are_masked(tmp_path: Path) -> None:
    config = loaded(tmp_path, f"{S3}roll: {{}}, {OWN}")
    roll = config.sinks["lake"].options["roll"]
    assert (roll.every, roll.size) == (timedelta(hours=1), 128 << 20)
    assert {"AKIACANARYCANARY", "canary/of+secrets"} <= set(secrets_of(config))
    assert "canary" not in repr(config).lower()


@pytest.mark.parametrize(
    ("sink", "message"),
    [
        ("{type: jsonl, path: 's3://user:canary@lake/x'}", "lake.path: a URL of a store has no user and password"),
        ("{type: jsonl, path: 's3://lake/x?region=a'}", "lake.path: a URL of a store ends with its folder"),
        ("{type: jsonl, path: 's3://Lake/x'}", "lake.path: not the URL of a store (write s3://BUCKET/FOLDER"),
        ("{type: jsonl, path: 's3://lake/../x'}", "lake.path: not the URL of a store"),
        ("{type: jsonl, path: 's3://lake/a//x'}", "lake.path: not the URL of a store"),
        ("{type: jsonl, path: 's3://[x/y'}", "lake.path: not the URL of a store"),
        ("{type: jsonl, path: 'hdfs://host'}", "lake.path: not the URL of a store (write hdfs://HOST:8020/FOLDER"),
        ("{type: jsonl, path: 's3a://lake/x'}", "lake.path: this scheme is not known (write s3://)"),
        ("{type: jsonl, path: 'abfs://lake/x'}", "lake.path: paths with this scheme are not built yet (use s3://"),
        ("{type: jsonl, path: 'file://host/x'}", "lake.path: not the URL of a local folder"),
        (S3 + "storage: {endpoint: 'http://a:b@c'}}", "lake.storage.endpoint: not an endpoint"),
        (S3 + "storage: {user: me}}", "lake.storage: `storage.user` is not an option of this path (remove it; it has"),
        ("{type: jsonl, path: /a, storage: {region: a}}", "`storage` is for s3://, gs:// and hdfs://"),
        (S3 + "storage: {access_key: '${env:LAKE_KEY}'}}", "lake.storage: `storage.secret_key` is missing"),
        (S3 + OWN.replace("${env:LAKE_SECRET}", "canary"), "storage.secret_key: the credential is written in the file"),
        (S3 + "storage: {endpont: a}}", 'lake.storage.endpont: unknown key "endpont" (did you mean "endpoint"?)'),
        (S3 + "storage: {aws_access_key_id: a}}", 'storage.aws_access_key_id: unknown key "aws_access_key_id" (did'),
        (S3 + "roll: 1h}", "lake.roll: expected a mapping (write roll: {every: 1h, size: 128MB})"),
        (S3 + "roll: {every: soon}}", "lake.roll.every: not a duration"),
        (S3 + "roll: {every: 0s}}", "lake.roll.every: the interval must be longer than 0"),
        (S3 + "roll: {size: 0}}", "lake.roll.size: not a size (write it as 64MB"),
        (S3 + "keep: forever}", "lake.keep: not a duration"),
    ],
)
def test_wrong_settings_of_stores_have_a_place_and_a_remedy(tmp_path: Path, sink: str, message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, sink)
    assert message in str(caught.value)
    assert "qbcd.yaml:4: sinks.lake" in str(caught.value)
    assert "canary" not in str(caught.value).lower()


def test_an_unknown_key_of_the_workdirs_store_is_named(tmp_path: Path) -> None:
    file = tmp_path / "qbcd.yaml"
    file.write_text(CONFIG.replace("SINK", "{type: jsonl, path: out}") + "storage: {endpont: a}\n")
    with pytest.raises(ConfigError, match=r'storage\.endpont: unknown key "endpont" \(did you mean "endpoint"\?\)'):
        load_config(file)


@pytest.mark.parametrize(
    ("catalog", "uri", "warehouse"),
    [
        ("{uri: 'sqlite:///cat/c.db', warehouse: lake}", "sqlite:///{0}/cat/c.db", "file://{0}/lake"),
        ("{uri: 'sqlite:////srv/c.db', warehouse: 'file:///srv/a b'}", "sqlite:////srv/c.db", "file:///srv/a b"),
        ("{uri: 'sqlite:///c.db?timeout=9', warehouse: 's3a://b/x'}", "sqlite:///{0}/c.db?timeout=9", "s3a://b/x"),
        ("{uri: 'postgresql://me@h/d', warehouse: ./lake}", "postgresql://me@h/d", "file://{0}/lake"),
        ("{uri: 'https://h', warehouse: lake}", "https://h", "lake"),
    ],
)
def test_places_of_an_iceberg_catalog(tmp_path: Path, catalog: str, uri: str, warehouse: str) -> None:
    """Relative ones start from the file's folder; the warehouse of a REST catalog is a name."""
    found = loaded(tmp_path, f"{{type: iceberg, catalog: {catalog}}}").sinks["lake"].options["catalog"]
    assert found == {"uri": uri.format(tmp_path), "warehouse": warehouse.format(tmp_path)}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("topic: '{shema}.x'", "sinks.lake.topic: there is an unknown placeholder (write a name with {stream}"),
        ("topic: my topic", "sinks.lake.topic: not the name of a topic (write one of A-Z a-z 0-9 . _ -)"),
        ("acks_topic: a/b", "sinks.lake.acks_topic: not the name of a topic"),
        ("schemas: true", "`schemas` is for envelope debezium (remove it)"),
        ("envelope: debezum", "(expected 'qbcd' or 'debezium')"),
        ("properties: {sasl.passwort: x}", "this property is not allowed (there are client.id,"),
        ("properties: {sasl.password: x}", "the secret is written in the file (use ${env:NAME}"),
    ],
)
def test_mistakes_in_a_topic_sink(tmp_path: Path, options: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, f"{{type: kafka, servers: 'h:9092', {options}}}")
    assert expected in str(caught.value)


def test_secrets_of_code_are_accepted() -> None:
    from pydantic import SecretStr

    storage = {"access_key": SecretStr("a-key"), "secret_key": SecretStr("a-secret")}
    data = {
        "version": 1,
        "sources": {"shop": {"url": "postgresql://reader@127.0.0.1/shop"}},
        "sinks": {"lake": {"type": "jsonl", "path": "s3://lake/x", "storage": storage}},
        "tables": [{"source": "shop", "table": "public.t", "strategy": "mds"}],
    }
    assert config_from_dict(data).sinks["lake"].options["storage"]["secret_key"] == "a-secret"


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (
            "When x: AWS Error NO_SUCH_BUCKET during PutObject operation: none",
            "bucket lake does not exist",
            "create it",
        ),
        ("AWS Error ACCESS_DENIED during PutObject: Access Denied", "denies access to s3://lake/x", "list, read"),
        (
            "AWS Error UNKNOWN (HTTP status 403) during HeadObject operation",
            "denies access to s3://lake/x",
            "list, read",
        ),
        ("AWS Error SIGNATURE_DOES_NOT_MATCH during PutObject", "does not accept the credentials", "`secret_key`"),
        ("AWS Error NETWORK_CONNECTION during HeadObject: curlCode: 6", "cannot be reached", "`endpoint`"),
        ("AWS Error UNKNOWN (HTTP status 301) during HeadBucket", "in another region", "`region`"),
        ("something with canary/of+secrets in it", "s3://lake/x: something with *** in it", "`path` and `storage`"),
    ],
)
def test_problems_of_stores(text: str, what: str, remedy: str) -> None:
    found = explain(OSError(text), "s3://lake/x", {"secret_key": "canary/of+secrets"})
    assert what in found[0]
    assert remedy in found[1]
    assert "canary" not in found[0]
