"""Common rules for strategies and their tables; a strategy's own rules are in its options."""

from __future__ import annotations

from collections.abc import Iterator

from qbcd.config.document import KeyPath, Problem
from qbcd.config.models import NO_TABLE, ProjectConfig, TableConfig
from qbcd.config.strategy_base import StrategyConfig, StrategyUse
from qbcd.config.streams import DEFAULT_EVERY, StreamConfig


def check_strategies(config: ProjectConfig) -> list[Problem]:
    """Return the problems of all tables, each once, also if several tables inherit it."""
    found: dict[Problem, None] = {}
    uses: dict[type[StrategyConfig], list[tuple[StrategyConfig, StrategyUse]]] = {}
    for index, table in enumerate(config.tables):
        strategy = config.setting(table, "strategy")
        if strategy is None:
            continue
        use = _use(config, index)
        uses.setdefault(type(strategy), []).append((strategy, use))
        found.update(dict.fromkeys(_files(config, table, strategy, use)))
        found.update(dict.fromkeys(_query(table, strategy, use)))
        found.update(dict.fromkeys(_pairing(config, table, strategy, use.path)))
        found.update(dict.fromkeys(_audit(config, table, strategy, use.path)))
        found.update(dict.fromkeys(strategy.problems(use)))
    for options, of_it in uses.items():
        found.update(dict.fromkeys(options.problems_between(of_it)))
    return list(found)


def _use(config: ProjectConfig, index: int) -> StrategyUse:
    table = config.tables[index]
    return StrategyUse(
        path=("tables", index),
        inherited=table.strategy is None,
        source=config.source_of(table),
        table=table.table,
        key=None if table.key is None else tuple(table.key),
        columns=tuple(table.columns or ()),
        where=table.where or "",
        every=config.setting(table, "every") or DEFAULT_EVERY,
        types=bool(table.types),
        inherited_from=config.place_of(table, "strategy"),
    )


def use_of(stream: StreamConfig) -> StrategyUse:
    """Return a stream as the rules of its strategy see it."""
    table = None if stream.query else ".".join(part for part in (stream.table_schema, stream.table_name) if part)
    return StrategyUse(
        path=("tables", stream.index),
        inherited=False,
        source=stream.source,
        table=table,
        key=stream.key,
        columns=stream.columns or (),
        where=stream.where,
        every=stream.every,
    )


def _files(config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, use: StrategyUse) -> Iterator[Problem]:
    """Report a strategy that does not fit the kind of its source: files or a database."""
    of_files = use.source in config.dumps
    if strategy.reads_files:
        for key in ("table", "tables", "query"):
            if getattr(table, key) is not None:
                what = f"strategy {strategy.type} reads files, which the source names, but `{key}` is given"
                yield use.table_problem(key, what, "remove it, and give the stream a `name`")
        if table.new_columns is not None:
            what = "`new_columns` is for tables of a database; a dump with another column is refused"
            yield use.table_problem("new_columns", what, "remove it")
        if use.source in config.databases:
            what = f"strategy {strategy.type} reads files, and source {use.source} is a database"
            yield Problem(use.options_path, what, "use another strategy, or a source with `files`")
    elif of_files:
        what = f"strategy {strategy.type} queries a database, and source {use.source} has files"
        yield Problem(use.options_path, what, "write `strategy: dump`")
    elif table.table is None and table.tables is None and table.query is None:
        yield Problem(use.path, *NO_TABLE)
    elif use.source in config.drivers:
        yield from _of_drivers(strategy, use)


def _of_drivers(strategy: StrategyConfig, use: StrategyUse) -> Iterator[Problem]:
    """Report what a source with a JDBC driver alone cannot do."""
    if not strategy.reads_rows:
        what = f"strategy {strategy.type} needs a connector, and source {use.source} has a JDBC driver alone"
        yield Problem(use.options_path, what, "write `strategy: id_rcs` or ts; of a query `strategy: vbd`")
    for name, values in strategy.reads_rows.items():
        if getattr(strategy, name) not in values:
            what = f"with a JDBC driver alone there is no such `{name}`"
            less = "; `every` of the stream says how often it is read" if name == "per_poll" else ""
            yield use.option_problem(name, what, f"remove `{name}`{less}")


def _query(table: TableConfig, strategy: StrategyConfig, use: StrategyUse) -> Iterator[Problem]:
    if strategy.chooses:
        return
    if table.query is not None and not strategy.reads_query:
        what = f"strategy {strategy.type} reads a table; a query is captured by strategy vbd"
        yield use.table_problem("query", what, "write `strategy: vbd`, or make a view in the database and name it")
    elif table.query is None and (table.table is not None or table.tables is not None) and strategy.reads_query:
        written = "table" if table.tables is None else "tables"
        what = f"strategy {strategy.type} captures the result of a query, but `{written}` is given"
        yield Problem(use.options_path, what, "write `query: SELECT ..`, or use id_rcs or mds, which also read views")


def _pairing(config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    key_change = config.setting(table, "key_change")
    if key_change == "pair" and table.key == []:
        own = "remove `key_change`" if table.key_change else "write `key_change: off` for this table"
        yield Problem((*here, "key_change"), "a stream without a key has no changes of a key", own)
        return
    reason = strategy.without_old_values
    if key_change == "pair" and reason:
        what = f"a change of key cannot be paired by strategy {strategy.type}: deleted rows have no values ({reason})"
        own = "remove `key_change`" if table.key_change else "write `key_change: off` for this table"
        yield Problem((*here, "key_change"), what, f"{own}, or {strategy.old_values_remedy}")


def _audit(config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    """Report an audit that has no effect; under `defaults` it is for the tables that need one."""
    audit = config.setting(table, "audit")
    if audit is None or audit.every is None:
        return
    if strategy.keeps_nothing:
        what = "with `replica: none` qbcd keeps nothing that an audit could compare"
        yield Problem((*here, "audit"), what, "write `replica: keys`, or `audit: off` for this table")
    elif table.audit is not None and strategy.is_its_own_audit and not strategy.compares_digests:
        what = f"polls of strategy {strategy.type} compare every row completely: an audit would find nothing more"
        yield Problem((*here, "audit"), what, "remove `audit`; qbcd verify shows whether replica and source are equal")
