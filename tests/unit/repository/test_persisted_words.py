"""Words of stored state: later versions read projects by them, so none may be renamed.

They are literals here. A new word is added here; a changed one needs an upgrade step (`qbcd.state.upgrades`) first.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args

import pyarrow as pa
import pytest
from sqlalchemy import MetaData

import qbcd
from qbcd.common import hooks
from qbcd.connectors import connector_for
from qbcd.delivery.batches import PYTHON_SINK
from qbcd.files.series import TakenDumps
from qbcd.local.part_files import PartFile
from qbcd.model import BatchHeader, Column, ResentRows, ServerIdentity, StreamPlan, Table, Travel, travel_from_json
from qbcd.model.checkpoint import ENTRIES
from qbcd.ranges.schedule import Pass
from qbcd.roster import known_tables
from qbcd.sinks.jsonl import JsonlSink
from qbcd.sinks.parquet import ParquetSink
from qbcd.sinks.stored import held as held_files
from qbcd.sinks.stored.parquet_files import MARKER
from qbcd.sinks.table.layout import FACTS
from qbcd.sinks.table.options import HISTORY_COLUMNS, SOFT_DELETED
from qbcd.sinks.table.write import RECORD_COLUMNS, RECORD_TABLE
from qbcd.sites import event_schema, guards, watermark
from qbcd.sites.checkpoint import checkpoint_of
from qbcd.sites.lake.fetch import leaf_checksums
from qbcd.sites.lake.notes import LeafNote, RecentNote
from qbcd.sites.lake.replica import files, schema
from qbcd.snapshots.base import Batches, Options
from qbcd.snapshots.chunks import HIGH, LOW, ROW
from qbcd.snapshots.compare import baseline
from qbcd.state import Resend, batch_to_json, rows, upgrades
from qbcd.state.project_tables import METADATA
from qbcd.state.tables import SiteTables
from qbcd.stores.base import ATTEMPTS
from qbcd.strategies import Mds, in_source, outbox, tdi, tlcs_lake
from qbcd.strategies.base import images, prefixed, suffixed, table_name
from qbcd.strategies.incremental import lineage
from qbcd.strategies.incremental.delta_query import ONE
from tests.support.file_batches import target_of

PACKAGE = Path(qbcd.__file__).parent

# By table, its columns; those of the primary key have a star.
OF_SITES = {
    "layout": "one* format_version",
    "stream": "project_id stream* epoch version fencing_token last_batch_seq next_range_id advanced_by prepared "
    "checkpoint seal",
    "lease": "stream* owner until token",
    "batch": "stream* epoch* batch_seq* token ts_ms fingerprint header folded created_at seal",
    "range": "stream* range_id* lo hi rows checksum segment last_visited seal",
    "segment": "stream* segment_id* epoch files rows folded_through token seal",
    "pin": "pin_id* stream version until",
    "range_pages": "stream* range_id* pages moved",  # added later: stores of older versions lack it
}
OF_PROJECT = {
    "qbcd_ack": "stream* sink* epoch batch_seq fingerprint at seal",
    "qbcd_delivery_error": "stream* sink* at message attempts",
    "qbcd_history": "id* stream started_at finished_at outcome epoch batch_seq counts cost message",
    "qbcd_resend": "stream* sink* number restriction pending at seal",
    "qbcd_enriched": "stream* epoch* batch_seq* fingerprint fields file hash counts at seal",
    "qbcd_waiting": "stream* epoch* batch_seq* header file hash events through at seal",
    "qbcd_interest": "stream* wanted captured at seal",
    "qbcd_subscribed": "stream* digest* number seal",
    "qbcd_lookup_key": "lookup* digest* number text at seal",
    "qbcd_progress": "stream* sink* fingerprint events seal",
    "qbcd_refusal": "stream* kind version amount message at",
}
OF_PATTERNS = {"qbcd_known_table": "stream* source table_schema table_name state at"}  # created when first written
KNOWN_STATES = ("captured", "reported", "gone")
# The record of a sink in its target.
OF_TARGETS = "project* stream* sink* target epoch batch_seq fingerprint boundary"
POINTS = (
    "after_lease",
    "after_horizon",
    "after_snapshot",
    "after_checksums",
    "after_fetch",
    "after_stage",
    "before_commit",
    "after_commit",
    "before_seal",
    "after_seal",
    "before_enrichment",
    "enrichment_written",
    "after_enrichment",
    "before_release",
    "after_release",
    "before_settlement",
    "before_purge",
    "after_purge",
    "before_publish",
    "mid_publish",
    "after_publish",
    "after_acknowledge",
    "before_roll",
    "mid_roll",
    "after_roll",
    "mid_expire",
    "mid_lookup",
)
OF_EVERY_CHECKPOINT = {"shape", "made", "requested", "server", "encoder", "rows"}
# Keys that only some strategies write, or only for some time.
OF_SOME_CHECKPOINTS = {
    "dumps",
    "compared",
    "open",
    "mark",
    "marks",
    "bases",
    "pass",
    "swept",
    "usual",
    "audited",
    "auditing",
    "gone",
    "leaves",
    "recent",
    "density",
    "spread",
    "settled",
    "digests",
}
KINDS = {"fetch", "batch", "segment", "passing", "leaves"}

PLAN = StreamPlan(
    "s",
    "shop",
    Table("public", "t", "table", (), ("id",), ()),
    (Column("id", "integer", "integer", False, "", "typed", Travel("int32")),),
    (Column("v", "text", "text", True, "C", "bytes", Travel("text")),),
    "",
    "mds",
)
HEADER = BatchHeader(
    "s",
    1700000000,
    12,
    1,
    {"c": 1},
    ("changes",),
    "f",
    "shop",
    "public.t",
    "mds",
    "statement",
    ("id",),
    (("id", Travel("int32")),),
)


def written(metadata: MetaData) -> dict[str, str]:
    """Return tables in the form of the literals above."""
    return {
        table.name: " ".join(column.name + "*" * column.primary_key for column in table.columns)
        for table in metadata.sorted_tables
    }


def test_tables() -> None:
    assert written(SiteTables("qbcd").metadata) == OF_SITES
    assert written(SiteTables(None).metadata) == {f"qbcd_{name}": columns for name, columns in OF_SITES.items()}
    assert written(METADATA) == OF_PROJECT
    assert written(known_tables.METADATA) == OF_PATTERNS
    assert get_args(known_tables.TableState) == KNOWN_STATES
    assert upgrades.FORMAT_VERSION == 1


def test_hook_points() -> None:
    assert hooks.POINTS == POINTS


def test_names_of_own_tables() -> None:
    assert table_name("replica", "My Orders!") == "replica_my_orders_f5056d54"
    assert outbox.outbox_name("orders") == "outbox_orders_1c168adb"
    assert [name for _, name in in_source.own_tables("qbcd", "orders")] == [
        "replica_orders_1c168adb",
        "outbox_orders_1c168adb",
        "purge_orders_1c168adb",
        "copy_orders_1c168adb",
        "queue_orders_1c168adb",
    ]
    assert [name for _, name in lineage.lineage_tables("qbcd", "orders")[:3]] == [
        "affected_orders_1c168adb",
        "lineage0_orders_1c168adb",
        "changed0_orders_1c168adb",
    ]


def test_columns_of_own_tables() -> None:
    own = ["epoch", "batch_seq", "ordinal", "op", "reason", "pair_id", "changed", "digest"]
    assert [name for name, _ in in_source.OWN_COLUMNS] == own[:-1]
    assert [name for name, _ in Mds(connector_for("postgresql://h/d"), PLAN, "qbcd").tables()[1].columns][:8] == own
    assert list(in_source.OUTBOX_KEY) == own[:3]
    assert [(i.before, i.after) for i in images(PLAN, 63)] == [("b_id", "a_id"), ("b_v", "a_v")]
    assert prefixed("b_", "n" * 62, 63) == "b_" + "n" * 52 + "_88dba6d9"
    assert suffixed("n" * 62, "_x", 63) == "n" * 52 + "_88dba6d9_x"
    assert (tdi.MARK, ONE, outbox.OPEN) == ("qbcd_mark", "qbcd_one", 0)
    assert [name for name, _ in tlcs_lake.POSITION] == ["project", "applied", "queued"]
    assert lineage.OWN_COLUMNS == ("qbcd_digest", "qbcd_there")


def test_keys_of_a_checkpoint() -> None:
    poll: Any = SimpleNamespace(plan=PLAN, settings=SimpleNamespace(requested={}))
    made = checkpoint_of(poll, ServerIdentity("PostgreSQL", "one", "m", 1), 1, 5)
    assert made.keys() == OF_EVERY_CHECKPOINT
    assert made["server"].keys() == {"identity", "meaning", "position"}
    assert made["made"].keys() == {"numbers", "at", "parts"}
    assert made["shape"].keys() == {"table", "key", "columns", "encoding", "means", "where", "strategy"}
    assert {entry.name for entry in ENTRIES} == OF_SOME_CHECKPOINTS | OF_EVERY_CHECKPOINT
    assert set(literal_keys()) <= OF_SOME_CHECKPOINTS | OF_EVERY_CHECKPOINT


@pytest.mark.parametrize(
    ("strategy", "stored", "read"),
    [("ts", "spark", "lake"), ("ts", "keys", "keys"), ("tlcs", "lake", "lake"), ("tlcs", "source", "source")],
)
def test_place_of_a_replica(strategy: str, stored: str, read: str) -> None:
    """The lake is `spark` in the state of ts, which older versions wrote and later ones must find."""
    columns = {"project_id": "p", "stream": "s", "epoch": 1, "version": 1, "fencing_token": 1, "last_batch_seq": 1}
    requested = {"strategy": strategy, "options": {"replica": stored, "zone": "UTC"}, "where": "a"}
    values = {**columns, "prepared": True, "checkpoint": rows.dump({"requested": requested, "rows": 3})}
    row = rows.stream_row(values)
    options = {"replica": read, "zone": "UTC"}
    assert row.checkpoint == {"requested": {**requested, "options": options}, "rows": 3}
    written = rows.stream_values(row)
    assert {name: written[name] for name in values} == values


def test_entries_of_checkpoints() -> None:
    assert Pass(1.0, 2, 3, 4, {5: 0.5}).as_json() == {
        "began": 1.0,
        "rows": 2,
        "deletes": 3,
        "accepted": 4,
        "heat": {"5": 0.5},
    }
    assert LeafNote(1, 2, "part").as_entry() == {"leaves": {"left": 1, "pause": 2, "part": "part", "at_once": True}}
    assert RecentNote().as_entry("7") == {"recent": {"since": "7", "share": 0.0, "pause": 0}}
    held: Any = SimpleNamespace(confirmed=None)
    assert guards.Deletes(1, 0, 9).after(held, {"d": 1}) == {"deletes": 2, "accepted": 0, "rows": 9}
    assert watermark.READ == "read"  # next to `at`, `next` and `seen` of a watermark


def test_rows_as_text() -> None:
    assert rows.batch_to_json(HEADER).keys() == {
        "stream",
        "epoch",
        "seq",
        "ts_ms",
        "counts",
        "sinks",
        "fingerprint",
        "source",
        "table",
        "strategy",
        "consistency",
        "key",
        "columns",
        "location",
        "before",
        "one_row",
    }
    travel = [field.name for field in fields(Travel)]
    assert list(rows.batch_to_json(HEADER)["columns"][0][1]) == travel[:4]
    assert travel == ["kind", "precision", "scale", "element", "unordered", "separator"]
    of_set = Travel("text", unordered="set", separator=",")
    assert list(of_set.to_json()) == travel
    assert travel_from_json(of_set.to_json()) == of_set
    part = files.FileSet("batch-3-a", (PartFile("p.parquet", 10, "e"),))
    assert part.as_location() == {"part": "batch-3-a", "files": [["p.parquet", 10, "e"]]}
    assert part.as_files() == ({"path": "p.parquet", "size": 10, "end": "e"},)


def test_files_of_the_workdir() -> None:
    literal = set(literal_kinds())
    assert {files.PASSING, leaf_checksums.FILE_KIND} | literal == KINDS, "or the search finds too little"
    assert files.Files(Path("w"), "project", "s").root == Path("w/project/s")
    assert leaf_checksums.FORM == b"leaf:rows:checksum:weighted\n"
    row = ["range_id", "key_id", "digest", "c0"]
    event = ["op", "reason", "pair_id", "ordinal", "changed", "b_0", "a_0"]
    assert [name for name, _ in schema.row_fields(replace(PLAN, columns=()))] == row
    assert [name for name, _ in event_schema.event_fields([Travel("int32")])] == event
    assert [name for name, _ in schema.batch_fields(replace(PLAN, columns=()))] == [*event, *row[:3], "batch_seq"]


def test_files_of_sinks() -> None:
    assert str(target_of(JsonlSink("x", Path("out")), HEADER)) == "out/s/1700000000-000000000012.jsonl"
    assert str(target_of(ParquetSink("x", Path("out")), HEADER)) == "out/s/epoch=1700000000/batch_seq=12"
    assert (MARKER, PYTHON_SINK) == ("_SUCCESS", "python")
    assert (held_files.FOLDER, held_files.PLAN, ATTEMPTS) == (".pending", "roll", ".attempts")
    assert held_files.name_of(HEADER) == "s/.pending/1700000000-000000000012-1-f"


def nodes(word: str) -> Iterator[ast.AST]:
    """Yield the nodes of all modules of the package that contain `word`."""
    for text in (path.read_text("utf-8") for path in PACKAGE.rglob("*.py")):
        if word in text:
            yield from ast.walk(ast.parse(text))


def literal_keys() -> Iterator[str]:
    """Yield the literal keys by which the code reads a checkpoint."""
    for node in nodes("checkpoint"):
        if isinstance(node, ast.Subscript) and ast.unparse(node.value).endswith("checkpoint"):
            yield from strings(node.slice)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("checkpoint.get"):
            yield from strings(node.args[0])


def literal_kinds() -> Iterator[str]:
    """Yield the literal kinds of the files that the code writes."""
    for node in nodes("FileSet"):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(("files.write", "write_stage")):
            yield from strings(*node.args)
        elif isinstance(node, ast.FunctionDef) and "kind" in [arg.arg for arg in node.args.args]:
            yield from strings(*node.args.defaults)
        elif (
            isinstance(node, ast.Assign)
            and ast.unparse(node.targets[0]) == "kind"
            and isinstance(node.value, ast.IfExp)
        ):
            yield from strings(node.value)


def strings(*nodes: ast.AST) -> Iterator[str]:
    """Yield a node's literal text, or those of both its branches."""
    for node in nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value
        elif isinstance(node, ast.IfExp):
            yield from strings(node.body, node.orelse)


def test_words_of_resends() -> None:
    known = {field.name: getattr(HEADER, field.name) for field in fields(HEADER)}
    found = {number.label: ResentRows(**known, label=number.label) for number in (Resend("x", 2), Resend("x", 3, "a"))}
    assert [(one.folder, one.event_prefix) for one in found.values()] == [
        ("s.resend-2", "s:1700000000:12.resend-2:"),
        ("s.part-3", "s:1700000000:12.part-3:"),
    ]
    assert (HEADER.folder, HEADER.event_prefix) == ("s", "s:1700000000:12:")
    assert batch_to_json(HEADER).keys() == {field.name for field in fields(BatchHeader)} - {"added", "selected", "part"}


def test_words_of_target_tables() -> None:
    assert RECORD_TABLE == "qbcd_sink"
    assert " ".join(f"{column.name}{'*' * column.in_key}" for column in RECORD_COLUMNS) == OF_TARGETS
    names = HISTORY_COLUMNS["qbcd"]
    assert (names.valid_from, names.valid_to, names.is_deleted, names.batch_seq, SOFT_DELETED) == (
        *("valid_from", "valid_to", "is_deleted", "batch_seq"),
        "is_deleted",
    )
    facts = "qbcd_op qbcd_changed qbcd_reason qbcd_pair_id qbcd_event_id qbcd_epoch qbcd_batch_seq qbcd_ts_ms"
    assert " ".join(name for name, _ in FACTS) == facts


def test_replicas_of_snapshots(tmp_path: Path) -> None:
    dump = Batches([pa.record_batch({"id": pa.array([1])})], ["id"])
    baseline(dump, Options(keep=tmp_path / "kept"))
    facts = json.loads((tmp_path / "kept" / "manifest.json").read_text())
    words = ["format", "digest", "whole", "order", "rows", "keys", "schema", "parts", "statistics"]
    assert list(facts) == words
    assert (facts["format"], facts["digest"], facts["order"], facts["parts"]) == (1, 1, "range", ["part-00000.arrow"])
    statistics = ["inserts", "updates", "deletes", "duplicates", "rows", "compared", "width"]
    assert list(facts["statistics"]) == statistics
    assert (HIGH, LOW, ROW) == ("qbcd_digest_high", "qbcd_digest_low", "qbcd_row")


def test_words_of_taken_dumps() -> None:
    """Earlier versions stored neither `identity` nor `untyped`."""
    old = {"last": ["f-1.csv", 5, 7], "files": {"f-1.csv": [5, 7]}, "header": ["id"]}
    taken = TakenDumps.from_entry(old, Path("in"))
    assert taken.as_entry() == {**old, "identity": [-1, -1]}
    stored = {**old, "identity": [3, 9], "untyped": ["v"]}
    assert TakenDumps.from_entry(stored, Path("in")).as_entry() == stored
