"""Patterns, defaults of a source, jobs and cron lines in the configuration."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from qbcd.config import config_from_dict
from qbcd.config.cron import CronLine
from qbcd.config.models import ProjectConfig
from qbcd.errors import ConfigError


def built(*tables: dict[str, Any], **more: Any) -> ProjectConfig:
    data = {"version": 1, "sources": {"shop": {"url": "postgresql://reader@127.0.0.1/shop"}}, "tables": list(tables)}
    data["defaults"] = {"source": "shop", "strategy": "mds"}
    for section, values in more.items():
        data[section] = {**data.get(section, {}), **values} if isinstance(values, dict) else values  # type: ignore[dict-item]
    return config_from_dict(data)


@pytest.mark.parametrize(
    ("table", "where", "what"),
    [
        ({"table": "app.*"}, "tables[0].table", "a key of its own, `tables`"),
        ({"tables": "app"}, "tables[0].tables", '"app" is not a pattern of tables'),
        ({"tables": []}, "tables[0].tables", "the list is empty"),
        ({"tables": "app.*", "exclude": ["x"]}, "tables[0].exclude", '"x" is not a pattern'),
        ({"tables": "app.*", "table": "app.a"}, "tables[0].table", "cannot both be given"),
        ({"tables": "app.*", "query": "SELECT 1"}, "tables[0].query", "cannot both be given"),
        ({"tables": "app.*", "name": "orders"}, "tables[0].name", "all tables of the pattern would have this name"),
        ({"tables": "app.*", "name": "{tabel}"}, "tables[0].name", "unknown placeholder"),
        ({"tables": "app.*", "name": "{table"}, "tables[0].name", "a brace without its pair"),
        ({"tables": "app.*", "new_tables": "ask"}, "tables[0].new_tables", "not known here"),
        ({"table": "app.a", "new_tables": "capture"}, "tables[0].new_tables", "belongs to a pattern"),
        ({"tables": "app.*", "strategy": "vbd"}, "tables[0].strategy", "`tables` is given"),
        ({"table": "app.a", "every": "1 2 3"}, "tables[0].every", "not a line of cron"),
        ({"table": "app.a", "every": "61 * * * *"}, "tables[0].every", "not a line of cron"),
        ({"table": "app.a", "every": "0 0 30 2 *"}, "tables[0].every", "not a line of cron"),
    ],
)
def test_mistakes(table: dict[str, Any], where: str, what: str) -> None:
    with pytest.raises(ConfigError) as failed:
        built(table)
    assert (failed.value.where, what in failed.value.what) == (where, True), str(failed.value)


def test_each_table_gets_the_nearest_setting() -> None:
    source = {"url": "postgresql://reader@127.0.0.1/shop", "defaults": {"every": "5m", "guards": {"allow_empty": True}}}
    config = built(
        {"table": "app.own", "every": "1m"},
        {"table": "app.inherits", "guards": {"max_delete_fraction": 0.1}},
        {"table": "x.other", "source": "plain"},
        sources={"shop": source, "plain": {"url": "postgresql://reader@127.0.0.1/x"}},
        defaults={"every": "1h", "retain": "2d"},
    )
    own, inherits, other = config.streams
    assert [one.every for one in config.streams] == [timedelta(minutes=1), timedelta(minutes=5), timedelta(hours=1)]
    assert (inherits.guards.allow_empty, inherits.guards.max_delete_fraction, other.guards.allow_empty) == (
        True,
        0.1,
        False,
    )
    assert {one.retain for one in config.streams} == {timedelta(days=2)}
    places = [one.place("every") for one in (own, inherits, other)]
    assert places == ["tables[0].every", "sources.shop.defaults.every", "defaults.every"]


def test_rules_see_what_a_source_sets() -> None:
    source = {"url": "postgresql://reader@127.0.0.1/shop", "defaults": {"sinks": ["chnges"], "strategy": "id_rcs"}}
    with pytest.raises(ConfigError) as failed:
        built({"tables": "app.*"}, sources={"shop": source}, sinks={"changes": {"type": "jsonl", "path": "out"}})
    assert failed.value.where == "sources.shop.defaults.sinks[0]"
    with pytest.raises(ConfigError) as failed:
        built({"tables": "app.*"}, sources={"shop": {**source, "defaults": {"strategy": {"type": "ts"}}}})
    assert failed.value.where.startswith("sources.shop.defaults.strategy")


def test_a_stream_of_a_pattern_is_that_of_an_entry_of_its_own() -> None:
    config = built({"tables": "app.*", "name": "{schema}.{table}", "exclude": "app.b", "where": "x > 1"})
    stream = config.of_pattern(config.patterns[0], "app", "a")
    (own,) = built({"table": "app.a", "name": "app.a", "where": "x > 1"}).streams
    assert stream == own
    assert (stream.place("key"), stream.place("table")) == (
        "tables[0].key, stream app.a",
        "tables[0].tables, stream app.a",
    )


def test_a_chosen_strategy_of_a_stream_of_a_pattern() -> None:
    config = built({"tables": "app.*", "name": "{schema}.{table}", "exclude": "app.b"}, {"table": "app.b"})
    other = built({"table": "a.b"}, {"table": "a.c", "strategy": "id_rcs"})
    mds, id_rcs = map(other.strategy_of, other.streams)
    for stream in (config.of_pattern(config.patterns[0], "app", "a"), config.stream("b")):
        chosen = config.with_strategy(stream, id_rcs)
        assert (chosen.strategy, chosen.chosen, chosen.name) == ("id_rcs", True, stream.name)
        assert (config.strategy_of(chosen), config.with_strategy(chosen, None)) == (mds, stream)


def test_files_have_no_tables() -> None:
    files = {"dumps": {"files": "in/*.csv"}}
    for strategy, what in (("dump", "`tables` is given"), ("mds", "source dumps has files")):
        with pytest.raises(ConfigError, match=what):
            built({"tables": "app.*", "source": "dumps", "strategy": strategy}, sources=files)


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp()


@pytest.mark.parametrize(
    ("line", "longest", "after", "following"),
    [
        ("*/5 * * * *", timedelta(minutes=5), "2026-03-01T10:02", "2026-03-01T10:05"),
        ("0 2 * * *", timedelta(days=1), "2026-03-01T02:00", "2026-03-02T02:00"),
        ("0 9-17 * * 1-5", timedelta(hours=64), "2026-03-06T17:00", "2026-03-09T09:00"),
        ("0  0 1 * *", timedelta(days=31), "2026-02-01T00:00", "2026-03-01T00:00"),
        ("0 0 29 2 *", timedelta(days=1461), "2026-02-01T00:00", "2028-02-29T00:00"),
    ],
)
def test_lines_of_cron(line: str, longest: timedelta, after: str, following: str) -> None:
    every = built({"table": "app.a", "every": line}).streams[0].every
    assert isinstance(every, CronLine)
    assert (every, every.next_after(at(after))) == (longest, at(following))
