"""Queries in a configuration: keys that are allowed together with `query`."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from qbcd.catalog.resolve import requested
from qbcd.config import config_from_dict, load_config
from qbcd.demo.delays import QUERY, STREAM
from qbcd.demo.folder import Folder
from qbcd.errors import ConfigError

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
WRITTEN = {"name": "q", "query": "SELECT id FROM public.o", "strategy": "vbd"}


def loaded(folder: Path, **table: Any) -> Any:
    source = {"shop": {"url": "postgresql://localhost/shop"}}
    plain = {key: value for key, value in {"source": "shop", **WRITTEN, **table}.items() if value is not None}
    return config_from_dict({"version": 1, "sources": source, "tables": [plain]}, base_dir=folder).streams[0]


def test_a_query_is_fixed_with_its_variant(tmp_path: Path) -> None:
    stream = loaded(tmp_path, query="  SELECT id FROM public.o\n")
    assert (stream.name, stream.table_schema, stream.table_name, stream.subject) == ("q", "", "q", "query")
    asked = requested(stream)
    assert asked["query"] == "SELECT id FROM public.o"
    kept = {"replica": None, "digest": None, "buckets": None}
    assert asked["options"] == {"variant": None, **kept, "timestamps": [], "zone": None}
    assert (
        requested(loaded(tmp_path, strategy={"type": "vbd", "variant": "checksum"}))["options"]["variant"] == "checksum"
    )
    assert "query" not in requested(loaded(tmp_path, query=None, table="o", strategy="mds"))


def test_timestamps_name_tables_as_table_does(tmp_path: Path) -> None:
    stamps = {'"My m".t': "at", 'm10."t ""x"" y"': ["a", "b"], "public.orders": "at"}
    asked = requested(loaded(tmp_path, strategy={"type": "vbd", "timestamps": stamps}))["options"]["timestamps"]
    assert asked == [["My m.t", ["at"]], ['m10.t "x" y', ["a", "b"]], ["public.orders", ["at"]]]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"strategy": {"type": "vbd", "timestamps": {"public.o p": "at"}}},
            "not a table name (write schema.table; put a part with dots, blanks or quotes in double quotes",
        ),
        (
            {"strategy": {"type": "vbd", "timestamps": {"public.o": "at", 'public."o"': "at"}}},
            "tables[0].strategy.timestamps: a table is named twice (keep one of them)",
        ),
        ({"table": "public.o"}, "tables[0].query: `table` and `query` cannot both be given"),
        ({"name": None}, "tables[0].query: `name` is missing (give the query's stream a name)"),
        ({"query": " "}, "tables[0].query: the text is empty"),
        ({"query": None}, "tables[0]: `table` is missing (write table: schema.table, or query: SELECT ..)"),
        ({"strategy": "id_rcs"}, "tables[0].query: strategy id_rcs reads a table; a query is captured by strategy vbd"),
        ({"query": None, "table": "o"}, "tables[0].strategy: strategy vbd captures the result of a query"),
        ({"strategy": {"type": "vbd", "variant": "fast"}}, "tables[0].strategy.variant: "),
        (
            {"strategy": {"type": "vbd", "replica": "digest"}},
            "tables[0].strategy.replica: `replica: digest` goes with variant compare only (write `variant: compare`)",
        ),
        (
            {"strategy": {"type": "vbd", "variant": "compare", "buckets": "key"}},
            "tables[0].strategy.buckets: `buckets` goes with variant checksum only",
        ),
        (
            {"key": "none", "strategy": {"type": "vbd", "variant": "compare"}},
            "tables[0].key: strategy vbd identifies rows by",
        ),
    ],
)
def test_keys_that_are_refused_with_a_query(tmp_path: Path, table: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, **table)
    assert message in str(caught.value)


def test_rows_of_a_query_may_have_no_key(tmp_path: Path) -> None:
    assert loaded(tmp_path, key="none").key == ()


def test_the_example_is_the_query_of_the_demonstration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FLIGHTS_URL", "postgresql://localhost/flights")
    (example,) = load_config(EXAMPLES / "delays/qbcd.yaml").streams
    shown = Folder(tmp_path)
    shown.configure("postgresql://localhost/flights")
    demonstrated = load_config(shown.config).stream(STREAM)
    assert (example.name, example.strategy) == (STREAM, "vbd")
    assert example.query.strip() == demonstrated.query.strip() == QUERY
    page = (EXAMPLES.parent / "docs/how-to/capture-a-query.md").read_text(encoding="utf-8")
    assert indent(QUERY, " " * 6) in page
