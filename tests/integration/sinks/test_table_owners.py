"""Sink `database`: what the owner of a target table has added to it stays as it is, and works as the owner meant it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import DeliveryError
from qbcd.model import ResentRows, Travel
from qbcd.sinks.table.sink import DatabaseSink
from tests.support.table_batches import EPOCH, MadeBatch, Row, batch_of
from tests.support.table_targets import TargetPlace, new_target

DATABASES = ("postgresql", "mariadb", "sqlite", "duckdb", "mysql")
CHECKING = ("postgresql", "mariadb", "sqlite", "mysql")  # DuckDB has no cascades, no triggers


def over(names: tuple[str, ...], *first: str) -> pytest.MarkDecorator:
    """Run a test on each named database; those that are not `first` are in the campaign."""
    made = [pytest.param(n, marks=() if n in first else (pytest.mark.campaign,)) for n in names]
    return pytest.mark.parametrize("target", made, indirect=True)


FORMS = (
    ("id", Travel("int64")),
    ("boss", Travel("int64")),
    ("code", Travel("int32")),
    ("name", Travel("text")),
    ("rate", Travel("float64")),
)
TEXT = {"postgresql": "text", "sqlite": "text", "duckdb": "varchar"}
MARIA_TEXT = {"mariadb": "varchar(100) COLLATE utf8mb4_nopad_bin", "mysql": "varchar(100) COLLATE utf8mb4_0900_bin"}
DOUBLE = {"sqlite": "real", "mariadb": "double", "mysql": "double"}
WHOLE = {"sqlite": "integer"}
EMP = (
    "CREATE TABLE emp (id {long} NOT NULL, boss {long}, code {int}, name {text}, rate {double}{more}, PRIMARY KEY (id))"
)
NOTE = (
    "CREATE TABLE note (id int PRIMARY KEY, emp {long}, "
    "CONSTRAINT note_emp FOREIGN KEY (emp) REFERENCES emp (id){action})"
)
SELF = ", CONSTRAINT emp_boss FOREIGN KEY (boss) REFERENCES emp (id)"


def words(kind: str) -> dict[str, str]:
    return {
        "long": WHOLE.get(kind, "bigint"),
        "int": WHOLE.get(kind, "int"),
        "text": {**TEXT, **MARIA_TEXT}[kind],
        "double": DOUBLE.get(kind, "double precision"),
    }


class Mirror:
    """A mirror of table `emp` that its owner has created, and the batches that change it."""

    def __init__(self, target: TargetPlace, more: str = "", **options: Any) -> None:
        self.target, self.seq = target, 0
        self.sink = DatabaseSink("copy", target.url, table="emp", **options)
        self.words = words(target.kind)
        self.sql(EMP, more=more)

    def sql(self, text: str, **values: str) -> list[tuple[Any, ...]]:
        for statement in text.format(**self.words, **values).split(";; "):
            found = self.target.sql(statement)
        return found

    def apply(self, *events: tuple[str, Row], **facts: Any) -> None:
        """Write the next batch: operations with the row after them, of a delete before it."""
        self.seq += 1
        self.sink.write(made(events, self.seq, **facts))

    def state(self, columns: str = "id, boss, code, name") -> list[tuple[Any, ...]]:
        return self.target.sql(f"SELECT {columns} FROM emp ORDER BY id")


def made(events: Any, seq: int, **facts: Any) -> MadeBatch:
    filled = []
    for op, row in events:
        old = row.get("was")
        image = {name: row.get(name) for name, _ in FORMS}
        before = None if op in "cr" else {**image, **({"id": old} if old is not None else {})}
        after = None if op == "d" else image
        filled.append({"op": op, "key": {"id": image["id"]}, "before": before, "after": after})
    return batch_of(filled, seq, **{"columns": FORMS, "key": ("id",), **facts})


def emp(number: int, boss: int | None = None, code: int | None = None, name: str = "n", **more: Any) -> Row:
    return {"id": number, "boss": boss, "code": code, "name": name, "rate": 0.5, **more}


FOUR = [("r", emp(1)), ("r", emp(2, 1)), ("r", emp(3, 1)), ("r", emp(4, 1))]


@pytest.fixture
def target(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target(request.param, request, tmp_path) as place:
        yield place


@pytest.fixture
def postgres(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TargetPlace]:
    with new_target("postgresql", request, tmp_path) as place:
        yield place


# -- foreign keys ------------------------------------------------------------------------------------------------------
@over(DATABASES, "postgresql", "mariadb", "sqlite", "duckdb")
def test_rows_that_refer_to_an_updated_row_stay(target: TargetPlace) -> None:
    """The owner's table has ON DELETE CASCADE where the database has it; a later batch of all rows deletes one."""
    mirror, action = Mirror(target), "" if target.kind == "duckdb" else " ON DELETE CASCADE"
    mirror.apply(*FOUR)
    mirror.sql(NOTE, action=action)
    mirror.sql("INSERT INTO note VALUES " + ", ".join(f"({n}, {1 + n % 3})" for n in range(12)))
    mirror.apply(*(("u", emp(n, 1, name="nx")) for n in (2, 3)), ("d", emp(4, 1)), ("c", emp(5)))
    assert mirror.state("id, name") == [(1, "n"), (2, "nx"), (3, "nx"), (5, "n")]
    assert mirror.sql("SELECT count(*) FROM note") == [(12,)]
    rows = [("r", emp(1, name="z")), ("r", emp(2, 1)), ("r", emp(3, 1)), ("r", emp(6, 1))]
    mirror.apply(*rows, epoch=EPOCH + 1)
    assert mirror.state("id, name") == [(1, "z"), (2, "n"), (3, "n"), (6, "n")]
    assert mirror.sql("SELECT count(*) FROM note") == [(12,)]
    if action:
        mirror.apply(*rows[1:], epoch=EPOCH + 2)
        assert mirror.sql("SELECT count(*) FROM note") == [(8,)]  # as the owner wants it for deleted rows


@over(CHECKING, "postgresql")
def test_a_resend_replaces_rows_by_their_key(target: TargetPlace) -> None:
    mirror = Mirror(target)
    mirror.apply(*FOUR)
    mirror.sql(NOTE + ";; INSERT INTO note VALUES (1, 1), (2, 3)", action=" ON DELETE CASCADE")
    mirror.sql("DELETE FROM emp WHERE id = 4;; UPDATE emp SET name = 'lost' WHERE id = 3")
    header = made(FOUR, 1).header
    known = {name: getattr(header, name) for name in type(header).__dataclass_fields__}
    again = MadeBatch(ResentRows(**{**known, "fingerprint": "other"}, label="resend-2"), made(FOUR, 1).made)
    mirror.sink.write(again)
    assert mirror.state("id, name") == [(1, "n"), (2, "n"), (3, "n"), (4, "n")]
    assert mirror.sql("SELECT count(*) FROM note") == [(2,)]


@over(CHECKING, "postgresql", "mariadb", "sqlite")
def test_rows_may_refer_to_rows_of_the_same_batch(target: TargetPlace) -> None:
    """Inserts come in any order, a chief is replaced by one that is new, and a whole tree comes at once."""
    mirror = Mirror(target, SELF)
    mirror.apply(("r", emp(3, 2)), ("r", emp(2, 1)), ("r", emp(1)))
    mirror.apply(("d", emp(2, 1)), ("u", emp(3, 5)), ("c", emp(5, 4)), ("c", emp(4, 1)))
    assert mirror.state("id, boss") == [(1, None), (3, 5), (4, 1), (5, 4)]
    mirror.apply(("r", emp(3, 9)), ("r", emp(8, 9)), ("r", emp(9, 9)), epoch=EPOCH + 1)
    assert mirror.state("id, boss") == [(3, 9), (8, 9), (9, 9)]


@over(DATABASES, "postgresql", "mariadb", "sqlite", "duckdb")
def test_a_delete_that_a_foreign_key_forbids_is_refused(target: TargetPlace) -> None:
    mirror = Mirror(target)
    mirror.apply(*FOUR)
    mirror.sql(NOTE, action="")
    mirror.sql("INSERT INTO note VALUES (1, 2), (2, 2), (3, 3)")
    with pytest.raises(DeliveryError) as error:
        mirror.apply(("u", emp(1, name="x")), ("d", emp(2)), ("d", emp(3)), ("d", emp(4)))
    name = {"sqlite": "a foreign key", "duckdb": "foreign key note_emp_id_fkey"}.get(
        target.kind, "foreign key note_emp"
    )
    assert f"{name} of table note refuses the delete of 2 rows of table emp, such as id " in error.value.what
    assert "ON DELETE CASCADE or SET NULL" in error.value.remedy
    assert len(mirror.state()) == 4
    mirror.sql("DELETE FROM note")
    mirror.sink.write(made([("u", emp(1, name="x")), ("d", emp(2)), ("d", emp(3)), ("d", emp(4))], mirror.seq))
    assert mirror.state("id, name") == [(1, "x")]


@over(CHECKING, "sqlite")
def test_a_row_whose_foreign_key_finds_nothing_is_refused(target: TargetPlace) -> None:
    mirror = Mirror(target, SELF)
    mirror.apply(*FOUR)
    with pytest.raises(DeliveryError, match=r"foreign key.* of table emp rejects the batch: a row") as error:
        mirror.apply(("u", emp(2, 77)))
    assert "the batch stays pending" in error.value.remedy
    assert mirror.state("id, boss")[1] == (2, 1)


@over(DATABASES, "duckdb")
def test_indexes_views_and_foreign_keys_to_other_tables(target: TargetPlace) -> None:
    mirror = Mirror(target)
    mirror.sql("DROP TABLE emp;; CREATE TABLE dept (id {long} PRIMARY KEY);; INSERT INTO dept VALUES (1), (2)")
    mirror.sql(EMP, more=", FOREIGN KEY (boss) REFERENCES dept (id)")
    mirror.apply(*FOUR)
    mirror.sql(
        "CREATE INDEX by_name ON emp (name(9))" if target.kind in MARIA_TEXT else "CREATE INDEX by_name ON emp (name)"
    )
    mirror.sql("CREATE VIEW seen AS SELECT id, boss, name FROM emp WHERE code IS NULL")
    mirror.apply(("u", emp(2, 2, name="x")), ("c", emp(9, 2)), ("d", emp(3, 1)))
    assert mirror.sql("SELECT * FROM seen ORDER BY id") == [(1, None, "n"), (2, 2, "x"), (4, 1, "n"), (9, 2, "n")]
    with pytest.raises(DeliveryError, match="foreign key"):
        mirror.apply(("u", emp(2, 3, name="y")))
    mirror.sql("INSERT INTO dept VALUES (3)")
    mirror.sink.write(made([("u", emp(2, 3, name="y"))], mirror.seq))
    assert mirror.state("boss, name")[1] == (3, "y")


# -- unique values -----------------------------------------------------------------------------------------------------
@over(DATABASES, "postgresql", "mariadb", "duckdb")
@pytest.mark.parametrize("rule", ["", " NOT NULL"], ids=["nullable", "required"])
def test_unique_values_change_their_rows(target: TargetPlace, rule: str) -> None:
    """By a swap, a chain, and from a deleted row to an inserted one; a column of the owner keeps its values."""
    mirror = Mirror(target)
    mirror.sql("ALTER TABLE emp ADD COLUMN own int DEFAULT 7")
    mirror.apply(("r", emp(1, code=10)), ("r", emp(2, 1, 20)), ("r", emp(3, 2, 30)), ("r", emp(4, 2, 40)))
    mirror.sql("UPDATE emp SET own = id")
    if rule:
        change = "MODIFY code int NOT NULL" if target.kind in MARIA_TEXT else "ALTER COLUMN code SET NOT NULL"
        if target.kind == "sqlite":
            pytest.skip("SQLite cannot add NOT NULL to a column")
        mirror.sql(f"ALTER TABLE emp {change}")
    mirror.sql("CREATE UNIQUE INDEX one_code ON emp (code)")
    mirror.apply(("u", emp(1, code=20)), ("u", emp(2, 1, 10)))
    mirror.apply(("u", emp(2, 1, 30)), ("u", emp(3, 2, 40)), ("u", emp(4, 2, 50)))
    mirror.apply(("d", emp(3, 2, 40)), ("c", emp(5, 2, 40)), ("u", emp(4, 5, 50)))
    assert mirror.state("id, code, own") == [(1, 20, 1), (2, 30, 2), (4, 50, 4), (5, 40, 7)]


@over(CHECKING, "postgresql", "mariadb", "sqlite")
def test_a_unique_value_is_handed_over_while_rows_refer_to_both(target: TargetPlace) -> None:
    """No order serves both constraints: the value is NULL in the deleted row for a moment."""
    mirror = Mirror(target, SELF + ", CONSTRAINT one_code UNIQUE (code)")
    mirror.apply(("r", emp(1, code=10)), ("r", emp(2, 1, 20)), ("r", emp(3, 2, 30)))
    mirror.sql(NOTE, action=" ON DELETE CASCADE")
    mirror.sql("INSERT INTO note VALUES (1, 1), (2, 3)")
    mirror.apply(("d", emp(2, 1, 20)), ("u", emp(3, 4, 10)), ("u", emp(1, 4, 30)), ("c", emp(4, None, 20)))
    assert mirror.state("id, boss, code") == [(1, 4, 30), (3, 4, 10), (4, None, 20)]
    assert mirror.sql("SELECT count(*) FROM note") == [(2,)]


def test_a_swap_that_no_way_allows_is_refused(postgres: TargetPlace) -> None:
    """Rows are not deleted where a foreign key refers to them; DEFERRABLE lets the database do it."""
    mirror = Mirror(postgres)
    mirror.apply(("r", emp(1, code=10)), ("r", emp(2, 1, 20)))
    mirror.sql("ALTER TABLE emp ALTER COLUMN code SET NOT NULL, ADD CONSTRAINT one_code UNIQUE (code)")
    mirror.sql(NOTE + ";; INSERT INTO note VALUES (1, 1)", action=" ON DELETE CASCADE")
    swap = [("u", emp(1, code=20)), ("u", emp(2, 1, 10))]
    with pytest.raises(DeliveryError, match="unique constraint one_code of table emp rejects a row") as error:
        mirror.apply(*swap)
    assert "DEFERRABLE" in error.value.remedy
    mirror.sql("ALTER TABLE emp DROP CONSTRAINT one_code, ADD CONSTRAINT one_code UNIQUE (code) DEFERRABLE")
    mirror.sink.write(made(swap, mirror.seq))
    assert mirror.state("id, code") == [(1, 20), (2, 10)]
    assert mirror.sql("SELECT count(*) FROM note") == [(1,)]


# -- triggers, own columns ---------------------------------------------------------------------------------------------
TRIGGERS = {
    "postgresql": "CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;; "
    "CREATE TRIGGER keep BEFORE DELETE ON emp FOR EACH ROW EXECUTE FUNCTION keep();; "
    "CREATE FUNCTION seen() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.own = OLD.own + 100; RETURN NEW; END $$;; "
    "CREATE TRIGGER seen BEFORE UPDATE ON emp FOR EACH ROW EXECUTE FUNCTION seen()",
    "mariadb": "CREATE TRIGGER keep BEFORE DELETE ON emp FOR EACH ROW SIGNAL SQLSTATE '45000';; "
    "CREATE TRIGGER seen BEFORE UPDATE ON emp FOR EACH ROW SET NEW.own = OLD.own + 100",
    "sqlite": "CREATE TRIGGER keep BEFORE DELETE ON emp BEGIN SELECT RAISE(ABORT, 'no'); END;; "
    "CREATE TRIGGER seen AFTER UPDATE OF name ON emp BEGIN UPDATE emp SET own = OLD.own + 100 WHERE id = OLD.id; END",
}
TRIGGERS["mysql"] = TRIGGERS["mariadb"]


@over(CHECKING, "postgresql", "mariadb", "sqlite")
def test_triggers_see_updates_as_updates(target: TargetPlace) -> None:
    """A trigger that prevents deletes does not hold up updates, and a row that is the same is not updated."""
    mirror = Mirror(target)
    mirror.sql("ALTER TABLE emp ADD COLUMN own int DEFAULT 7")
    mirror.apply(*FOUR)
    mirror.target.sql("UPDATE emp SET own = 1")
    for statement in TRIGGERS[target.kind].split(";; "):
        mirror.target.sql(statement)
    mirror.apply(("u", emp(2, 1, name="x")), ("c", emp(5)))
    assert mirror.state("id, own") == [(1, 1), (2, 101), (3, 1), (4, 1), (5, 7)]
    rows = [emp(1), emp(2, 1, name="x"), emp(3, 1, name="y"), emp(4, 1), emp(5)]
    mirror.apply(*(("r", row) for row in rows), epoch=EPOCH + 1)
    assert mirror.state("id, own") == [(1, 1), (2, 101), (3, 101), (4, 1), (5, 7)]


@over(DATABASES, "sqlite")
def test_values_of_generated_columns_follow(target: TargetPlace) -> None:
    kept = {"duckdb": ""}.get(target.kind, " STORED")
    more = f", twice int GENERATED ALWAYS AS (code * 2){kept}"
    mirror = Mirror(target, more)
    mirror.apply(("r", emp(1, code=1)), ("r", emp(2, code=2)))
    mirror.apply(("u", emp(1, code=5)), ("c", emp(3, code=3)))
    assert mirror.state("id, twice") == [(1, 10), (2, 4), (3, 6)]


@over(CHECKING, "postgresql", "sqlite")
@pytest.mark.parametrize("deletes", ["hard", pytest.param("soft", marks=pytest.mark.campaign)])
def test_a_key_that_is_spelled_differently_changes_in_place(target: TargetPlace, deletes: str) -> None:
    soft = ", is_deleted boolean NOT NULL DEFAULT false" if deletes == "soft" else ""
    mirror = Mirror(target, soft, deletes=deletes)
    mirror.sql("ALTER TABLE emp ADD COLUMN own int DEFAULT 7")
    mirror.apply(*FOUR)
    mirror.sql("UPDATE emp SET own = id")
    mirror.sql(NOTE + ";; INSERT INTO note VALUES (1, 3)", action=" ON UPDATE CASCADE")
    mirror.apply(("u", emp(30, 1, name="x", was=3)), ("u", emp(2, 1, name="y")))
    assert mirror.state("id, name, own") == [(1, "n", 1), (2, "y", 2), (4, "n", 4), (30, "x", 3)]
    assert mirror.sql("SELECT emp FROM note") == [(30,)]


@over(DATABASES, "mariadb", "duckdb")
def test_deleted_rows_with_a_flag_return_by_an_update(target: TargetPlace) -> None:
    mirror = Mirror(target, ", is_deleted boolean NOT NULL DEFAULT false, own int DEFAULT 7", deletes="soft")
    mirror.apply(*FOUR)
    mirror.sql("UPDATE emp SET own = id")
    mirror.sql(NOTE + ";; INSERT INTO note VALUES (1, 3), (2, 4)", action="")
    mirror.apply(("d", emp(3, 1)), ("d", emp(4, 1)), ("u", emp(2, 1, name="x")))
    assert mirror.state("id") == [(1,), (2,), (3,), (4,)]
    mirror.apply(("c", emp(3, 1, name="y")), ("c", emp(5)))
    assert [tuple(map(int, row)) for row in mirror.state("id, is_deleted, own")] == [
        (1, 0, 1),
        (2, 0, 2),
        (3, 0, 3),
        (4, 1, 4),
        (5, 0, 7),
    ]


def test_an_identity_column_that_is_always_generated(postgres: TargetPlace) -> None:
    """As key it takes the source's numbers; as another column it can be inserted, and not changed."""
    mirror = Mirror(postgres)
    mirror.sql("ALTER TABLE emp ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY")
    mirror.apply(*FOUR)
    mirror.apply(("u", emp(2, 1, name="x")), ("c", emp(9)), ("d", emp(3)))
    mirror.apply(*FOUR, epoch=EPOCH + 1)
    assert [key for (key,) in mirror.state("id")] == [1, 2, 3, 4]
    mirror.sql("ALTER TABLE emp ALTER COLUMN id DROP IDENTITY")
    mirror.apply(*((op, {**row, "code": row["id"]}) for op, row in FOUR), epoch=EPOCH + 2)
    mirror.sql("ALTER TABLE emp ALTER COLUMN code SET NOT NULL, ALTER COLUMN code ADD GENERATED ALWAYS AS IDENTITY")
    mirror.apply(("u", emp(2, 1, 2, name="y")), epoch=EPOCH + 2)
    assert mirror.state("name")[1] == ("y",)
    with pytest.raises(DeliveryError, match="column code of table emp is GENERATED ALWAYS AS IDENTITY") as error:
        mirror.apply(("u", emp(2, 1, 22)), epoch=EPOCH + 2)
    assert "SET GENERATED BY DEFAULT" in error.value.remedy


def test_partitions_of_mariadb(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    with new_target("mariadb", request, tmp_path) as target:
        mirror = Mirror(target)
        mirror.sql("ALTER TABLE emp PARTITION BY HASH (id) PARTITIONS 3")
        mirror.apply(*FOUR)
        mirror.apply(("u", emp(2, 1, name="x")), ("c", emp(9)), ("d", emp(3)))
        mirror.apply(*FOUR, epoch=EPOCH + 1)
        assert mirror.state("id, name") == [(1, "n"), (2, "n"), (3, "n"), (4, "n")]


def test_partitions_policies_and_views_of_the_owner(postgres: TargetPlace) -> None:
    """The sink's user owns the table here, so that its policies do not restrict it."""
    mirror = Mirror(postgres)
    mirror.sql("DROP TABLE emp")
    mirror.sql(
        "CREATE TABLE emp (id bigint PRIMARY KEY, boss bigint, code int, name text, rate double precision) "
        "PARTITION BY RANGE (id);; CREATE TABLE emp_1 PARTITION OF emp FOR VALUES FROM (0) TO (3);; "
        "CREATE TABLE emp_2 PARTITION OF emp DEFAULT;; CREATE VIEW seen AS SELECT id, name FROM emp;; "
        "ALTER TABLE emp ENABLE ROW LEVEL SECURITY;; CREATE POLICY none ON emp USING (false)"
    )
    mirror.apply(*FOUR)
    mirror.apply(("u", emp(2, 1, name="x")), ("c", emp(9)), ("d", emp(3)))
    mirror.apply(*FOUR, epoch=EPOCH + 1)
    assert mirror.sql("SELECT id, name FROM seen ORDER BY id") == [(1, "n"), (2, "n"), (3, "n"), (4, "n")]


@pytest.mark.filterwarnings("error::sqlalchemy.exc.SAWarning")
@pytest.mark.parametrize("deletes", ["hard", "soft"])
@over(DATABASES, "sqlite")
def test_a_result_of_one_row_changes_in_place(target: TargetPlace, deletes: str) -> None:
    """It has no key, so that every row of the target is its row."""
    sink, seen = DatabaseSink("copy", target.url, table="one", deletes=deletes), []
    steps = [("r", 1), ("u", 2), ("d", 2), ("c", 5), ("r", 7)]
    for seq, (op, value) in enumerate(steps, 1):
        row = {"v": value}
        image = {"before": None if op in "cr" else row, "after": None if op == "d" else row}
        facts = {"columns": (("v", Travel("int64")),), "key": (), "one_row": True, "epoch": EPOCH + (value == 7)}
        sink.write(batch_of([{"op": op, "key": None, **image}], seq, **facts))
        seen.append(target.sql("SELECT v FROM one" + (" WHERE NOT is_deleted" if deletes == "soft" else "")))
    assert seen == [[(1,)], [(2,)], [], [(5,)], [(7,)]]


# -- drawn -------------------------------------------------------------------------------------------------------------
class DrawnTree:
    """Employees whose chiefs, unique codes and names change at random; the rows are valid after each batch."""

    def __init__(self, seed: int) -> None:
        self.random, self.rows, self.next = random.Random(seed), dict[int, Row](), 0
        for _ in range(8):
            self._insert()

    def change(self) -> list[tuple[str, Row]]:
        """Change rows and return the net operations, in any order."""
        before = dict(self.rows)
        for _ in range(self.random.randint(1, 8)):
            steps: list[Callable[[], object]] = [self._insert, self._update, self._swap, self._shift]
            self.random.choice([*steps, self._delete, self._replace])()
        found = [("d", row) for key, row in before.items() if key not in self.rows]
        found += [("c", row) for key, row in self.rows.items() if key not in before]
        found += [("u", row) for key, row in self.rows.items() if key in before and before[key] != row]
        self.random.shuffle(found)
        return found or self.change()

    def _any(self) -> int | None:
        return self.random.choice([*self.rows, None])

    def _insert(self, code: int | None = None) -> int:
        self.next += 1
        self.rows[self.next] = emp(self.next, self._any(), self.next + 1000 if code is None else code)
        return self.next

    def _set(self, key: int, **values: Any) -> None:
        self.rows[key] = {**self.rows[key], **values}

    def _update(self) -> None:
        if self.rows:
            key = self.random.choice(list(self.rows))
            values: list[Row] = [{"name": f"n{self.random.random()}"}, {"boss": self._any()}]
            self._set(key, **self.random.choice(values))

    def _swap(self) -> None:
        if len(self.rows) > 1:
            one, two = self.random.sample(list(self.rows), 2)
            codes = self.rows[one]["code"], self.rows[two]["code"]
            self._set(one, code=codes[1])
            self._set(two, code=codes[0])

    def _shift(self) -> None:
        keys = self.random.sample(list(self.rows), min(len(self.rows), 4))
        codes = [self.rows[key]["code"] for key in keys]
        for key, code in zip(keys, [*codes[1:], self.next + 5000], strict=False):
            self._set(key, code=code)
        self.next += 1

    def _delete(self) -> int | None:
        if len(self.rows) < 4:
            return None
        key = self.random.choice(list(self.rows))
        code: int = self.rows.pop(key)["code"]
        heir = self._any()
        for other, row in self.rows.items():
            if row["boss"] == key:
                self._set(other, boss=heir)
        return code

    def _replace(self) -> None:
        if (code := self._delete()) is not None:
            new = self._insert(code)
            self._set(self.random.choice(list(self.rows)), boss=new)


LONG = pytest.param(150, marks=pytest.mark.campaign)


@pytest.mark.campaign
@over(DATABASES, "postgresql", "mariadb", "sqlite", "duckdb")
@pytest.mark.parametrize("batches", [6, LONG])
def test_drawn_batches_keep_constraints_and_what_the_owner_added(target: TargetPlace, batches: int) -> None:
    """Own values stay with their rows, and the owner's rows are deleted with theirs only."""
    self_keyed = target.kind != "duckdb"  # see docs/reference/target-tables.md#duckdb
    drawn, constraints = DrawnTree(batches), (SELF if self_keyed else "") + ", CONSTRAINT one_code UNIQUE (code)"
    mirror = Mirror(target, ", own int DEFAULT 7" + constraints)
    mirror.apply(*(("r", row) for row in drawn.rows.values()))
    if self_keyed:
        mirror.sql(NOTE, action=" ON DELETE CASCADE")
    own, notes, epoch = dict.fromkeys(drawn.rows, 7), set[int](), EPOCH
    for number in range(batches):
        for key in drawn.random.sample(list(drawn.rows), min(2, len(drawn.rows))):
            own[key] = drawn.random.randrange(1000)
            mirror.sql(f"UPDATE emp SET own = {own[key]} WHERE id = {key}")
            if self_keyed and key not in notes:
                mirror.sql(f"INSERT INTO note VALUES ({key}, {key})")
                notes.add(key)
        events = drawn.change()
        if number % 5 == 4:  # the whole state
            epoch, events = epoch + 1, [("r", row) for row in drawn.rows.values()]
        mirror.apply(*events, epoch=epoch)
        notes &= drawn.rows.keys()
        names = ("id", "boss", "code", "name")
        rows = sorted(drawn.rows.items())
        expected = [(*(row[name] for name in names), own.get(key, 7)) for key, row in rows]
        assert mirror.state("id, boss, code, name, own") == expected, number
        if self_keyed:
            assert {key for (key,) in mirror.sql("SELECT emp FROM note")} == notes
