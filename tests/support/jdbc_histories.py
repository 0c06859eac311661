"""Drawn histories of a table of any database, and the state that its events must give."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import qbcd
from tests.support.jdbc_places import JdbcPlace, source_lines
from tests.support.oracle import events

Row = dict[str, Any]
TYPES = {"sqlite": ("INTEGER", "TEXT", "INTEGER"), "derby": ("BIGINT", "VARCHAR(40)", "DECIMAL(12,2)")}
WORDS = ("", "a", "A", "ß", "日本", "it''s", "x y", "😀")


class History:
    """A table `Orders` and what is in it.

    Args:
        place: The database.
        folder: A folder for the project.
        seed: The seed of all that is drawn.
        options: Further settings of the stream.
    """

    def __init__(self, place: JdbcPlace, folder: Path, seed: int, **options: Any) -> None:
        self.place, self.folder, self.drawn = place, folder, random.Random(seed)
        number, text, amount = TYPES.get(place.name, ("BIGINT", "VARCHAR(40)", "DECIMAL(12,2)"))
        q = place.quoted
        self.whole = amount == "INTEGER"
        self.table = q("Orders")
        place.execute(
            f"CREATE TABLE {self.table} ({q('id')} {number} NOT NULL PRIMARY KEY, {q('Name')} {text}, "
            f"{q('amount')} {amount})"
        )
        self.words: list[str | None] = [None, *WORDS]
        self.rows: dict[int, Row] = {}
        self.replayed: dict[int, Row] = {}
        self.seen = 0
        self.stream = "orders"
        self.settings = self.settings_of(place, folder, "Orders", "orders", **options)

    @staticmethod
    def settings_of(place: JdbcPlace, folder: Path, table: str, stream: str, **options: Any) -> dict[str, Any]:
        """Return the configuration of a project with one stream; its files are in a folder of the stream's name."""
        schema = {"h2": "PUBLIC.", "hsqldb": "PUBLIC."}.get(place.name, "")
        home = folder if stream == "orders" else folder / stream
        entry = {"table": f"{schema}{table}", "name": stream, "guards": {"max_delete_fraction": 1.0}, **options}
        if stream != "orders":
            entry.setdefault("baseline", "events")
        return {
            "version": 1,
            "workdir": str(home / "work"),
            "state": f"sqlite:///{home}/state.db",
            "sources": {"shop": source_lines(place)},
            "sinks": {"out": {"type": "jsonl", "path": str(home / "out")}},
            "defaults": {"source": "shop", "sinks": ["out"], "strategy": "id_rcs"},
            "tables": [entry],
        }

    @staticmethod
    def opened(place: JdbcPlace, folder: Path, settings: dict[str, Any]) -> qbcd.Project:
        """Return the project of a configuration; the caller closes it."""
        folder.mkdir(exist_ok=True)
        path = folder / "qbcd.yaml"
        path.write_text(json.dumps(settings), encoding="utf-8")
        return qbcd.open(path, spark=place.spark)

    def open(self) -> qbcd.Project:
        """Return the project; the caller closes it."""
        return self.opened(self.place, self.folder, self.settings)

    def change(self, number: int) -> None:
        """Change about that many rows."""
        done = []
        for _ in range(number):
            known = list(self.rows)
            op = self.drawn.choice("iiud" if known else "i")
            if op == "i":
                key = self.drawn.choice([self.drawn.randrange(10**6), self.drawn.randrange(-(2**63), 2**63)])
                if key not in self.rows:
                    self.rows[key] = self._row()
                    done.append(f"INSERT INTO {self.table} VALUES ({key}, {self._values(self.rows[key])})")
            elif op == "u":
                key = self.drawn.choice(known)
                self.rows[key] = self._row()
                named = zip(("Name", "amount"), self._values(self.rows[key]).split("\0"), strict=True)
                done.append(
                    f"UPDATE {self.table} SET {', '.join(f'{self.place.quoted(n)} = {v}' for n, v in named)} "
                    f"WHERE {self.place.quoted('id')} = {key}"
                )
            else:
                del self.rows[key := self.drawn.choice(known)]
                done.append(f"DELETE FROM {self.table} WHERE {self.place.quoted('id')} = {key}")
        self.place.execute(*(text.replace("\0", ", ") for text in done))

    def _row(self) -> Row:
        name = self.drawn.choice(self.words)
        cents = self.drawn.choice([None, self.drawn.randrange(-(10**11), 10**11)])
        amount: Any = cents
        if cents is not None and not self.whole:
            amount = str(Decimal(cents).scaleb(-2))
        return {"Name": name.replace("''", "'") if name is not None else None, "amount": amount}

    def _values(self, row: Row) -> str:
        escaped = None if row["Name"] is None else row["Name"].replace("'", "''")
        name = "NULL" if escaped is None else f"'{escaped}'"
        amount = "NULL" if row["amount"] is None else str(row["amount"])
        return f"{name}\0{amount}"

    def replay(self) -> None:
        """Apply the new events of the sink, and compare with the table."""
        found = events(self.folder / "out", self.stream)
        for event in found[self.seen :]:
            key = (event["key"] or event["after"] or event["before"])["id"]
            before = self.replayed.pop(key, None)
            assert (before is None) == (event["op"] in ("c", "r")), event
            if event["before"] is not None and before is not None:
                assert event["before"] == {"id": key, **before}
            if event["after"] is not None:
                self.replayed[key] = {name: event["after"][name] for name in ("Name", "amount")}
        self.seen = len(found)
        assert self.replayed == self.rows
