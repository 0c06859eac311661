"""Drawn ALTERs of a source's table between drawn writes: wider types, other types, further and nullable columns."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Literal

from tests.support.places import Place
from tests.support.widenings import OTHERS, WIDER, Widening, alter, kind_of, wider_key

Expected = Literal["delivered", "refused"]
COLUMNS = 4  # with a case each


class DrawnAlters:
    """Table `t` with a key that may get wider, some columns with a case each, and a column that must not be NULL.

    Args:
        place: The database.
        seed: The same table and the same statements for the same seed.
        skip: Types that a target of the test does not take.
    """

    def __init__(self, place: Place, seed: int, skip: Sequence[str] = ()) -> None:
        self.place, self.random = place, Random(seed)
        known = [case for case in WIDER[kind_of(place)] if case.now not in skip]
        self.cases = {f"c{i}": case for i, case in enumerate(self.random.sample(known, COLUMNS))}
        self.others = dict(zip(("x0", "x1"), self.random.sample(list(OTHERS[kind_of(place)]), 2), strict=True))
        self.key, self.required = wider_key(place), ["v"]
        self.wide: set[str] = set()
        self.added, self.keys = 0, list(range(1, 7))
        types = {name: case.then for name, case in self.cases.items()}
        types |= {name: one[0] for name, one in self.others.items()}
        columns = "".join(f", {name} {kind}" for name, kind in types.items())
        place.sql(f"CREATE TABLE t (id {self.key.then} NOT NULL PRIMARY KEY{columns}, v int NOT NULL)")
        for key in self.keys:
            self._insert(key)

    def alter(self) -> Expected:
        """Run a drawn ALTER; return what the next poll must do."""
        narrow = [name for name in [*self.cases, "id"] if name not in self.wide]
        kinds = [*(["wider"] * 5 if narrow else []), "added", "nullable", *["other"]]
        kind = self.random.choice(kinds)
        if kind == "wider":
            names = self.random.sample(narrow, self.random.randint(1, len(narrow)))
            self.wide.update(names)
            types = {name: self._case(name).now for name in names}
            self.place.sql(alter(self.place, "t", types, required=["id"]))
        elif kind == "added":
            self.added += 1
            self.place.sql(f"ALTER TABLE t ADD COLUMN n{self.added} int")
        elif kind == "nullable" and self.required:
            self.required.clear()
            postgres = self.place.kind == "postgresql"
            self.place.sql(f"ALTER TABLE t {'ALTER v DROP NOT NULL' if postgres else 'MODIFY v int NULL'}")
        elif kind == "other":
            name = self.random.choice(list(self.others))
            self.place.sql(alter(self.place, "t", {name: self.others[name][1]}))
            return "refused"
        return "delivered"

    def write(self) -> None:
        """Insert, update and delete some rows, with values of the types of now."""
        for key in self.random.sample(self.keys, 3):
            name = self.random.choice([*self.cases, "v"])
            value = (
                self._value(name) if name != "v" else self.random.choice(["7", *([] if self.required else ["NULL"])])
            )
            self.place.sql(f"UPDATE t SET {name} = {value} WHERE id = {key}")
        gone = self.random.choice(self.keys)
        self.place.sql(f"DELETE FROM t WHERE id = {gone}")
        self.keys.remove(gone)
        base = 5_000_000_000 if "id" in self.wide and self.random.random() < 0.5 else 100
        fresh = base + max(self.keys) % 1_000_000 + 1
        while fresh in self.keys:
            fresh += 1
        self.keys.append(fresh)
        self._insert(fresh)

    def _case(self, name: str) -> Widening:
        return self.key if name == "id" else self.cases[name]

    def _value(self, name: str) -> str:
        case = self.cases[name]
        return self.random.choice([*case.held, "NULL", *([case.beyond] * 3 if name in self.wide else [])])

    def _insert(self, key: int) -> None:
        values = [self._value(name) for name in self.cases]
        values += [one[2] for one in self.others.values()]
        names = ", ".join(["id", *self.cases, *self.others, "v"])
        self.place.sql(f"INSERT INTO t ({names}) VALUES ({key}, {', '.join(values)}, {key % 100})")
