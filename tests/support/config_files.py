"""A valid configuration, and the error message after one change to it."""

from __future__ import annotations

from pathlib import Path

import pytest

from qbcd.config import ProjectConfig, load_config
from qbcd.errors import ConfigError

# Put together here: hypothesis draws keys from the literals of this file, and messages do show keys.
CANARY = "@".join(["c4nary", "/".join(["s3", "cret:%x"])])
TAIL = CANARY[7:-3]  # a URL parser would read it as host and database

GOOD = """\
version: 1
sources:
  shop:
    url: postgresql://reader@db.example:5432/shop?sslmode=verify-full
    password: ${env:SHOP_PASSWORD}
    jdbc: {fetchsize: 500, properties: {socketTimeout: 30}}
sinks:
  changes: {type: jsonl, path: out/changes}
  lake: {type: parquet, path: /srv/lake}
  screen: {type: console}
defaults: {every: 30s, sinks: [changes], guards: {allow_empty: true}}
tables:
  - name: orders
    source: shop
    table: public.orders
    key: [order_id]
    columns: [status, amount]
    types: {amount: text}
    where: region = 'EU'
    strategy: id_rcs
    baseline: events
  - source: shop
    table: '"My Schema"."T x"'
    name: customers
    strategy: {type: id_rcs, rows_per_range: 10}
    every: 5m
    sinks: [lake, screen]
    retain: 1h
    exclude: [comment]
    guards: {max_delete_fraction: 0.3}
"""


def load(folder: Path, text: str | bytes) -> ProjectConfig:
    path = folder / "qbcd.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return load_config(path)


def failure(folder: Path, text: str | bytes) -> ConfigError:
    """Return the error of loading, with its place relative to the folder."""
    with pytest.raises(ConfigError) as caught:
        load(folder, text)
    assert CANARY not in str(caught.value)
    return caught.value


def message(folder: Path, old: str, new: str) -> str:
    """Return the error message for the valid file after one text was replaced."""
    assert GOOD.count(old) == 1, old
    return str(failure(folder, GOOD.replace(old, new))).replace(f"{folder}/", "")
