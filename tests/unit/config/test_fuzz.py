"""Any configuration gives a ConfigError or loads, and no message shows a secret."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from qbcd.api import Project, parts_of
from qbcd.config import config_from_dict, load_config
from qbcd.errors import ConfigError
from tests.support.config_files import CANARY, GOOD, TAIL


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


KEYS = st.sampled_from(
    """version state workdir spark master conf driver_jar sources shop url user password schema jdbc
    fetchsize properties connections sinks changes type path limit defaults tables name source table query
    key columns exclude types
    where strategy baseline every retain guards max_delete_fraction
    allow_empty rows_per_range buckets key_change
    timestamp zone margin lag replica deletes counter delete_flag deleted_value purge retention create_index checksums
    checksum_column pages_per_range pace target nice_ratio per_second per_poll max_staleness x""".split()  # noqa: SIM905
)
SECRET = "${env:SHOP_PASSWORD}"
TEXTS = [
    "1",
    "shop",
    "orders",
    "changes",
    "jsonl",
    "console",
    "mds",
    "id_rcs",
    "ts",
    "tdi",
    "tlcs",
    "id",
    "30s",
    "xmin",
    "UTC",
    "postgresql://h/d",
    "${x}",
    "s3://x",
    SECRET,
    f"a{SECRET}",
    f"postgresql://u:{SECRET}@h/d",
    f"{SECRET}://h",
    f"postgresql://{SECRET}",
    f"postgresql://u:{CANARY}@h/d",
    f"postgresql://h/d?password={SECRET}",
]
# Hypothesis draws from this module's own constants too; plain texts of the file that are no secret may be shown.
PLAIN_TEXT = st.text(max_size=8).filter(lambda text: TAIL not in text)
PLAIN_BYTES = st.binary(max_size=60).filter(lambda data: TAIL.encode() not in data)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | PLAIN_TEXT | st.sampled_from(TEXTS)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=12
)


def base() -> dict[str, Any]:
    table = {"source": "shop", "table": "t", "strategy": "mds", "sinks": ["changes"], "guards": {}}
    source = {"url": "postgresql://h/d", "jdbc": {"properties": {}}}
    sinks = {"changes": {"type": "console"}}
    strategies: list[dict[str, Any]] = [
        {"type": "ts", "timestamp": "changed", "deletes": {"every": "1h"}},
        {"type": "tdi", "timestamp": "changed", "delete_flag": "gone"},
        {"type": "tlcs"},
        {"type": "id", "pace": {"per_second": 1}},
    ]
    tables = [table, *({**table, "name": item["type"], "strategy": item} for item in strategies)]
    return {"version": 1, "sources": {"shop": source}, "sinks": sinks, "tables": tables, "defaults": {}, "spark": {}}


PLACES: list[tuple[str | int, ...]] = [
    (),
    ("sources",),
    ("sources", "shop"),
    ("sources", "shop", "jdbc"),
    ("sources", "shop", "jdbc", "properties"),
    ("sinks",),
    ("sinks", "changes"),
    ("tables", 0),
    ("tables", 0, "guards"),
    ("defaults",),
    ("spark",),
    ("tables", 1, "strategy"),
    ("tables", 2, "strategy"),
    ("tables", 3, "strategy"),
    ("tables", 4, "strategy"),
    ("tables", 1, "strategy", "deletes"),
    ("tables", 4, "strategy", "pace"),
]


def loads_or_config_error(action: Any) -> None:
    try:
        config = action()
    except ConfigError as error:
        shown = f"{error} {error!r} {getattr(error, 'problems', '')}"
    else:
        secrets = (config.databases["shop"],) if "shop" in config.sources else ()
        shown = repr(config.state) + "".join(repr(source) for source in secrets)
    assert CANARY not in shown
    assert TAIL not in shown


@settings(
    max_examples=600, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(place=st.sampled_from(PLACES), key=KEYS, value=VALUES)
def test_no_value_anywhere_breaks_the_loader_or_shows_a_secret(
    place: tuple[str | int, ...], key: str, value: Any
) -> None:
    data = base()
    target: Any = data
    for part in place:
        target = target[part]
    target[key] = value
    loads_or_config_error(lambda: config_from_dict(data))


@pytest.mark.parametrize("place", PLACES)
def test_a_secret_in_any_value_stays_unseen(place: tuple[str | int, ...], tmp_path: Path) -> None:
    keys = (
        "version state workdir strategy source sinks name table key type path baseline every url user where timestamp "
        "zone lag replica deletes delete_flag deleted_value checksums checksum_column pace per_second per_poll "
        "master columns key types exclude sinks"
    )
    for key in keys.split():
        for value in ("${env:SHOP_PASSWORD}", ["${env:SHOP_PASSWORD}"] * 2, {"type": "${env:SHOP_PASSWORD}"}):
            data = base()
            target: Any = data
            for part in place:
                target = target[part]
            target[key] = value
            loads_or_config_error(lambda data=data: config_from_dict(data, tmp_path))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("sources", "shop", "url"), "{}"),
        (("sources", "shop", "url"), "{}://h/d"),
        (("sources", "shop", "url"), "x{}://h/d"),
        (("sources", "shop", "url"), "postgresql://h:{}/d"),
        (("sources", "shop", "url"), "postgresql://h/d?sslmode={}"),
        (("sources", "shop", "url"), "postgresql://h/d?connect_timeout={}"),
        (("sources", "shop", "url"), "mariadb://h/d?ssl_mode={}"),
        (("sources", "shop", "url"), "mariadb://h/d?connect_timeout={}"),
        (("sources", "shop", "jdbc"), {"properties": {"socketTimeout": "{}&"}}),
        (("state",), "{}"),
        (("state",), "{}://h/d"),
        (("spark",), {"master": "{}"}),
        (("spark",), {"conf": {"spark.speculation": "{}"}}),
        (("tables", 0, "sinks"), "{}"),
        (("defaults", "source"), "{}"),
    ],
)
@pytest.mark.parametrize("database", ["postgresql", "mariadb"])
def test_values_of_placeholders_are_never_shown(
    path: tuple[str | int, ...], value: Any, database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither the loader nor the code that uses the configuration without a server shows them.

    No mask is active here.
    """
    monkeypatch.setenv("SHOP_PASSWORD", "c4naryword")
    data: Any = {**base(), "sources": {"shop": {"url": f"{database}://h/d"}}}
    target = data
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = json.loads(json.dumps(value).replace("{}", SECRET))
    with pytest.raises(ConfigError) as caught, Project(config_from_dict(data, tmp_path)) as project:
        parts = parts_of(project)
        parts.engines.check_settings()
        parts.source("shop").connector.sessions.sqlalchemy_url(project.config.databases["shop"].sqlalchemy_url())
        parts.source("shop").jdbc("s")
        raise ConfigError("no fault")  # the value fits after all
    assert "c4naryword" not in f"{caught.value} {caught.value!r}"


FRAGMENTS = st.sampled_from(
    [
        *GOOD.splitlines(keepends=True),
        "- ",
        "? ",
        ": ",
        "&a ",
        "*a",
        "!!x ",
        "!h!x ",
        "%YAML 9.9\n",
        "---\n",
        "...\n",
        "|\n",
        ">\n",
        '"',
        "'",
        "[",
        "]",
        "{",
        "}",
        ",",
        "\t",
        "\n",
        "  ",
        "#",
        "\\U",
        '"\\UFFFFFFFF"',
        '"\\ud800"',
        "\0",
        "\x07",
        "é",
        "${",
        SECRET,
    ]
)


@settings(
    max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=PLAIN_BYTES | st.lists(FRAGMENTS, max_size=12).map(lambda parts: "".join(parts).encode()))
@example(data=b'a: "\\UFFFFFFFF"')
@example(data=b"%YAML 1." + b"9" * 5000 + b"\n---\na: 1")
@example(data=b"password: *" + CANARY.encode())
@example(data=f"a: !{TAIL}!x y".encode())
@example(data=b"a: !<%ff> y")
@example(data=b"? [a]\n: b")
def test_no_bytes_break_the_loader(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "fuzz.yaml"
    path.write_bytes(data)
    loads_or_config_error(lambda: load_config(path))
