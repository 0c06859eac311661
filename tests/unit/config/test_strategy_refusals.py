"""Invalid options of strategies, alone and together with other keys.

Each message is compared by its text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.config_files import CANARY, GOOD, failure, load, message

TDI = "{type: tdi, timestamp: changed, delete_flag: gone}"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_PASSWORD", CANARY)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("ts", "strategy.timestamp: `timestamp` is missing (write {type: ts, timestamp: updated_at})"),
        (
            "{type: atdi, timestamp: t}",
            "strategy.delete_flag: `delete_flag` is missing "
            "(write {type: atdi, timestamp: updated_at, delete_flag: is_deleted})",
        ),
        ("{type: ts, timestamp: t, repica: keys}", 'strategy.repica: unknown key "repica" (did you mean "replica"?)'),
        (
            "{type: tdi, timestamp: t, delete_flag: f, retension: 1d}",
            'strategy.retension: unknown key "retension" (did you mean "retention"?)',
        ),
        ("{type: id, per_pol: 5}", 'strategy.per_pol: unknown key "per_pol" (did you mean "per_poll"?)'),
        (
            "{type: id, delete_flag: f}",
            'strategy.delete_flag: unknown key "delete_flag" (known keys: type, events, pace, per_poll, '
            "max_staleness, pages_per_range, rows_per_range)",
        ),
        (
            "{type: id, pace: {per_sceond: 5}}",
            'strategy.pace.per_sceond: unknown key "per_sceond" (did you mean "per_second"?)',
        ),
        (
            "{type: ts, timestamp: t, deletes: {evry: 1h}}",
            'strategy.deletes.evry: unknown key "evry" (did you mean "every"?)',
        ),
        (
            "{type: ts, timestamp: t, deletes: {every: often}}",
            "strategy.deletes.every: not a duration (write it as 500ms, 30s, 5m, 1h or 7d; a whole number is seconds)",
        ),
        (
            "{type: ts, timestamp: t, deletes: often}",
            "strategy.deletes: `deletes` sets how often qbcd searches for deleted rows (write {every: 1h}, or `only`)",
        ),
        (
            "{type: ts, timestamp: t, deletes: {every: }}",
            "strategy.deletes: `deletes` sets how often qbcd searches for deleted rows (write {every: 1h}, or `only`)",
        ),
        (
            "{type: ts, timestamp: 5}",
            "strategy.timestamp: expected a column, or a list of columns (write updated_at, or "
            "[updated_at, created_at])",
        ),
        ("{type: ts, timestamp: []}", "strategy.timestamp: the list is empty (add at least one)"),
        ("{type: ts, timestamp: ''}", "strategy.timestamp: the text is empty (fill it in or remove the key)"),
        ("{type: ts, timestamp: [a, 5]}", "strategy.timestamp[1]: expected text (put it in quotes)"),
        ("{type: ts, timestamp: [a, b, a]}", 'strategy.timestamp[2]: "a" is listed twice (remove one)'),
        (
            "{type: ts, timestamp: [a, xmin]}",
            'strategy.timestamp[1]: "xmin" cannot be combined with columns (write it alone)',
        ),
        (
            "{type: tdi, timestamp: [t, f], delete_flag: f}",
            "strategy.delete_flag: the delete flag is a timestamp as well (name another column)",
        ),
        (
            "{type: tdi, timestamp: t, delete_flag: f, deleted_value: 0.5}",
            "strategy.deleted_value: the value of a flag must be a boolean, a whole number or text "
            "(write true, 1 or 'Y')",
        ),
        (
            "{type: ts, timestamp: t, zone: Europe/Berlin}",
            "strategy.zone: only a fixed offset is accepted: a clock that is set back after summer time cannot be a "
            "watermark (write UTC or +02:00 if the writers keep that all year; otherwise use a column with time zone)",
        ),
        ("{type: ts, timestamp: t, zone: CET}", "strategy.zone: only a fixed offset is accepted: a clock that is set"),
        (
            "{type: ts, timestamp: t, zone: utc}",
            "strategy.zone: not a time zone (write UTC, or a fixed offset such as +02",
        ),
        (
            "{type: ts, timestamp: t, zone: +15:00}",
            "strategy.zone: not a time zone (write UTC, or a fixed offset such as",
        ),
        (
            "{type: ts, timestamp: t, zone: +2}",
            "strategy.zone: not a time zone (write UTC, or a fixed offset such as +02",
        ),
        ("{type: ts, timestamp: t, margin: 0s}", "strategy.margin: the interval must be longer than 0 (write it as"),
        (
            "{type: ts, timestamp: t, margin: 90s, lag: 90s}",
            "strategy.lag: `lag` must be longer than `margin`, which is 1s where it is not given "
            "(write as lag how long the longest transaction may take)",
        ),
        (
            "{type: atdi, timestamp: t, delete_flag: f, lag: 500ms}",
            "strategy.lag: `lag` must be longer than `margin`, which is 1s where it is not given "
            "(write as lag how long the longest transaction may take)",
        ),
        (
            "{type: ts, timestamp: t, replica: none, deletes: {every: 1h}}",
            "strategy.deletes: without a replica there is nothing to find deleted rows by "
            "(write `replica: keys`, or remove `deletes`)",
        ),
        (
            "{type: ts, timestamp: t, replica: all}",
            "strategy.replica: this value is not known here (expected 'source', 'lake', 'spark', 'keys' or 'none')",
        ),
        (
            "{type: id_rcs, digest: 128}",
            "strategy.digest: `digest` is the size of what `replica: digest` keeps "
            "(write `replica: digest`, or remove `digest`)",
        ),
        (
            "{type: id_rcs, replica: digest, digest: 96}",
            "strategy.digest: this value is not known here (expected 64 or 128)",
        ),
        (
            "{type: tlcs, replica: keys}",
            "strategy.replica: this value is not known here (expected 'none', 'source', 'lake' or 'spark')",
        ),
        (
            "{type: tlcs, replica: lake, checksums: remote}",
            "strategy.replica: `replica: lake` goes with digests in the source, and `checksums: remote` keeps none "
            "there (write `checksums: table`, or use strategy id_rcs, which keeps rows)",
        ),
        (
            "{type: tlcs, replica: source, deletes: false}",
            "strategy.deletes: `replica: source` has the keys of all rows, so deleted rows are found anyway "
            "(remove `deletes: false`, or the replica)",
        ),
        (
            "{type: tlcs, replica: lake, per_poll: 3}",
            "strategy.per_poll: this is for ranges that are visited in the source, and `replica: lake` has the lake's "
            "(remove it)",
        ),
        (
            "{type: mds, events: [insert]}",
            "strategy.events: a replica of keys finds inserts and deletes together, and delete is missing "
            "(write [insert, delete], or remove `events` for all changes)",
        ),
        (
            "{type: id, events: [insert, deletes]}",
            'strategy.events[1]: there is no kind of change "deletes" (did you mean "delete"?)',
        ),
        (
            "{type: mds, events: 7}",
            "strategy.events: expected a list of kinds of changes "
            "(write [insert, delete], or remove it for all changes)",
        ),
        ("{type: ts, timestamp: t, counter: row}", "strategy.counter: this value is not known here (expected 'table')"),
        (
            "{type: tlcs, checksums: column}",
            "strategy.checksums: `checksum_column` is missing (name the column that holds the checksums)",
        ),
        (
            "{type: tlcs, checksum_column: c}",
            "strategy.checksum_column: `checksum_column` goes with `checksums: column` only "
            "(write `checksums: column`, or remove it)",
        ),
        (
            "{type: tlcs, checksums: column, checksum_column: amount}",
            "strategy.checksum_column: the column of the checksums is listed in `columns`: it would be part of its own "
            "checksum (name another column, or take it out of `columns`)",
        ),
        (
            "{type: tlcs, checksums: column, checksum_column: order_id}",
            "strategy.checksum_column: the column of the checksums is listed in `key`: it would be part of its own "
            "checksum (name another column, or take it out of `key`)",
        ),
        (
            "{type: id, pages_per_range: 5, rows_per_range: 5}",
            "strategy.rows_per_range: `pages_per_range` and `rows_per_range` cannot both be given (remove one)",
        ),
        (
            "{type: id_rcs, buckets: hashed}",
            "strategy.buckets: this value is not known here (expected 'key', 'hash' or 'page')",
        ),
        (
            "{type: id_rcs, buckets: page, per_poll: 3}",
            "strategy.per_poll: `per_poll` is for ranges in which rows stay: an update may move a row to another page, "
            "so all ranges are compared at once (remove it, or write `buckets: key`)",
        ),
        (
            "{type: id_rcs, buckets: page, consistency: range}",
            "strategy.consistency: `consistency: range` is for ranges in which rows stay: an update may move a row to "
            "another page, so all ranges are compared at once (remove it, or write `buckets: key`)",
        ),
        (
            "{type: id_rcs, buckets: hash, per_poll: 3}",
            "strategy.per_poll: `per_poll` is for ranges of the key: buckets of its hash are all answered for by one "
            "scan of the table (remove it, or write `buckets: key`)",
        ),
        (
            "{type: id_rcs, pace: {per_second: 3}}",
            "strategy.pace: `per_second` is for strategies that compare one range at a time, and here one statement "
            "reads many (write {target: 500ms}, with `nice_ratio` where it is to rest)",
        ),
        ("{type: id, rows_per_range: 0}", "strategy.rows_per_range: this number is too small (it must be at least 1)"),
        (
            "{type: id, pace: {target: 1s, per_second: 2}}",
            "strategy.pace.per_second: `target` and `per_second` cannot both be given (remove one)",
        ),
        (
            "{type: id, pace: {nice_ratio: 3, per_second: 2}}",
            "strategy.pace.per_second: `nice_ratio` and `per_second` cannot both be given (remove one)",
        ),
        ("{type: id, pace: fast}", "strategy.pace: expected a mapping (write keys and values, indented)"),
        ("{type: id, pace: {target: 0s}}", "strategy.pace.target: the interval must be longer than 0 (write it as"),
        (
            "{type: tlcs, max_staleness: 1h}",
            "strategy.max_staleness: `max_staleness` needs `per_poll`, because without it every poll reads all ranges "
            "(add `per_poll`, or remove it)",
        ),
    ],
)
def test_refusals_say_where_and_what_helps(tmp_path: Path, written: str, expected: str) -> None:
    text = message(tmp_path, "strategy: id_rcs", f"strategy: {written}")
    start = f"qbcd.yaml:20: tables[0].{expected}"
    assert text == start if expected.endswith(")") else text.startswith(start)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (
            "{type: ts, timestamp: t, replica: spark, deletes: only}",
            "qbcd.yaml:20: tables[0].strategy.deletes: `deletes: only` goes with a replica in the source "
            "(write how often: {every: 1h}, or remove `replica`)",
        ),
        (
            "{type: tlcs, checksums: remote, per_poll: 3}",
            "qbcd.yaml:20: tables[0].strategy.per_poll: this is for ranges that are visited in the source, and "
            "`checksums: remote` compares in the lake (remove it)",
        ),
    ],
)
def test_options_that_a_lake_replica_refuses(tmp_path: Path, written: str, expected: str) -> None:
    assert message(tmp_path, "strategy: id_rcs", f"strategy: {written}") == expected


def test_a_restriction_needs_a_replica(tmp_path: Path) -> None:
    keys = "strategy: {type: ts, timestamp: t, replica: keys}"
    assert load(tmp_path, GOOD.replace("strategy: id_rcs", keys)).streams[0].where == "region = 'EU'"
    assert message(tmp_path, "strategy: id_rcs", keys.replace("keys", "none")) == (
        "qbcd.yaml:19: tables[0].where: with `replica: none` a row that leaves the restriction looks like one that "
        "was never in it (write `replica: keys`, or remove `where`)"
    )
    inherited = GOOD.replace("    strategy: id_rcs\n", "").replace(
        "{every:", f"{{{keys.replace('keys', 'none')}, every:"
    )
    assert "qbcd.yaml:19: tables[0].where: with `replica: none` a row" in str(failure(tmp_path, inherited))
    without = inherited.replace("    where: region = 'EU'\n", "")
    assert load(tmp_path, without).streams[0].options["replica"] == "none"


@pytest.mark.parametrize(
    ("retention", "every", "lag", "what"),
    [
        ("90s", "30s", "", ""),
        ("89s", "30s", "", "every"),
        ("89999ms", "", "", "every"),
        ("15m", "1m", ", lag: 5m", ""),
        ("14m", "1m", ", lag: 5m", "lag"),
        ("1d", "12h", ", lag: 5m", "every"),
    ],
)
def test_flagged_rows_must_stay_longer_than_a_poll_may_take(
    tmp_path: Path, retention: str, every: str, lag: str, what: str
) -> None:
    written = f"strategy: {TDI.replace('}', f', retention: {retention}{lag}}}')}\n    every: {every}"
    text = GOOD.replace("strategy: id_rcs", written)
    if what:
        given = ", which is 30s where it is not given" if what == "every" else ""
        assert str(failure(tmp_path, text)).endswith(
            "qbcd.yaml:20: tables[0].strategy.retention: flagged rows may be removed before a poll has read them: this "
            f"is less than 3 times `{what}`{given} (let the application keep them longer and say so here, write a "
            f"shorter `{what}`, or remove `retention` where they stay for ever)"
        )
    else:
        assert load(tmp_path, text).streams[0].options["retention"] is not None


def test_a_retention_that_all_tables_inherit_is_reported_once(tmp_path: Path) -> None:
    strategy = TDI.replace("}", ", retention: 1m}")
    text = GOOD.replace("    strategy: id_rcs\n", "").replace("    every: 5m\n", "")
    text = text.replace("    strategy: {type: id_rcs, rows_per_range: 10}\n", "").replace(
        "{every:", f"{{strategy: {strategy}, every:"
    )
    assert "qbcd.yaml:11: defaults.strategy.retention: flagged rows may be removed" in str(failure(tmp_path, text))
    assert len(str(failure(tmp_path, text)).splitlines()) == 1


@pytest.mark.parametrize(
    ("strategy", "what"),
    [
        ("tlcs", "tlcs: deleted rows have no values (keys and checksums are all that it keeps) (remove `key_"),
        ("{type: ts, timestamp: t, replica: keys}", "ts: deleted rows have no values (the replica holds keys only) ("),
        (
            "{type: ts, timestamp: t, deletes: only}",
            "ts: deleted rows have no values (`deletes: only` keeps keys) (remo"
            "ve `key_change`, or write how often under `deletes`)",
        ),
        (
            "{type: id_rcs, replica: digest}",
            "id_rcs: deleted rows have no values (keys and digests are all that it kee"
            "ps) (remove `key_change`, or `replica: rows`)",
        ),
        ("{type: ts, timestamp: t}", ""),
        ("{type: ts, timestamp: t, deletes: {every: 1h}}", ""),
        (TDI, ""),
        ("id", ""),
    ],
)
def test_pairing_needs_old_values(tmp_path: Path, strategy: str, what: str) -> None:
    text = GOOD.replace("strategy: id_rcs", f"strategy: {strategy}").replace("baseline: events", "key_change: pair")
    if what:
        expected = f"qbcd.yaml:21: tables[0].key_change: a change of key cannot be paired by strategy {what}"
        assert expected in str(failure(tmp_path, text))
    else:
        assert load(tmp_path, text).streams[0].key_change == "pair"


def test_pairing_needs_old_values_where_it_is_inherited(tmp_path: Path) -> None:
    text = GOOD.replace("strategy: id_rcs", "strategy: tlcs").replace("{every:", "{key_change: pair, every:")
    what = str(failure(tmp_path, text)).replace(f"{tmp_path}/", "")
    assert what == (
        "qbcd.yaml:13: tables[0].key_change: a change of key cannot be paired by strategy tlcs: deleted rows have no "
        "values (keys and checksums are all that it keeps) (write `key_change: off` for this table, or `replica: "
        "source`)"
    )
    assert load(tmp_path, text.replace("baseline: events", "key_change: off")).streams[0].key_change == "off"


@pytest.mark.parametrize(
    ("strategy", "more", "what"),
    [
        ("id_rcs", "", ""),
        ("{type: id_rcs, buckets: hash}", "", ""),
        ("{type: id_rcs, replica: digest}", "", "key: the delete of a row without a key would show nothing of the"),
        ("{type: id_rcs, buckets: key}", "", "key: there can be no ranges of a key that rows do not have (remove "),
        ("{type: id_rcs, buckets: page}", "", "key: ranges of pages need keys, which identify rows that move"),
        (
            "mds",
            "",
            "key: strategy mds identifies rows by their keys: only id_rcs and vbd accept `key: none` (name the",
        ),
        (TDI, "", "key: strategy tdi identifies rows by their keys: only id_rcs and vbd accept `key: none` (name the"),
        ("id_rcs", "key_change: pair", "key_change: a stream without a key has no changes of a key (remove"),
    ],
)
def test_rows_without_a_key_are_for_one_strategy(tmp_path: Path, strategy: str, more: str, what: str) -> None:
    text = GOOD.replace("strategy: id_rcs", f"strategy: {strategy}").replace("key: [order_id]", "key: none")
    text = text.replace("baseline: events", more or "baseline: events")
    if what:
        assert f"tables[0].{what}" in str(failure(tmp_path, text))
    else:
        assert load(tmp_path, text).streams[0].key == ()
        assert load(tmp_path, text.replace("key: none", "key: [none]")).streams[0].key == ("none",)
        assert load(tmp_path, text.replace("key: none", "key: no")).streams[0].key == ("no",)


def test_two_streams_do_not_share_a_column_of_checksums(tmp_path: Path) -> None:
    own = "{type: tlcs, checksums: column, checksum_column: mine}"
    text = GOOD.replace("strategy: id_rcs", f"strategy: {own}")
    again = f"  - {{name: again, source: shop, table: public.orders, key: [order_id], strategy: {own}}}\n"
    what = str(failure(tmp_path, text.replace("tables:\n", f"tables:\n{again}"))).replace(f"{tmp_path}/", "")
    assert what == (
        "qbcd.yaml:21: tables[1].strategy.checksum_column: tables[0] has its checksums in column 'mine' of "
        "public.orders too: what one of them has seen the other would not find (name a column of its own for each)"
    )
    load(tmp_path, text.replace("tables:\n", f"tables:\n{again.replace('mine', 'its_own')}"))
