"""Two streams of one table, `wide` and `s`, and their subscriptions in a relation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import qbcd
from tests.support.places import Place
from tests.support.project import config

WHENS = ("new", "old", "either", "enters", "leaves")
SINKS = {"all": {"type": "jsonl", "path": "out/all"}, "hooks": {"type": "jsonl", "path": "out/hooks"}}
TEXT = {
    "postgresql": "varchar(20)",
    "mariadb": "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin",
    "mysql": "varchar(20) CHARACTER SET utf8mb4 COLLATE utf8mb4_0900_bin",
}


def made(place: Place, strategy: Any, **subscriptions: Any) -> dict[str, Any]:
    """Return a project with two streams of one table: `wide`, and `s`, whose only sink is of subscriptions."""
    kind, when, columns = TEXT[place.kind], place.quote("when"), place.quote("columns")
    place.sql(f"CREATE TABLE orders (id integer PRIMARY KEY, region {kind}, status {kind}, amount decimal(12,2))")
    place.sql(
        f"CREATE TABLE subscription (id varchar(40) PRIMARY KEY, stream varchar(40), {place.quote('condition')} "
        f"varchar(200), {when} varchar(10), ops varchar(10), {columns} varchar(40))"
    )
    tables = [
        {"name": name, "table": "orders", "strategy": strategy, "sinks": sinks}
        for name, sinks in (("wide", ["all"]), ("s", []))
    ]
    section = {
        "from": {"source": "shop", "table": "subscription"},
        "streams": {"wide": "all", "s": "all"},
        "deliver": ["hooks"],
        "narrow": True,
        **subscriptions,
    }
    return config(place.url, *tables, sinks=SINKS, subscriptions=section)


def subscribe(place: Place, *rows: tuple[Any, ...]) -> None:
    """Insert id, condition, and if given when, ops, columns, for both streams."""
    for one in rows:
        every = (*one, *[None] * (5 - len(one)))
        place.insert("subscription", [(f"{stream}-{every[0]}", stream, *every[1:]) for stream in ("wide", "s")])


def matches(folder: Path, stream: str) -> set[tuple[int, str]]:
    """Return key and subscription of all events of a stream."""
    return {
        (event["key"]["id"], name.removeprefix(f"{stream}-"))
        for file in sorted((folder / "out/hooks" / stream).rglob("*.jsonl"))
        for event in map(json.loads, file.read_text().splitlines())
        for name in event["subscriptions"]
    }


def with_eu(place: Place, strategy: Any = "mds", **subscriptions: Any) -> dict[str, Any]:
    """Return a project as :func:`made`, with two rows and a subscription of region EU."""
    data = made(place, strategy, **subscriptions)
    place.sql("INSERT INTO orders VALUES (1, 'EU', NULL, 1), (2, 'US', 'x', 2)")
    subscribe(place, ("eu", "region = 'EU'"))
    return data


def needs(project: qbcd.Project, stream: str = "s") -> str:
    """Return the restriction of a narrowed stream."""
    return next(one.narrowed for one in project.subscriptions().interests if one.stream == stream)


def project_of(place: Place, strategy: Any = "mds", **subscriptions: Any) -> dict[str, Any]:
    """Return a project with stream `s` and three rows, which sends rows that a new subscription matches already."""
    data = made(place, strategy, **{"narrow": False, "initial": "replica", **subscriptions})
    data["tables"] = data["tables"][1:]
    del data["subscriptions"]["streams"]["wide"]
    place.sql("INSERT INTO orders VALUES (1, 'EU', 'new', 1), (2, 'US', 'late', 2), (3, 'EU', 'late', 3)")
    return data
