"""The commented configuration that `qbcd init` writes."""

from __future__ import annotations

import os
from pathlib import Path

from qbcd.errors import ConfigError

FILE_NAME = "qbcd.yaml"

TEMPLATE = """\
# qbcd: finds inserts, updates and deletes in databases that can only be queried.
# Next: qbcd check, qbcd prepare, qbcd run --once
version: 1

# Where qbcd remembers what it did. Relative paths start from this file's folder.
state: sqlite:///.qbcd/state.db
workdir: .qbcd                 # stages and replicas, local or mounted

# Needed only where Spark must start with other settings than these.
# spark:
#   master: local[*]
#   conf: {spark.driver.memory: 2g}
#   driver_jar: drivers/jdbc.jar

sources:
  shop:
    # dialect://user@host:port/database, as SQLAlchemy spells it; here without the password, which is below
    url: ${env:SHOP_URL}
    # No password in this file, unless the host is local: take it from the environment or a file.
    password: ${env:SHOP_PASSWORD}
    # password: ${file:/run/secrets/shop}
    # schema: qbcd             # where qbcd may create tables, for strategies that work inside the source
    # connections: 2           # concurrent read connections
    # jdbc: {fetchsize: 10000}

sinks:
  changes: {type: jsonl, path: out/changes}
  # lake: {type: parquet, path: out/lake}
  # screen: {type: console, limit: 20}

# Every table inherits these; its own value wins.
defaults:
  every: 30s                   # 500ms, 30s, 5m, 1h, 7d
  sinks: [changes]
  retain: 7d                   # how long delivered batches are kept

tables:
  - table: public.orders       # the stream's name is the table's, unless `name` says otherwise
    source: shop
    # How changes are found.
    # id_rcs: compares checksums of key ranges and fetches only the ranges that differ; writes nothing to the source.
    # The others keep what they saw in the source and need the right to create the schema there.
    # mds:    compares with a copy of the table.
    # id:     the same range by range, in short transactions; for large tables.
    # tlcs:   compares a checksum of every row; old values are not kept.
    # ts:     reads rows by a timestamp that every change moves; sees deletes only with option `deletes`.
    # tdi:    reads by timestamp, and rows are marked as deleted by a flag. atdi: the same from an index alone.
    strategy: id_rcs
    # strategy: {type: ts, timestamp: updated_at, zone: UTC, deletes: {every: 1h}}
    # strategy: {type: tdi, timestamp: updated_at, delete_flag: is_deleted, retention: 7d}
    # key: [order_id]          # default: the primary key
    # columns: [status, amount]  # default: all; or exclude: [comment]
    # types: {amount: text}    # how a column travels, where not by its type
    # where: region = 'EU'     # one condition in the database's own SQL
    # baseline: events         # deliver the rows found at prepare as well; default: silent
    # guards: {max_delete_fraction: 0.5, allow_empty: false}   # a poll that would delete more is refused
    # key_change: pair         # a delete and an insert of equal content are marked as one change of key

  # In place of a table, the result of a query of yours: its `name`, `query: SELECT ..` and `strategy: vbd`.
"""


def write_template(directory: str | os.PathLike[str] = ".", name: str = FILE_NAME) -> Path:
    """Writes :data:`TEMPLATE` into a folder, which is made when missing.

    Returns:
        The file written.

    Raises:
        ConfigError: There is such a file already, or it cannot be written.
    """
    folder = Path(directory)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # "x" refuses an existing file, a dangling link too, without a gap between look and write
        with path.open("x", encoding="utf-8") as stream:
            stream.write(TEMPLATE)
    except FileExistsError:
        remedy = "remove it, or name another folder or file"
        raise ConfigError(f"{path} exists and is not overwritten", remedy=remedy) from None
    except (OSError, ValueError) as error:
        remedy = "check the folder and its permissions"
        raise ConfigError(f"{path} cannot be written: {type(error).__name__}", remedy=remedy) from None
    return path
