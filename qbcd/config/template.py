"""The commented configuration that `qbcd init` writes."""

from __future__ import annotations

import os
from pathlib import Path

from qbcd.errors import ConfigError

FILE_NAME = "qbcd.yaml"
SCHEMA_FILE = ".qbcd-schema.json"  # next to the configuration
SCHEMA_LINE = f"# yaml-language-server: $schema={SCHEMA_FILE}"  # editors read it

TEMPLATE = (
    f"{SCHEMA_LINE}\n"
    + """\
# qbcd: finds inserts, updates and deletes in databases that can only be queried.
# Next: qbcd check, qbcd prepare, qbcd run --once
version: 1

# The database with the state of all streams. Relative paths start from the folder of this file.
state: sqlite:///.qbcd/state.db
workdir: .qbcd                 # replicas and batches in files; a local or mounted folder

# Only if Spark needs other settings than these.
# spark:
#   master: local[*]
#   conf: {spark.driver.memory: 2g}
#   driver_jar: drivers/jdbc.jar

sources:
  shop:
    # dialect://user@host:port/database, in the format of SQLAlchemy; without the password, which is below
    url: ${env:SHOP_URL}
    # The password, from the environment or a file. It may be written here only if the host is local.
    password: ${env:SHOP_PASSWORD}
    # password: ${file:/run/secrets/shop}
    # schema: qbcd             # for strategies with tables in the source: the schema where qbcd creates them
    # connections: 2           # number of connections that read at the same time
    # jdbc: {fetchsize: 10000}  # default: by the width of rows

sinks:
  changes: {type: jsonl, path: out/changes}
  # lake: {type: parquet, path: out/lake}
  # screen: {type: console, limit: 20}

# Values for all tables; a table may have its own.
defaults:
  every: 30s                   # time between two polls: 500ms, 30s, 5m, 1h, 1d
  sinks: [changes]
  retain: 7d                   # time to keep delivered batches

tables:
  - table: public.orders       # also the name of the stream, without the schema; `name: my_orders` sets another one
    source: shop
    # The strategy defines how qbcd finds changes, and where it keeps its replica: what it saw last.
    #
    # Replica in files in `workdir`; the source is only read (SELECT):
    # id_rcs: computes checksums of ranges of rows in the source, and fetches only ranges whose checksum differs.
    #
    # Replica in the source; qbcd needs tables of its own in `schema`:
    # mds:    compares the table with a copy, in one statement.
    # id:     does the same range by range, in short transactions; for large tables.
    # tlcs:   compares one digest per row instead of a copy, so events have no old values.
    #         With `checksums: remote` the digests are in files, and the source is only read.
    # ts:     reads only rows whose timestamp is new; every insert and update must set it. It finds deletes only with
    #         `deletes`. With `replica: spark` the replica is in files, and the source is only read.
    # tdi:    is like ts for applications that set a flag instead of deleting a row, so it finds deletes too.
    # atdi:   is like tdi and reads only an index, which must contain all captured columns.
    #
    # Result of a query:
    # vbd:    compares the result with a replica in the source, or with `variant: checksum` in files. With
    #         `variant: delta` it recomputes only the part that changed rows affect. An example is below.
    #
    # Files, one after another, each with all rows:
    # dump:   compares each new file with the file before. An example is below.
    strategy: id_rcs
    # strategy: {type: ts, timestamp: updated_at, zone: UTC, deletes: {every: 1h}}
    # strategy: {type: tdi, timestamp: updated_at, delete_flag: is_deleted, retention: 7d}
    # key: [order_id]          # default: the primary key
    # columns: [status, amount]  # default: all; or exclude: [comment]
    # types: {amount: text}    # columns to deliver as text
    # where: region = 'EU'     # only these rows; a condition in the SQL of the source
    # baseline: events         # also deliver the rows that exist at `qbcd prepare`; default: silent
    # guards: {max_delete_fraction: 0.5, allow_empty: false}   # refuse a poll that would delete more
    # key_change: pair         # a delete and an insert of equal content are marked as one change of the key
    # audit: {every: 24h}      # compare all values once a day; finds what polls by timestamp or checksum can miss

  # Files instead of a database; `sources` has:  partner: {files: in/customers-*.csv, complete: "{file}.done"}
  #   - {name: customers, source: partner, strategy: dump, key: [customer_id]}

  # A query instead of a table:
  # - {name: sales, source: shop, strategy: vbd, query: "SELECT region, count(*) AS n FROM orders GROUP BY region"}
"""
)


def write_template(directory: str | os.PathLike[str] = ".", name: str = FILE_NAME) -> Path:
    """Write :data:`TEMPLATE` into a folder, as :func:`write_text`."""
    return write_text(TEMPLATE, directory, name)


def write_text(text: str, directory: str | os.PathLike[str] = ".", name: str = FILE_NAME) -> Path:
    """Write a new file into a folder, which is created if missing; return the file.

    Raises:
        ConfigError: The file exists, or it cannot be written.
    """
    folder = Path(directory)
    path = folder / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # "x" refuses an existing file or dangling link, without a race between check and write
        with path.open("x", encoding="utf-8") as stream:
            stream.write(text)
    except FileExistsError:
        remedy = "remove it, or name another folder or file"
        raise ConfigError(f"{path} exists and is not overwritten", remedy=remedy) from None
    except (OSError, ValueError) as error:
        remedy = "check the folder and its permissions"
        raise ConfigError(f"{path} cannot be written: {type(error).__name__}", remedy=remedy) from None
    return path
