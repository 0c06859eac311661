"""What a strategy's options must hold against the other keys of the tables that use it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from qbcd.config.audits import compares_digests, is_its_own_audit, keeps_nothing
from qbcd.config.document import KeyPath, Problem
from qbcd.config.fields import in_words, split_table
from qbcd.config.models import DEFAULT_EVERY, ProjectConfig, TableConfig
from qbcd.config.query_options import VbdOptions
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_options import FlagOptions, IdRcsOptions, TlcsOptions, TsOptions
from qbcd.config.strategy_values import ONLY

# How much longer than the longest time between two looks a flagged row must stay (a poll may fail, or be late)
RETENTION_FACTOR = 3


def check_strategies(config: ProjectConfig) -> list[Problem]:
    """Everything that a strategy and its table hold against each other; once where several tables inherit it."""
    found: dict[Problem, None] = {}
    for index, table in enumerate(config.tables):
        strategy = table.strategy or config.defaults.strategy
        if strategy is None:
            continue
        here: KeyPath = ("tables", index)
        options = (*here, "strategy") if table.strategy is not None else ("defaults", "strategy")
        found.update(dict.fromkeys(_query(table, strategy, here, options)))
        found.update(dict.fromkeys(_no_key(table, strategy, here)))
        found.update(dict.fromkeys(_restriction(table, strategy, here)))
        found.update(dict.fromkeys(_pairing(config, table, strategy, here)))
        found.update(dict.fromkeys(_audit(config, table, strategy, here)))
        found.update(dict.fromkeys(_retention(config, table, strategy, options)))
        found.update(dict.fromkeys(_checksum_column(table, strategy, options)))
    found.update(dict.fromkeys(_shared_columns(config)))
    return list(found)


def _query(table: TableConfig, strategy: StrategyConfig, here: KeyPath, options: KeyPath) -> Iterator[Problem]:
    if table.query is not None and not isinstance(strategy, VbdOptions):
        what = f"strategy {strategy.type} reads a table; a query is captured by strategy vbd"
        yield Problem((*here, "query"), what, "write `strategy: vbd`, or make a view in the database and name it")
    elif table.query is None and isinstance(strategy, VbdOptions):
        what = "strategy vbd captures the result of a query, and there is a table"
        yield Problem(options, what, "write `query: SELECT ..`, or take id_rcs or mds, which also read views")


def _no_key(table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    if table.key != [] or (isinstance(strategy, VbdOptions) and strategy.variant in ("auto", "checksum")):
        return
    if not isinstance(strategy, IdRcsOptions):
        what = f"strategy {strategy.type} tells rows by their keys: `key: none` is for id_rcs and vbd alone"
        yield Problem((*here, "key"), what, "name the columns that identify a row, or write `strategy: id_rcs`")
    elif strategy.replica == "digest":
        what = "of a row without a key nothing would be told when it goes: with `replica: digest` it has no old values"
        yield Problem((*here, "key"), what, "write `replica: rows`, or name the columns that identify a row")
    elif strategy.buckets == "key":
        what = "there can be no ranges of a key that rows do not have"
        yield Problem((*here, "key"), what, "remove `buckets: key`, or name the columns that identify a row")
    elif strategy.buckets == "page":
        what = "ranges of pages need keys, by which rows that move among them are told from others"
        yield Problem((*here, "key"), what, "remove `buckets: page`, or name the columns that identify a row")


def _restriction(table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    if isinstance(strategy, TsOptions) and strategy.replica == "none" and table.where is not None:
        what = "with `replica: none` a row that leaves the restriction cannot be told from one that was never in it"
        yield Problem((*here, "where"), what, "write `replica: keys`, or remove `where`")


def _pairing(config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    key_change = table.key_change or config.defaults.key_change
    if key_change == "pair" and table.key == []:
        own = "remove `key_change`" if table.key_change else "write `key_change: off` for this table"
        yield Problem((*here, "key_change"), "rows without a key have none that could change", own)
        return
    reason = strategy.without_old_values
    if key_change == "pair" and reason:
        what = f"a change of key cannot be paired by strategy {strategy.type}: deleted rows have no values ({reason})"
        own = "remove `key_change`" if table.key_change else "write `key_change: off` for this table"
        yield Problem((*here, "key_change"), what, f"{own}, or {_with_old_values(strategy)}")


def _with_old_values(strategy: StrategyConfig) -> str:
    """What would keep them."""
    if isinstance(strategy, IdRcsOptions):
        return "`replica: rows`"
    if not isinstance(strategy, TsOptions):
        return "take another strategy"
    return "write how often under `deletes`" if strategy.options["deletes"] == ONLY else "`replica: source`"


def _audit(config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, here: KeyPath) -> Iterator[Problem]:
    """Under `defaults` an audit is for all tables that need one; a table that needs none may not ask for it itself."""
    audit = table.audit or config.defaults.audit
    if audit is None or audit.every is None:
        return
    if keeps_nothing(strategy):
        what = "with `replica: none` there is nothing that an audit could compare with the source"
        yield Problem((*here, "audit"), what, "write `replica: keys`, or `audit: off` for this table")
    elif table.audit is not None and is_its_own_audit(strategy) and not compares_digests(strategy):
        what = f"polls of strategy {strategy.type} compare every row with all that is kept of it: an audit adds nothing"
        yield Problem((*here, "audit"), what, "remove `audit`; qbcd verify shows whether replica and source are equal")


def _retention(
    config: ProjectConfig, table: TableConfig, strategy: StrategyConfig, options: KeyPath
) -> Iterator[Problem]:
    if not isinstance(strategy, FlagOptions) or strategy.retention is None:
        return
    every = table.every or config.defaults.every or DEFAULT_EVERY
    name, longest = max(("every", every), ("lag", strategy.lag or timedelta(0)), key=lambda item: item[1])
    if strategy.retention < RETENTION_FACTOR * longest:
        # no lengths of the file's own: they may have come through placeholders
        given = f", which is {in_words(DEFAULT_EVERY)} where it is not given" if name == "every" else ""
        yield Problem(
            (*options, "retention"),
            f"flagged rows may be gone before a poll has seen them: this is less than {RETENTION_FACTOR} times `{name}`"
            f"{given}",
            f"let the application keep them longer and say so here, write a shorter `{name}`, or remove `retention` "
            "where they stay for ever",
        )


def _checksum_column(table: TableConfig, strategy: StrategyConfig, options: KeyPath) -> Iterator[Problem]:
    if not isinstance(strategy, TlcsOptions) or strategy.checksum_column is None:
        return
    for key, names in (("key", table.key), ("columns", table.columns)):
        if strategy.checksum_column in (names or ()):
            what = f"the column of the checksums is listed in `{key}`: it would be part of its own checksum"
            yield Problem((*options, "checksum_column"), what, f"name another column, or take it out of `{key}`")


def _shared_columns(config: ProjectConfig) -> Iterator[Problem]:
    """Streams that write their checksums into one column: what one has seen no other would find any more."""
    first: dict[tuple[str, ...], int] = {}
    for index, table in enumerate(config.tables):
        strategy = table.strategy or config.defaults.strategy
        if not isinstance(strategy, TlcsOptions) or strategy.checksum_column is None or table.table is None:
            continue
        place = (table.source, *split_table(table.table), strategy.checksum_column)
        if first.setdefault(place, index) != index:
            what = (
                f"tables[{first[place]}] has its checksums in column {strategy.checksum_column!r} of "
                f"{table.table} too: what one of them has seen the other would not find"
            )
            options = ("tables", index, *(("strategy", "checksum_column") if table.strategy is not None else ()))
            yield Problem(options, what, "name a column of its own for each")
