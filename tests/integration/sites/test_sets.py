"""`types: {column: set}`: another order of elements is no change, and updates say which elements changed."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import ConfigError, QbcdError, SchemaChanged
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.watched_polls import SETTLE, stamped

# column: its type, its kind, and texts of its values by name
ARRAYS = {
    "tags": ("text[]", "set"),
    "numbers": ("int[]", "multiset"),
    "data": ("jsonb", "set"),
    "listed": ("text", {"set": ","}),
}
DOCUMENTS = {
    "tags": ("json", "set"),
    "numbers": ("json", "multiset"),
    "data": ("json", "set"),
    "listed": ("text", {"set": ","}),
}
NO_SETS = {"mysql": None}  # it refuses them


def columns_of(place: Place) -> dict[str, tuple[str, Any]]:
    return ARRAYS if place.kind == "postgresql" else DOCUMENTS


def array(place: Place, texts: list[str | None] | None) -> str | None:
    """Return an array of texts as the database reads it."""
    if texts is None or place.kind != "postgresql":
        return None if texts is None else json.dumps(texts)
    return "{" + ",".join("NULL" if text is None else json.dumps(text) for text in texts) + "}"


def numbers(place: Place, values: list[int]) -> str:
    return json.dumps(values) if place.kind != "postgresql" else "{" + ",".join(map(str, values)) + "}"


def ways(place: Place) -> dict[str, Any]:
    """Return a strategy of each kind: values or digests, in the source or in files, whole tables or windows."""
    return {
        "mds": "mds",
        "id": {"type": "id", "rows_per_range": 3},
        "lake": {"type": "id_rcs", "rows_per_range": 3},
        "digest": {"type": "id_rcs", "rows_per_range": 3, "replica": "digest"},
        "tlcs": {"type": "tlcs", "replica": "lake"},
        "sums": {"type": "tlcs", "checksums": "remote"},
        "copied": stamped(place, "ts"),
        "ts": stamped(place, "ts", replica="lake"),
    }


class Sets:
    """Table `t` with sets, and a stream for each strategy.

    Args:
        strategies: By name of the stream.
        more: Further keys of every stream.
    """

    def __init__(self, place: Place, folder: Path, strategies: dict[str, Any], **more: Any) -> None:
        self.place, self.folder, self.names = place, folder, list(strategies)
        self.columns = columns_of(place)
        at = "timestamptz DEFAULT clock_timestamp()" if place.kind == "postgresql" else "timestamp(6) DEFAULT now(6)"
        ddl = ", ".join(f"{name} {kind}" for name, (kind, _) in self.columns.items())
        place.sql(f"CREATE TABLE t (id integer PRIMARY KEY, {ddl}, at {at} NOT NULL)")
        types = {name: kind for name, (_, kind) in self.columns.items()}
        shared = {"table": place.table("t"), "columns": list(types), "types": types, **more}
        self.data = config(place.url, *({"name": n, "strategy": how, **shared} for n, how in strategies.items()))
        self.project = opened(self.data, folder)
        self._read = dict.fromkeys(strategies, 0)

    def put(self, key: int, *values: str | None) -> None:
        """Insert a row, or replace it."""
        names = list(self.columns)
        clock = "clock_timestamp()" if self.place.kind == "postgresql" else "sysdate(6)"
        if self.place.sql(f"SELECT 1 FROM t WHERE id = {key}"):
            sets = ", ".join(f"{name} = %s" for name in names)
            self.place.sql(f"UPDATE t SET {sets}, at = {clock} WHERE id = {key}", values)
        else:
            places = ", ".join(["%s"] * len(names))
            self.place.sql(f"INSERT INTO t (id, {', '.join(names)}) VALUES ({key}, {places})", values)

    def prepare(self) -> None:
        time.sleep(SETTLE)
        for name in self.names:
            self.project.stream(name).prepare()

    def poll(self, name: str) -> dict[int, dict[str, Any]]:
        """Poll a stream, and return its new events by key."""
        time.sleep(SETTLE)
        poll(self.project, name)
        files = sorted((self.folder / "out/changes" / name).glob("*.jsonl"))
        lines = [line for file in files for line in file.read_text(encoding="utf-8").splitlines()]
        new = [json.loads(line) for line in lines[self._read[name] :]]
        self._read[name] = len(lines)
        return {event["key"]["id"]: event for event in new}


def elements(found: dict[int, dict[str, Any]]) -> dict[int, Any]:
    return {key: event["elements"] for key, event in found.items()}


@over(
    "names",
    [("mds", "digest"), pytest.param(("id", "lake", "tlcs", "sums", "ts", "copied"), marks=pytest.mark.campaign)],
    without=NO_SETS,
)
def test_only_other_elements_are_a_change(place: Place, workspace: Path, names: tuple[str, ...]) -> None:
    without_old = ("digest", "sums")
    seen = Sets(place, workspace, {name: ways(place)[name] for name in names})
    with seen.project:
        for key in range(1, 6):
            seen.put(key, array(place, ["b", "a", None, "c,d"]), numbers(place, [10, 9, 9]), '["b", 1, "1"]', "y,x")
        seen.prepare()
        seen.put(1, array(place, ["c,d", None, "a", "b", "a"]), numbers(place, [9, 10, 9]), '[1, "1", "b", 1]', "x,y,x")
        seen.put(2, array(place, ["a", "b", 'say "n"\\']), numbers(place, [9, 10]), '["b", 1, null, 1.5]', "y,z")
        seen.put(3, array(place, []), numbers(place, []), "[]", "")
        seen.put(4, array(place, None), numbers(place, [9, 9, 9, 10]), None, None)
        expected: dict[int, dict[str, Any]] = {
            2: {
                "tags": {"added": ['say "n"\\'], "removed": [None, "c,d"]},
                "numbers": {"added": [], "removed": [9]},
                "data": {"added": [1.5, None], "removed": ["1"]},
                "listed": {"added": ["z"], "removed": ["x"]},
            },
            3: {
                "tags": {"added": [], "removed": [None, "a", "b", "c,d"]},
                "numbers": {"added": [], "removed": [9, 9, 10]},
                "data": {"added": [], "removed": ["1", "b", 1]},
                "listed": {"added": [], "removed": ["x", "y"]},
            },
            4: {"tags": None, "numbers": {"added": [9], "removed": []}, "data": None, "listed": None},
        }
        for name in seen.names:
            found = seen.poll(name)
            assert sorted(found) == [2, 3, 4], name
            if name not in without_old:
                assert {key: sorted_elements(one) for key, one in elements(found).items()} == {
                    key: sorted_elements(one) for key, one in expected.items()
                }, name
                assert {key: event["changed"] for key, event in found.items()} == {
                    key: list(seen.columns) for key in found
                }
            else:
                assert set(map(json.dumps, elements(found).values())) == {"null"}
            assert seen.project.stream(name).verify() == [], name
        seen.put(4, array(place, []), numbers(place, [9, 9, 10, 9]), "[]", "")
        seen.put(3, array(place, []), numbers(place, []), '[[2, 1], {"a": 1}]', ",")
        seen.put(5, array(place, ["a", "b", "c,d", None]), numbers(place, [9, 10, 9]), '["b", 1, "1"]', "x,y")
        for name in seen.names:
            found = seen.poll(name)
            assert sorted(found) == [3, 4], name
            if name not in without_old:
                lists = {"added": [""], "removed": []}
                assert elements(found)[3] == {"data": None, "listed": lists}, name
                assert elements(found)[4] == {"tags": None, "data": None, "listed": None}, name
            assert seen.project.stream(name).verify() == [], name


def sorted_elements(found: dict[str, Any]) -> dict[str, Any]:
    """Return elements in an order of the test's own."""
    return {
        name: lists and {which: sorted(some, key=json.dumps) for which, some in lists.items()}
        for name, lists in found.items()
    }


@over(elsewhere=[], without=NO_SETS)
def test_one_and_its_texts_are_three_elements(place: Place, workspace: Path) -> None:
    seen = Sets(place, workspace, {"lake": "id_rcs"})
    with seen.project:
        seen.put(1, array(place, ["a"]), numbers(place, [1]), "[1]", "a")
        seen.prepare()
        for data, added, removed in (('["1"]', ["1"], [1]), ("[1.0]", [1.0], ["1"]), ("[1.0, 1]", [1], [])):
            seen.put(1, array(place, ["a"]), numbers(place, [1]), data, "a")
            found = seen.poll("lake")[1]["elements"]
            assert json.dumps(found) == json.dumps({"data": {"added": added, "removed": removed}})


@pytest.mark.campaign
@over(elsewhere=[], without=NO_SETS)
def test_the_events_of_python_have_the_elements_as_json(place: Place, workspace: Path) -> None:
    seen = Sets(place, workspace, {"lake": "id_rcs"})
    with seen.project:
        seen.put(1, array(place, ["b", "a"]), numbers(place, [2, 1]), "[1]", "b,a")
        seen.prepare()
        list(seen.project.stream("lake").poll())
        seen.put(1, array(place, ["c", "a"]), numbers(place, [1, 2]), "[1]", "a,b")
        (batch,) = seen.project.stream("lake").poll()
        (event,) = batch.rows()
        tags = ["a", "c"] if place.kind == "postgresql" else '["a", "c"]'
        assert (event["after"]["tags"], event["after"]["listed"]) == (tags, "a,b")
        assert json.loads(event["elements"]) == {"tags": {"added": ["c"], "removed": ["b"]}}


@over(
    "name, kind",
    [("id", "set"), ("at", "set"), ("listed", "set"), ("tags", {"set": ","})],
    elsewhere=[("id", "set")],
    without={"mariadb": [("tags", {"set": ","})]},  # its JSON is a text
)
def test_a_column_that_has_no_elements_is_refused(place: Place, workspace: Path, name: str, kind: Any) -> None:
    types = {one: how for one, (_, how) in columns_of(place).items()}
    seen = Sets(place, workspace, {"lake": "id_rcs"}, columns=[*types, "at"])
    with seen.project:
        pass
    seen.data["tables"][0]["types"] = {name: kind}
    with opened(seen.data, workspace) as project, pytest.raises(ConfigError, match=f"column '{name}' cannot be a set"):
        project.stream("lake").prepare()


@over(elsewhere=[], without=NO_SETS)
def test_another_kind_is_refused_until_reset(place: Place, workspace: Path) -> None:
    seen = Sets(place, workspace, {"mds": "mds", "lake": "id_rcs"})
    with seen.project:
        seen.put(1, array(place, ["b", "a"]), numbers(place, [1]), "[1]", "a")
        seen.prepare()
    for table in seen.data["tables"]:
        table["types"] = {**table["types"], "tags": "multiset"}
    with opened(seen.data, workspace) as project:
        for name in seen.names:
            with pytest.raises((SchemaChanged, QbcdError), match="reset"):
                poll(project, name)
