"""Sentences of user pages that are lists of strategies, compared with the strategies."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from qbcd.config.strategy_registry import BUILT_STRATEGIES, options_class
from qbcd.strategies import strategy_class
from tests.golden.plans import CONNECTORS, plan_of

DOCS = Path(__file__).resolve().parents[3] / "docs"
NO_UPDATES = {"events": ["insert", "delete"]}
STAMP = {"timestamp": "updated_at"}
FLAG = {**STAMP, "delete_flag": "gone"}
# Strategy, options, and the place of its replica and its content.
WAYS: list[tuple[str, dict[str, Any], str, str]] = [
    ("mds", {}, "database", "rows"),
    ("mds", NO_UPDATES, "database", "keys"),
    ("id", {}, "database", "rows"),
    ("id", NO_UPDATES, "database", "keys"),
    ("id_rcs", {}, "lake", "rows"),
    ("id_rcs", {"replica": "digest"}, "lake", "digests"),
    ("tlcs", {}, "database", "digests"),
    ("tlcs", {"replica": "source"}, "database", "digests"),
    ("tlcs", {"replica": "lake"}, "lake", "rows"),
    ("tlcs", {"checksums": "remote"}, "lake", "digests"),
    ("ts", STAMP, "database", "rows"),
    ("ts", {**STAMP, "replica": "lake"}, "lake", "rows"),
    ("ts", {**STAMP, "replica": "keys"}, "database", "keys"),
    ("ts", {**STAMP, "replica": "none"}, "database", "nothing"),
    ("ts", {**STAMP, "deletes": "only"}, "database", "keys"),
    ("tdi", FLAG, "database", "rows"),
    ("atdi", FLAG, "database", "rows"),
    ("vbd", {"variant": "compare"}, "database", "rows"),
    ("vbd", {"variant": "compare", "replica": "digest"}, "database", "digests"),
    ("vbd", {"variant": "checksum"}, "lake", "rows"),
    ("vbd", {"variant": "delta"}, "database", "rows"),
    ("dump", {}, "lake", "rows"),
    ("dump", {"replica": "digest"}, "lake", "digests"),
]
WITHOUT_OLD = {"tlcs", "id_rcs", "vbd", "dump", "mds", "id", "ts"}


def section(page: str, heading: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    return text.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def made(name: str, written: dict[str, Any]) -> Any:
    """Return the strategy of some options as written, over a plan of the golden files."""
    options = TypeAdapter(options_class(name)).validate_python({"type": name, **written}).options
    plan = plan_of("postgresql", "stamped", name).with_options(**options)
    kind: Any = strategy_class(name, options)
    if name == "dump":
        return kind(plan)
    return kind(CONNECTORS["postgresql"], plan, *(["qbcd"] if "schema" in kind.__init__.__annotations__ else []))


@pytest.mark.parametrize(("name", "written", "site", "keeps"), WAYS, ids=str)
def test_where_and_what_a_replica_is(name: str, written: dict[str, Any], site: str, keeps: str) -> None:
    strategy = made(name, written)
    assert (strategy.site, strategy.keeps) == (site, keeps)


def test_every_strategy_is_there() -> None:
    assert {name for name, *_ in WAYS} == set(BUILT_STRATEGIES)


def test_streams_without_old_values_are_listed() -> None:
    """Also streams with old values: no other strategy is named."""
    bare = {
        name
        for name, written, *_ in WAYS
        if TypeAdapter(options_class(name)).validate_python({"type": name, **written}).without_old_values
    }
    assert bare == WITHOUT_OLD
    sentence = section("reference/events.md", "Without old values").partition("Their events")[0]
    assert set(re.findall(r"`(\w+)`", sentence)) == WITHOUT_OLD | {"replica"}


def test_streams_that_can_resend_are_listed() -> None:
    """Those whose replica has the rows; of the others each word of their options is there."""
    rows, *others = re.findall(
        r"^\| (?:has|\*).*", section("how-to/resend-and-replay.md", "Which strategies can resend"), re.M
    )
    named = set(re.findall(r"`(\w+)`", rows))
    assert named == {name for name, *_, keeps in WAYS if keeps == "rows"}
    assert "`tlcs` with `replica: lake`" in rows
    rest = " ".join(others)
    for name, _, _, keeps in WAYS:
        if keeps != "rows":
            assert f"`{name}`" in rest or keeps == "digests", name


def test_lake_replicas_are_listed() -> None:
    _, lake = re.findall(
        r"\|([^|]*)", re.findall(r"^\| strategies \|.*", (DOCS / "explanation/how-it-works.md").read_text(), re.M)[0]
    )[1:3]
    assert set(re.findall(r"`(\w+)`", lake)) == {name for name, _, site, _ in WAYS if site == "lake"}
