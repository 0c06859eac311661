"""Cases of long tests that stay in `make test`; their other cases run in the campaign.

A test is named by file and function. The cases that stay are named by their ids, as pytest prints them in brackets;
none means that all of the test runs in the campaign. tests/README.md has the rule by which they are chosen.
"""

from __future__ import annotations

KEPT: dict[str, tuple[str, ...]] = {
    # Products of cases
    "tests/integration/enrichment/test_initial.py::test_exactly_once_when_killed": ("mds-after_publish",),
    "tests/integration/enrichment/test_initial.py::test_refusals": (),
    "tests/integration/enrichment/test_initial.py::test_rows_come_once_and_first": ("postgresql-mds",),
    "tests/integration/enrichment/test_initial.py::test_with_a_baseline_of_events_it_sends_nothing_else": (),
    "tests/integration/enrichment/test_initial.py::test_with_a_hull_that_grows": (),
    "tests/integration/enrichment/test_narrowing.py::test_a_set_is_asked_by_the_operator_of_the_source": (),
    "tests/integration/enrichment/test_narrowing.py::test_a_stream_that_is_no_longer_narrowed": (),
    "tests/integration/enrichment/test_narrowing.py::test_growth_that_was_killed_is_no_event": (),
    "tests/integration/enrichment/test_narrowing.py::test_matches_are_those_of_all_rows": (),
    "tests/integration/enrichment/test_narrowing.py::test_rows_that_enter_because_the_hull_grew_are_no_events": (
        "postgresql",
    ),
    "tests/integration/enrichment/test_split.py::test_a_batch_for_each_subscription": (),
    "tests/integration/enrichment/test_split.py::test_other_sinks_take_no_parts": (),
    "tests/integration/enrichment/test_stage.py::test_every_reader_has_the_same_values": (
        "mariadb-id_rcs",
        "postgresql-mds",
    ),
    "tests/integration/enrichment/test_subscriptions.py::test_a_new_row_and_a_removal_take_effect_at_the_next_poll": (
        "postgresql",
    ),
    "tests/integration/enrichment/test_subscriptions.py::test_a_row_cannot_end_a_subscription_of_the_file": (),
    "tests/integration/enrichment/test_subscriptions.py::test_matches_are_those_that_the_source_finds": (
        "mariadb-mds",
        "postgresql-id_rcs",
    ),
    "tests/integration/enrichment/test_subscriptions.py::test_statements_of_a_poll_are_the_same_for_any_number": (
        "postgresql-1000",
    ),
    "tests/integration/cli/test_cli.py::test_executors_are_checked_for_the_workdir": (),
    "tests/integration/jdbc/test_any_database.py::test_events_of_a_history_give_the_table": ("h2", "duckdb"),
    "tests/integration/sites/test_round_trips.py::test_an_unchanged_poll_has_few_round_trips": ("postgresql",),
    "tests/integration/sites/test_round_trips.py::test_an_unchanged_poll_of_many_has_fewer_round_trips": (
        "postgresql",
    ),
    "tests/unit/snapshots/test_methods.py::test_every_method_equals_a_full_join": tuple(
        f"2-True-2-{method}" for method in ("hh", "nl", "ph", "smc2", "window")
    ),
    "tests/integration/sites/test_sets.py::test_another_kind_is_refused_until_reset": (),
    "tests/conformance/test_spark.py::test_spark_does_the_work_of": ("postgresql-id_rcs", "postgresql-ts"),
    "tests/integration/queries/test_incremental_sound.py::test_equal_and_not_the_same": (
        "a computed key",
        "an untyped arm",
        "one row by HAVING alone",
        "a star in an EXISTS",
        "a cast that a join guards",
    ),
    "tests/integration/files/test_diff_tables.py::test_the_result_is_that_of_a_complete_read": (
        "mariadb-text-many",
        "postgresql-composite-many",
        "postgresql-no index-many",
        "postgresql-number-all",
        "postgresql-number-none",
        "postgresql-uuid-many",
    ),
    "tests/integration/sinks/test_sinks.py::test_batches_of_several_parts_keep_their_order": ("spark",),
    "tests/integration/sinks/test_resend.py::test_new_sinks_get_the_rows_and_then_the_changes": ("postgresql-mds",),
    "tests/integration/sinks/test_resend.py::test_a_mirror_is_filled_from_a_lake_replica_while_the_source_is_away": (
        "postgresql",
    ),
    "tests/integration/cli/test_patterns.py::test_discover_names_the_strategy_that_advise_takes": ("postgresql",),
    "tests/integration/enrichment/test_subscriptions.py::test_killed_between_the_match_and_the_delivery": (),
    "tests/integration/refusals/test_machine.py::test_an_error_while_spark_is_needed_leaves_the_stream_as_it_was": (),
    "tests/faults/test_audit.py::test_changes_that_no_window_shows": ("mariadb-ts", "postgresql-ts"),
    "tests/faults/test_capture_change.py::test_a_dropped_column_is_left_out": ("postgresql-mds",),
    "tests/faults/test_capture_change.py::test_columns_come_and_go": ("mariadb-mds", "postgresql-id_rcs"),
    "tests/faults/test_kill.py::test_a_baseline_killed_half_way": (
        "mariadb-before_commit-mds",
        "postgresql-after_commit-id_rcs",
        "postgresql-before_commit-mds",
    ),
    "tests/faults/test_kill.py::test_kill": (
        "mariadb-after_checksums-id_rcs-parquet-False",
        "postgresql-before_commit-id_rcs-jsonl-True",
        "postgresql-before_commit-mds-jsonl-False",
    ),
    "tests/faults/test_kill.py::test_reset_after_a_kill_begins_a_new_epoch": ("postgresql-mds",),
    "tests/faults/test_kill_in_database.py::test_kill": (
        "mariadb-tdi-after_purge-1-False",
        "postgresql-id-after_seal-1-False",
        "postgresql-tlcs-after_commit-2-True",
        "postgresql-ts-after_horizon-1-True",
    ),
    "tests/faults/test_kill_in_lake.py::test_kill": (
        "postgresql-after_commit-tlcs_lake-True",
        "postgresql-after_commit-id_rcs_no_key-True",
        "postgresql-after_stage-id_rcs_hash-False",
    ),
    "tests/faults/test_protocol_checksums.py::test_a_value_that_comes_back_while_its_successor_is_staged": (
        "mariadb-column",
        "postgresql-column_alive",
        "postgresql-table",
    ),
    "tests/faults/test_protocol_checksums.py::test_rows_that_go_and_return_while_they_are_staged": (
        "mariadb-column",
        "postgresql-column",
        "postgresql-table",
    ),
    "tests/faults/test_protocol_delivery.py::test_a_failure_around_the_write": ("mid_publish",),
    "tests/faults/test_protocol_delivery.py::test_a_python_consumer_that_stops": ("postgresql-mds",),
    "tests/faults/test_protocol_delivery.py::test_a_sink_that_fails_half_way": ("changes-mds",),
    "tests/faults/test_protocol_delivery.py::test_a_stale_publisher": ("postgresql-mds-jsonl-before_publish",),
    "tests/faults/test_protocol_files.py::test_a_turned_bit_in_the_end_is_seen_before_spark_reads": ("262143",),
    "tests/faults/test_protocol_watermarks.py::test_a_transaction_that_commits_around_the_clock_read_is_not_lost": (
        "mariadb-written",
        "postgresql-written",
    ),
    "tests/faults/test_protocol_purge.py::test_a_purge_that_the_source_refuses_is_a_warning": (
        "mariadb-a foreign key",
        "postgresql-a trigger",
    ),
    "tests/faults/test_protocol_purge.py::test_a_restriction_that_flagged_rows_do_not_meet": (
        "mariadb-v <> 'apart'",
        "postgresql-v <> 'apart'",
    ),
    "tests/faults/test_protocol_reading.py::test_a_rewrite_under_a_pinned_reader_is_kept_out": (
        "mariadb-truncate-id_rcs-after_checksums",
        "postgresql-truncate-mds-after_snapshot",
    ),
    "tests/faults/test_protocol_steps.py::test_a_lost_commit": (
        "mariadb-mds-reply-True",
        "postgresql-mds-request-False",
    ),
    "tests/faults/test_protocol_steps.py::test_a_paused_holder_cannot_commit": (
        "mariadb-mds-after_plan-True-False",
        "postgresql-mds-after_lease-False-True",
    ),
    "tests/faults/test_protocol_steps.py::test_two_pollers": ("mariadb-mds-before_commit", "postgresql-mds-after_plan"),
    "tests/faults/test_protocol_sweep.py::test_deleted_and_inserted_again_around_the_sweep": (
        "mariadb-source",
        "postgresql-keys",
    ),
    "tests/faults/test_purge_readers.py::test_a_view_of_the_table": (
        "mariadb-view of a view",
        "postgresql-view of a view",
    ),
    "tests/faults/test_purge_readers.py::test_another_column_of_the_same_table": ("mariadb-seen", "postgresql-xmin"),
    "tests/faults/test_recreated_table.py::test_all_rows_are_compared": ("mariadb-table", "postgresql-mark"),
    "tests/faults/test_timestamps.py::test_a_row_without_the_first_of_two_counters": ("postgresql-source",),
    "tests/faults/test_timestamps.py::test_rows_before_the_first_number": ("mariadb-source", "postgresql-source"),
    "tests/integration/lake/test_key_kinds.py::test_replay_equals_the_source": ("postgresql-mixed-key",),
    "tests/integration/lake/test_range_size.py::test_a_large_table_has_few_ranges": ("key-True",),
    "tests/integration/lake/test_recent_writes.py::test_rows_are_looked_up": ("bigint",),
    "tests/integration/lake/test_recent_writes.py::test_deleted_rows_are_recognized_by_their_digests": ("bigint",),
    "tests/integration/lake/test_scattered_rows.py::test_a_scan_gives_what_the_index_gives": (
        "int",
        "timestamptz",
        "uuid",
    ),
    "tests/integration/lake/test_fetch_paths.py::test_polls_find_the_same_without_a_path": (
        "leaf_checksums",
        "two_phase",
        "whole_table",
    ),
    "tests/integration/lake/test_hash_buckets.py::test_the_choice_of_prepare_stays": ("page",),
    "tests/integration/lake/test_scattered_rows.py::test_scans_find_the_changes": (),
    "tests/integration/sinks/test_sinks.py::test_parquet_writes_an_incomplete_attempt_again": (
        "file torn",
        "no marker",
    ),
    "tests/integration/lake/test_segment_reuse.py::test_prepare_leaves_only_the_replica": (
        "{'type': 'tlcs', 'checksums': 'remote'}",
    ),
    "tests/integration/lake/test_whole_table_checksum.py::test_changes_after_polls_without_changes_are_found": ("key",),
    "tests/integration/refusals/test_machine.py::test_no_java": ("/no/such/home",),
    "tests/integration/queries/test_incremental_maria.py::test_a_poll_sees_one_state_and_nobody_waits": (
        "stamped0-mariadb",
    ),
    "tests/integration/queries/test_views.py::test_a_replaced_view_stops_the_stream": ("delta",),
    "tests/integration/servers/test_maria_server.py::test_dead_owner_leaves_nothing": ("0-9", "65534-9"),
    "tests/integration/sites/test_digest_changes.py::test_a_million_rows_have_a_million_digests": ("i8, ts, doc",),
    "tests/integration/sites/test_guards.py::test_deletes_that_are_not_reported_trip_no_guard": (
        "mariadb-more1",
        "postgresql-more0",
    ),
    "tests/integration/sites/test_other_wing.py::test_a_strategy_of_the_other_wing": (
        "mariadb-mds-id_rcs",
        "postgresql-mds-id_rcs",
    ),
    "tests/integration/sites/test_recreated_types.py::test_labels_of_a_key_that_mean_another_value": ("renamed",),
    "tests/integration/sites/test_unsafe_keys.py::test_a_table_that_hides_the_one_that_was_prepared": ("id",),
    "tests/integration/spark/test_canary.py::test_column_names_for_values_are_refused": ("mds-mariadb",),
    "tests/integration/state/test_damaged_row.py::test_a_damaged_row_is_refused_until_it_is_reset": (
        "mariadb-mds",
        "postgresql-mds",
    ),
    "tests/integration/state/test_damaged_row.py::test_a_deleted_stream_row_is_reported_and_reset": (
        "mariadb-id",
        "postgresql-mds",
    ),
    # Another trace through a rule that other tests of the same file keep, or a measurement
    "tests/faults/test_capture_change.py::test_digests_alone": (),
    "tests/faults/test_capture_change.py::test_killed_in_the_middle": (),
    "tests/faults/test_capture_change.py::test_rows_without_a_key": (),
    "tests/faults/test_copied_state.py::test_a_state_that_went_back_leaves_the_files_of_the_newer_one": (),
    "tests/faults/test_leaf_checksums.py::test_a_changed_definition_discards_stored_leaves": (),
    "tests/faults/test_leaf_checksums.py::test_a_failure_after_the_leaves_were_written": (),
    "tests/faults/test_leaf_checksums.py::test_ranges_that_are_split_are_read_whole": (),
    "tests/faults/test_protocol_batches.py::test_compaction_killed_before_its_commit": (),
    "tests/faults/test_protocol_batches.py::test_stray_files_are_not_read": (),
    "tests/faults/test_protocol_in_lake.py::test_a_compaction_that_was_overtaken": (),
    "tests/faults/test_protocol_in_lake.py::test_a_range_that_one_task_could_not_hold": (),
    "tests/faults/test_protocol_in_lake.py::test_digests_of_another_state_than_the_checksums": (),
    "tests/faults/test_range_consistency.py::test_children_are_fetched_in_another_state": (),
    "tests/faults/test_range_consistency.py::test_keys_that_move_between_ranges_mid_read": (),
    "tests/faults/test_lake_sweep.py::test_a_row_that_returns_during_its_sweep": (),
    "tests/faults/test_lake_sweep.py::test_ranges_are_those_of_the_replica": (),
    "tests/integration/connectors/test_postgres_digest.py::test_a_million_rows_have_a_million_digests": (),
    "tests/integration/lake/test_key_recovery.py::test_keys_that_were_recovered_wrongly": (),
    "tests/integration/lake/test_leaf_checksums.py::test_leaves_after_unchanged_polls_and_with_equal_key_ends": (),
    "tests/integration/lake/test_page_ranges.py::test_other_columns_another_restriction_and_audits": (),
    "tests/integration/lake/test_recent_writes.py::test_a_row_deleted_while_another_is_inserted": (),
    "tests/integration/lake/test_recent_writes.py::test_leaves_are_not_read_where_rows_are_looked_up": (),
    "tests/integration/lake/test_recent_writes.py::test_the_read_of_recent_writes_stops_at_too_many_rows": (),
    "tests/integration/lake/test_recent_writes.py::test_small_tables_and_ranges_with_many_changes_are_read_whole": (),
    "tests/integration/lake/test_split_and_merge.py::test_compaction_after_many_splits": (),
    "tests/integration/lake/test_split_and_merge.py::test_small_ranges_are_merged_when_batches_are_compacted": (),
    "tests/integration/lake/test_streamed.py::test_a_source_that_fails_while_its_rows_are_compared": (),
    "tests/integration/lake/test_weak_digest.py::test_counts_find_changes_and_values_find_the_missed_ones": (),
    "tests/integration/sinks/test_parquet_equals_jsonl.py::test_a_consumer_in_python_that_begins_late": (),
    "tests/integration/sinks/test_parquet_equals_jsonl.py::test_old_values_that_no_type_can_hold_are_refused": (),
    "tests/conformance/test_leaves.py::test_single_leaves_are_read": (),  # in make test: lake/test_leaf_checksums.py
    # the death of a session, without Spark: tests/unit/spark/test_provider.py
    "tests/faults/test_spark_dies.py::test_a_session_that_dies_within_a_poll_is_one_message": (),
    # The same statements as on SQLite, where tests/unit/state/test_store.py runs them
    **{
        f"tests/integration/state/test_state_{database}.py::{case}": ()
        for database in ("mariadb", "postgres")
        for case in (
            "TestStreamRows::test_a_new_stream_has_a_row_and_keeps_it",
            "TestStreamRows::test_advance_moves_what_is_given_and_one_version",
            "TestStreamRows::test_a_stale_version_is_refused_and_writes_nothing",
            "TestStreamRows::test_a_stale_token_is_refused",
            "TestStreamRows::test_a_foreign_project_is_refused",
            "TestStreamRows::test_an_unknown_stream_cannot_be_locked",
            "TestStreamRows::test_numbers_never_go_back_and_outlive_a_reset",
            "TestStreamRows::test_a_damaged_row_is_refused",
            "TestStreamRows::test_a_newer_layout_is_refused",
            "TestOutbox::test_batches_come_back_as_they_were_in_order",
            "TestOutbox::test_a_number_is_given_once",
            "TestOutbox::test_only_old_compacted_acknowledged_batches_expire_without_a_gap",
            "TestOutbox::test_a_split_takes_new_ids",
            "TestOutbox::test_ranges_that_do_not_cover_all_keys_once_are_refused",
            "TestOutbox::test_segments",
            "TestOutbox::test_pins_hold_a_version_until_they_end",
        )
    },
    **{
        f"tests/integration/state/test_state_postgres.py::TestLease::test_{case}": ()
        for case in (
            "a_keeper_gives_its_lease_back",
            "a_keeper_that_lost_its_lease_reports_it_and_spares_the_new_owner",
            "an_owner_nobody_can_read_is_not_overrun",
        )
    },
    "tests/integration/state/test_state_postgres.py::TestLease::test_a_paused_holder_cannot_commit_after_a_takeover": (
        "state database-commit-StateConflict",
    ),
    "tests/faults/test_writers_do_not_wait.py::test_an_update_of_captured_rows_does_not_wait": ("mariadb-mds",),
    "tests/integration/files/test_exports.py"
    "::test_a_table_equals_its_export_and_then_exactly_the_changed_rows_differ": ("postgresql-copy_csv-4",),
    "tests/integration/lake/test_cancelling_changes.py::test_only_polls_miss_them": ("postgresql-key",),
    "tests/integration/sites/test_sets.py::test_only_other_elements_are_a_change": ("mariadb-names1",),
    "tests/integration/sites/test_unsafe_keys.py::test_a_key_that_is_null": (
        "postgresql-INSERT INTO t VALUES (NULL, 'n')",
    ),
    "tests/integration/state/test_state_postgres.py::TestMaking"
    "::test_a_state_whose_making_was_killed_is_made_by_the_next": (),  # that of a source stays
    # Random draws, concurrent load and measurements whose deterministic relatives are in make test
    "tests/integration/connectors/test_maria_digest.py"
    "::test_a_hundred_thousand_random_swaps_and_rotations_are_seen": (),
    "tests/integration/connectors/test_postgres_digest.py"
    "::test_a_hundred_thousand_random_swaps_and_rotations_are_seen": (),
    "tests/integration/sites/test_engines.py::test_engines_may_alternate_at_any_time": (),
    "tests/integration/sites/test_key_change.py::test_random_changes_of_keys_are_as_many_pairs": (),
    "tests/integration/queries/test_views.py::test_after_each_poll_the_replica_is_the_result": (),
    "tests/faults/test_leaf_checksums.py::test_kill": (),
    "tests/faults/test_watermark.py::test_late_writers": (),
    "tests/integration/lake/test_hot_ranges.py::test_half_the_ranges_find_most_changes_and_all_in_time": (),
    "tests/integration/lake/test_leaf_checksums.py::test_changes_under_keys_of_every_kind": (),
    "tests/integration/lake/test_page_ranges.py::test_replay_equals_the_source": (),
    "tests/integration/lake/test_shipped_bytes.py::test_bytes_and_memory_grow_with_the_ranges_alone": (),
    "tests/integration/lake/test_weak_digest.py::test_an_audit_by_values_finds_changes_that_digests_hide": (),
    "tests/integration/queries/test_incremental.py::test_after_each_poll_the_replica_is_the_result": (),
    "tests/integration/queries/test_incremental_maria.py::test_texts_that_are_equal_and_not_the_same": (),
    "tests/integration/queries/test_variants.py::test_every_variant_is_exact": (),
    "tests/integration/spark/test_java_process.py::test_arguments_and_archive_of_java": (),
}


def is_kept(nodeid: str) -> bool:
    """Return False if a test of :data:`KEPT` is not among its cases that stay."""
    test, _, case = nodeid.partition("[")
    return test not in KEPT or case.removesuffix("]") in KEPT[test]
