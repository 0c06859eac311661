"""Reading a configuration: values, places, placeholders, inheritance."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr
from sqlalchemy.engine import make_url

from qbcd.config import config_from_dict, load_config
from qbcd.config.document import parse_yaml
from qbcd.config.masking import masking_of
from qbcd.errors import ConfigError
from tests.support.config_files import CANARY, GOOD, failure, load


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


ID_RCS = {
    "rows_per_range": None,
    "buckets": None,
    "replica": "rows",
    "digest": 64,
    "consistency": None,
    "per_poll": None,
    "max_staleness": None,
    "target": None,
    "per_second": None,
    "nice_ratio": 0.0,
}


def test_streams_carry_what_they_inherit(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    orders, customers = config.streams
    assert (orders.table_schema, orders.table_name, orders.key) == ("public", "orders", ("order_id",))
    assert (orders.columns, orders.exclude, orders.types) == (("status", "amount"), (), {"amount": "text"})
    assert (orders.where, orders.strategy, orders.options) == ("region = 'EU'", "id_rcs", ID_RCS)
    assert (orders.baseline, orders.every, orders.sinks) == ("events", timedelta(seconds=30), ("changes",))
    assert orders.retain == timedelta(days=7)
    assert (orders.guards.max_delete_fraction, orders.guards.allow_empty) == (0.5, True)
    assert (customers.table_schema, customers.table_name, customers.key) == ("My Schema", "T x", None)
    assert (customers.baseline, customers.every) == ("silent", timedelta(minutes=5))
    assert customers.sinks == ("lake", "screen")
    assert (customers.retain, customers.exclude) == (timedelta(hours=1), ("comment",))
    assert (customers.guards.max_delete_fraction, customers.guards.allow_empty) == (0.3, True)
    assert customers.options == {**ID_RCS, "rows_per_range": 10}
    assert config.stream("customers") == customers
    with pytest.raises(ConfigError, match=r'there is no stream "order".*did you mean "orders"'):
        config.stream("order")


def test_relative_paths_start_from_the_files_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "qbcd.yaml").write_text(GOOD.replace("version: 1", "version: 1\nspark: {driver_jar: d/x.jar}"))
    monkeypatch.chdir(tmp_path.parent)
    config = load_config(f"{tmp_path.name}/qbcd.yaml")
    monkeypatch.chdir("/")
    assert config.base_dir == tmp_path
    assert config.workdir == tmp_path / ".qbcd"
    assert config.state_url().database == str(tmp_path / ".qbcd/state.db")
    assert config.spark.driver_jar == tmp_path / "d/x.jar"
    assert config.sinks["changes"].options["path"] == tmp_path / "out/changes"
    assert config.sinks["lake"].options["path"] == Path("/srv/lake")
    assert (config.sinks["screen"].type, config.sinks["screen"].options) == ("console", {"limit": 20})


def test_places_of_keys(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    file = tmp_path / "qbcd.yaml"
    assert config.where("tables", 0, "columns") == f"{file}:17: tables[0].columns"
    assert config.where("tables", 0, "columns", 1) == f"{file}:17: tables[0].columns[1]"
    assert config.where("tables", 1, "key") == f"{file}:22: tables[1].key"
    orders, customers = config.streams
    assert orders.place("key") == f"{file}:16: tables[0].key"
    assert orders.place("every") == f"{file}:11: defaults.every"
    assert customers.place("every") == f"{file}:26: tables[1].every"
    assert config_from_dict(DICT).streams[0].place("key") == "tables[0].key"


def test_a_source_keeps_its_password_to_itself(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD)
    source = config.databases["shop"]
    url = source.sqlalchemy_url()
    assert (url.username, url.password, url.host, url.port) == ("reader", CANARY, "db.example", 5432)
    assert (source.qbcd_schema, source.connections, source.jdbc.fetchsize) == ("qbcd", 2, 500)
    assert source.jdbc.properties == {"socketTimeout": "30"}
    for shown in (repr(config), str(config), repr(source), repr(url), str(config.streams), str(config.model_dump())):
        assert CANARY not in shown


def test_a_password_in_a_url_may_hold_any_character(tmp_path: Path) -> None:
    text = GOOD.replace("reader@db", "reader:${env:SHOP_PASSWORD}@db")
    text = text.replace("    password: ${env:SHOP_PASSWORD}\n", "")
    config = load(tmp_path, text + "state: postgresql://me:${env:SHOP_PASSWORD}@state.example/qbcd\n")
    url = config.databases["shop"].sqlalchemy_url()
    assert (url.password, url.host, url.database) == (CANARY, "db.example", "shop")
    assert (config.state_url().password, config.state_url().host) == (CANARY, "state.example")
    assert CANARY not in repr(config) + str(config)


def test_a_password_in_the_url_of_a_sink_may_hold_any_character() -> None:
    url = "postgresql://me:${env:SHOP_PASSWORD}@db.example/lake"
    sinks = {
        "base": {"type": "database", "url": url, "mode": "log"},
        "ice": {"type": "iceberg", "mode": "log", "catalog": {"type": "sql", "uri": url, "warehouse": "/lake"}},
        "hook": {"type": "webhook", "url": "https://receiver.example/${env:SHOP_PASSWORD}"},
        "bad": ["${env:SHOP_PASSWORD}"],
    }
    with pytest.raises(ConfigError, match=r"sinks\.bad"):
        config_from_dict({**DICT, "sinks": sinks})
    config = config_from_dict({**DICT, "sinks": {name: sinks[name] for name in ("base", "ice", "hook")}})
    found = config.sinks["base"].options["url"]
    assert (found.password, found.host) == (CANARY, "db.example")
    found = make_url(config.sinks["ice"].options["catalog"]["uri"])
    assert (found.password, found.host) == (CANARY, "db.example")
    assert config.sinks["hook"].options["url"].endswith(CANARY)
    assert masking_of(config).foreign(f"said '{CANARY}'") == "said '***'"


def test_placeholders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "secret").write_text("from file\r\n")
    monkeypatch.setenv("FETCH", "77")
    monkeypatch.setenv("NESTED", "${env:SHOP_PASSWORD}")
    text = GOOD.replace("${env:SHOP_PASSWORD}", "${file:secret}").replace("fetchsize: 500", "fetchsize: '${env:FETCH}'")
    text = text.replace("region = 'EU'", "\"a = '${env:NESTED}' and b = '$${x}' and c = '${env:FETCH}1'\"")
    config = load(tmp_path, text)
    assert config.databases["shop"].sqlalchemy_url().password == "from file"
    assert config.databases["shop"].jdbc.fetchsize == 77
    assert config.streams[0].where == "a = '${env:SHOP_PASSWORD}' and b = '${x}' and c = '771'"


def test_scalars_follow_yaml_1_2() -> None:
    values, _ = parse_yaml("a: [on, no, 1:30, 2020-01-01, 0o7, ~, 7, 1.5, true, '7', <<, 1_000]", "f")
    assert values == {"a": ["on", "no", "1:30", "2020-01-01", "0o7", None, 7, 1.5, True, "7", "<<", "1_000"]}


DICT: dict[str, Any] = {
    "version": 1,
    "sources": {"shop": {"url": "postgresql://db.example/shop", "password": SecretStr(CANARY)}},
    "tables": [{"source": "shop", "table": "orders", "strategy": "mds", "sinks": []}],
}


def test_a_dict_works_as_a_file(tmp_path: Path) -> None:
    config = config_from_dict(DICT, tmp_path)
    stream = config.stream("orders")
    assert (stream.table_schema, stream.strategy, stream.options, stream.sinks) == ("", "mds", {"events": None}, ())
    assert config.workdir == tmp_path / ".qbcd"
    assert config.databases["shop"].sqlalchemy_url().password == CANARY
    with pytest.raises(ConfigError) as caught:
        config_from_dict({**DICT, "tables": [{**DICT["tables"][0], "colums": []}]})
    assert str(caught.value) == 'tables[0].colums: unknown key "colums" (did you mean "columns"?)'
    with pytest.raises(ConfigError, match="the password is written in the file"):
        config_from_dict({**DICT, "sources": {"shop": {"url": "postgresql://db.example/shop", "password": CANARY}}})
    with pytest.raises(ConfigError, match="a value of type object"):
        config_from_dict({**DICT, "state": object()})


def test_an_installed_package_may_bring_a_sink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    info = tmp_path / "other-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[qbcd.sinks]\npulsar = other:Sink\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    config = load(tmp_path, GOOD.replace("{type: console}", "{type: pulsar, topic: t, token: '${env:SHOP_PASSWORD}'}"))
    sink = config.sinks["screen"]
    assert (sink.type, sink.options) == ("pulsar", {"topic": "t", "token": CANARY})
    assert CANARY not in repr(config)
    error = failure(tmp_path, GOOD.replace("{type: console}", "{type: pulsra}"))
    assert 'did you mean "pulsar"' in str(error)


def test_a_section_without_content_counts_as_absent(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD.replace("    where: region = 'EU'", "    where:") + "spark:\n")
    assert config.streams[0].where == ""
    assert "unknown key" in str(failure(tmp_path, GOOD + "sprak:\n"))


@pytest.mark.parametrize(
    ("written", "seconds"), [("500ms", 1), ("1500ms", 2), ("30s", 30), ("0", 0), ("24d", 24 * 86_400)]
)
def test_a_limit_of_statements_is_of_whole_seconds(written: str, seconds: int, tmp_path: Path) -> None:
    """Servers and drivers have no smaller unit, and treat 0 as no limit."""
    text = GOOD.replace("    jdbc:", f"    statement_timeout: {written}\n    jdbc:")
    assert load(tmp_path, text).databases["shop"].statement_timeout == timedelta(seconds=seconds)


def test_a_limit_of_statements_is_one_that_servers_take(tmp_path: Path) -> None:
    text = GOOD.replace("    jdbc:", "    statement_timeout: 25d\n    jdbc:")
    assert "qbcd.yaml:6: sources.shop.statement_timeout: the limit is longer" in str(failure(tmp_path, text))


@pytest.mark.parametrize(
    ("key", "written", "listed"),
    [
        ("sinks", "lake", ("lake",)),
        ("sinks", "${env:ONE_NAME}", ("lake",)),
        ("exclude", "comment", ("comment",)),
        ("columns", "comment", ("comment",)),
        ("key", "order id", ("order id",)),
        ("key", "none", ()),
    ],
)
def test_a_single_name_is_a_list_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, written: str, listed: tuple[str, ...]
) -> None:
    monkeypatch.setenv("ONE_NAME", "lake")
    lines = [line for line in GOOD.splitlines() if not line.strip().startswith(("sinks: [lake", "exclude:"))]
    stream = load(tmp_path, "\n".join([*lines, f"    {key}: {written}"])).streams[1]
    assert getattr(stream, key) == listed


def test_a_source_is_inherited(tmp_path: Path) -> None:
    text = GOOD.replace("defaults: {", "defaults: {source: shop, ").replace(
        "  - name: orders\n    source: shop\n", "  - name: orders\n"
    )
    streams = load(tmp_path, text).streams
    assert [stream.source for stream in streams] == ["shop", "shop"]
    assert streams[0].place("source").endswith("defaults.source")
    assert ":11: defaults.source: there is no source " in str(
        failure(tmp_path, text.replace("source: shop, ", "source: x, "))
    )


def test_postgres_is_postgresql(tmp_path: Path) -> None:
    text = GOOD.replace("url: postgresql:", "url: postgres+psycopg2:")
    made = load(tmp_path, f"{text}state: postgres://u@localhost/state\n")
    assert made.databases["shop"].sqlalchemy_url().drivername == "postgresql+psycopg2"
    assert made.state_url().drivername == "postgresql"
