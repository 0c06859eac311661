"""The judgment whether a target's names, table and record fit the batches of a stream.

The table and its record may exist already. One set of functions serves `qbcd check`, `prepare` and each delivery.
They connect to nothing, and return all problems.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from qbcd.common.wording import counted
from qbcd.errors import DeliveryError, DeliveryGap
from qbcd.model import PlannedBatch
from qbcd.sinks.table.databases.base import ExistingColumn, ExistingTable, TableProblem
from qbcd.sinks.table.layout import Layout, TargetColumn
from qbcd.sinks.table.record import TableRecord, Verdict
from qbcd.sinks.table.write import OWN_TABLES, RECORD_COLUMNS, RECORD_TABLE, TargetWrite

OTHER_TABLE = "name another table with `table` of the sink"
OTHER_NAME = "exclude the column, or capture a view that names it differently"
_EMPTY_FACTS = frozenset(("qbcd_changed", "qbcd_reason", "qbcd_pair_id", "key", "before", "after", "valid_to"))


def refuse(problems: Sequence[DeliveryError]) -> None:
    """Raise the first of some problems, with the number of the others.

    Raises:
        DeliveryError: There is one.
    """
    if not problems:
        return
    first, *others = problems
    if others:
        more = counted(len(others), "more problem")
        first.remedy += f"; qbcd check {first.stream} shows {more}"
    raise first


# -- names -------------------------------------------------------------------------------------------------------------
def name_problems(write: TargetWrite, layout: Layout) -> list[DeliveryError]:
    """Return why the database cannot have the names of a target table and of its columns."""
    return [*_table_name(write), *_column_names(write, layout), *_equal_names(write, layout)]


def _table_name(write: TargetWrite) -> Iterator[DeliveryError]:
    database, name = write.database, write.name
    remedy = "write another `table` of the sink"
    if what := _unfit_name(write, name, of_column=False):
        yield _problem(write, f"the table name {name} {what}", remedy)
    if database.folded_table(name) in map(database.folded_table, OWN_TABLES):
        yield _problem(write, f"the table name {name} is that of a table of qbcd's own", remedy)


def _column_names(write: TargetWrite, layout: Layout) -> Iterator[DeliveryError]:
    for one in layout.columns:
        if what := _unfit_name(write, one.name, of_column=True):
            yield _problem(write, f"column {one.name} cannot be in table {write.name}: its name {what}", OTHER_NAME)


def _unfit_name(write: TargetWrite, name: str, *, of_column: bool) -> str:
    """Return why the database takes no such name, after "the name"; usually empty."""
    database, product = write.database, write.database.product
    if not name or "\0" in name:
        return "has a NUL character" if name else "is empty"
    if (length := database.name_length(name)) > database.longest_name:
        return f"has {length:,} {database.unit}, and names in {product} have {database.longest_name} at most"
    return f"{problem} in {product}" if (problem := database.name_problem(name, of_column=of_column)) else ""


def _equal_names(write: TargetWrite, layout: Layout) -> Iterator[DeliveryError]:
    """Yield names that a table, or the staged rows, cannot have twice."""
    database = write.database
    for names in ([one.name for one in layout.columns], [name for name, _ in layout.staged]):
        seen: dict[str, str] = {}
        for name in names:
            folded = database.folded(name)
            if folded in seen:
                yield _equal(write, seen[folded], name)
            seen[folded] = name


def _equal(write: TargetWrite, first: str, second: str) -> DeliveryError:
    captured = {name for name, _ in write.header.columns}
    remedy = OTHER_NAME
    if write.options.mode == "scd2":
        remedy += "; columns_like: dbt or spark has other names"
    what = f"table {write.name} would have the columns {first} and {second}"
    if first != second and {first, second} <= captured:
        what += f", which are one name in {write.database.product}"
    else:
        what += ", one of the stream and one of qbcd's own"
    return _problem(write, what, remedy)


# -- tables that exist -------------------------------------------------------------------------------------------------
def record_problems(write: TargetWrite, found: ExistingTable | None) -> list[DeliveryError]:
    """Return why a table cannot be that of the records."""
    if found is None:
        return []
    known = {write.database.folded(name) for name in found.types}
    lacking = [one.name for one in RECORD_COLUMNS if write.database.folded(one.name) not in known]
    if found.kind == "table" and not lacking:
        return [_about(write, RECORD_TABLE, one) for one in found.unfit]
    what = f"is a {found.kind}" if found.kind != "table" else f"has no column {lacking[0]}"
    return [
        _problem(
            write,
            f"{RECORD_TABLE} {what}: it is not the table in which qbcd records its batches",
            f"rename it, or choose another `schema` for the sink: qbcd needs the name {RECORD_TABLE}",
        )
    ]


def table_problems(
    write: TargetWrite, layout: Layout, found: ExistingTable | None, record: TableRecord | None, judged: Verdict
) -> list[DeliveryError]:
    """Return why batches cannot be applied to the target table as it is."""
    if found is None:
        return _missing_table(write, record, judged)
    name = write.name
    if found.kind != "table":
        article = "an" if found.kind[0] in "aeiou" else "a"
        return [_problem(write, f"{name} is {article} {found.kind}, and batches need a table", OTHER_TABLE)]
    problems = []
    if record is None and found.has_rows:
        remedy = "empty it, or name another one with `table` of the sink"
        problems.append(_problem(write, f"table {name} has rows that this sink did not write", remedy))
    problems += [_about(write, name, one) for one in found.unfit]
    problems += _column_problems(write, layout, found)
    problems += _foreign_columns(write, layout, found)
    return [*problems, *_key_problems(write, layout, found)]


def missing_columns(write: TargetWrite, layout: Layout, found: ExistingTable) -> list[TargetColumn]:
    """Return the columns that must be added to a table."""
    known = {write.database.folded(name) for name in found.types}
    return [one for one in layout.columns if write.database.folded(one.name) not in known]


def _missing_table(write: TargetWrite, record: TableRecord | None, judged: Verdict) -> list[DeliveryError]:
    if record is None or judged != "next":
        return []
    stream = write.header.stream
    what = f"table {write.name} is missing, and it had batch {record.epoch}/{record.seq}"
    remedy = f"restore it, or qbcd resend {stream} {write.sink} fills a new one"
    return [DeliveryGap(what, remedy=remedy, stream=stream)]


def _column_problems(write: TargetWrite, layout: Layout, found: ExistingTable) -> Iterator[DeliveryError]:
    database, name = write.database, write.name
    known = {database.folded(one.name): one for one in found.columns}
    for wanted in layout.columns:
        there = known.get(database.folded(wanted.name))
        if there is None:
            if wanted.required:
                remedy = "drop the table, or name another one with `table` of the sink"
                yield _problem(write, f"table {name} has no column {wanted.name}", remedy)
            continue
        if there.generated:
            yield _generated(write, there)
        elif not database.holds(wanted.travel, there.kind):
            yield _other_type(write, wanted, there)
        elif (most := _too_narrow(write, wanted, there)) is not None:
            kind = database.type_of(wanted.travel)
            yield _problem(
                write,
                f"column {there.name} of table {name} has type {there.kind}, and the stream's values can be longer "
                f"than {most:,}",
                f"change the column to {kind}; or drop the table, and qbcd creates it",
            )
        if there.not_null and not there.generated and _can_be_null(write, wanted):
            yield _problem(
                write,
                f"column {there.name} of table {name} is NOT NULL, and the stream's can be NULL",
                "let the column accept NULL",
            )


def _generated(write: TargetWrite, there: ExistingColumn) -> DeliveryError:
    remedy = f"make it a plain column; or exclude column {there.name} from the stream, and the target computes it"
    what = f"column {there.name} of table {write.name} is a generated one, which takes no values"
    return _problem(write, what, remedy)


def _other_type(write: TargetWrite, wanted: TargetColumn, there: ExistingColumn) -> DeliveryError:
    kind = write.database.type_of(wanted.travel)
    return _problem(
        write,
        f"column {there.name} of table {write.name} has type {there.kind}, and the stream needs {kind}",
        f"change the column to {kind}; or drop the table, then qbcd reset and prepare the stream",
    )


def _too_narrow(write: TargetWrite, wanted: TargetColumn, there: ExistingColumn) -> int | None:
    """Return the length of a column that is too short for values by the stream's plan, or None.

    In a key qbcd itself makes columns with a limit, since the database needs one.
    """
    header, database = write.header, write.database
    most = database.limit_of(wanted.travel, there.kind)
    if most is None or not isinstance(header, PlannedBatch):
        return None
    longest = header.longest.get(wanted.name)
    if longest is not None and longest <= most:
        return None
    if wanted.name in header.key:
        created = database.limit_of(wanted.travel, database.type_of(wanted.travel, key_parts=max(1, len(header.key))))
        if created is not None and created <= most:
            return None
    return most


def _can_be_null(write: TargetWrite, wanted: TargetColumn) -> bool:
    """Return True if values of a column can be NULL, as far as it is known."""
    header, captured = write.header, {name for name, _ in write.header.columns}
    of_qbcd = write.options.mode != "mirror" and wanted.name in _EMPTY_FACTS
    if wanted.required or wanted.name not in captured:
        return of_qbcd and not wanted.required
    if write.options.mode == "log" and not header.before and wanted.name not in header.key:
        return True
    return isinstance(header, PlannedBatch) and wanted.name in header.nullable


def _foreign_columns(write: TargetWrite, layout: Layout, found: ExistingTable) -> Iterator[DeliveryError]:
    mine = {write.database.folded(one.name) for one in layout.columns}
    for one in found.columns:
        if write.database.folded(one.name) not in mine and not one.optional:
            yield _problem(
                write,
                f"column {one.name} of table {write.name} is NOT NULL without a default, and the stream does not have "
                "it",
                "drop the constraint or give the column a default",
            )


def _key_problems(write: TargetWrite, layout: Layout, found: ExistingTable) -> Iterator[DeliveryError]:
    database, options, header = write.database, write.options, write.header
    wanted = frozenset(map(database.folded, layout.primary_key))
    keys = [frozenset(map(database.folded, names)) for names in found.keys]
    if wanted and wanted not in keys:
        columns = ", ".join(map(database.quoted, layout.primary_key))
        lacks = TableProblem(
            f"has no primary key on ({', '.join(layout.primary_key)})",
            f"ALTER TABLE {{table}} ADD PRIMARY KEY ({columns}); or drop the table, and qbcd creates it",
        )
        yield _about(write, write.name, lacks)
    mine = {database.folded(one.name) for one in layout.columns}
    numbered = {one.name for one in found.columns if one.numbered and database.folded(one.name) not in mine}
    others = [
        f"on ({', '.join(sorted(names))})"
        for names, folded in zip(found.keys, keys, strict=True)
        if folded != wanted and not names & numbered
    ]
    others += found.partial_keys.keys()
    mirror = options.mode == "mirror" and options.deletes == "hard"
    if others and not (mirror and header.consistency != "range"):
        why = "batches of this strategy are consistent for each key range only" if mirror else "it keeps old rows"
        yield _problem(
            write,
            f"table {write.name} has a unique constraint {others[0]}, and two of its rows can have the same value: "
            f"{why}",
            "drop the constraint in the target",
        )


# -- words -------------------------------------------------------------------------------------------------------------
def _about(write: TargetWrite, name: str, one: TableProblem) -> DeliveryError:
    made = write.database.named(write.database.table(name, []))
    return _problem(write, f"table {name} {one.what}", one.remedy.replace("{table}", made))


def _problem(write: TargetWrite, what: str, remedy: str) -> DeliveryError:
    return DeliveryError(what, remedy=remedy, stream=write.header.stream)
