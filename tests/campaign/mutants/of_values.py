"""Mutants of types, identifiers, secrets, exit codes and status."""

from __future__ import annotations

from tests.campaign.mutants.mutant import Mutant

PG, MARIA = "qbcd/connectors/postgresql/", "qbcd/connectors/mysql_family/"
PG_VALUES = "tests/integration/connectors/test_postgres_values.py::"
MARIA_VALUES = "tests/integration/connectors/test_maria_values.py::"

TYPES = (
    Mutant(
        "milliseconds",
        "Timestamps travel with all their digits.",
        f"{PG}expressions.py",
        '"timestamp": "to_char({v}, \'YYYY-MM-DD\\"T\\"HH24:MI:SS.US\')"',
        '"timestamp": "to_char({v}, \'YYYY-MM-DD\\"T\\"HH24:MI:SS.MS\')"',
        (f"{PG_VALUES}test_wire_values_cast_back_to_the_very_same_value",),
    ),
    Mutant(
        "decimals-rounded",
        "A decimal travels with its own precision and scale.",
        f"{PG}types.py",
        'return Travel("decimal", precision, scale)',
        'return Travel("decimal", precision, max(0, scale - 1))',
        ("tests/unit/connectors/test_decimal_types.py::test_numeric_of_postgresql",),
    ),
    Mutant(
        "scale-in-the-digest",
        "Equal numbers with another number of digits are no change.",
        f"{PG}expressions.py",
        'form if fixed else call("trim_scale", form)',
        "form",
        (f"{PG_VALUES}test_digest_and_comparison_mean_the_types_own_equality",),
    ),
    Mutant(
        "minus-zero-is-another-key",
        "0 and -0 are one key, and so are all NaNs.",
        f"{PG}expressions.py",
        "{send}({{v}} + 0::{base})",
        "{send}({{v}})",
        ("tests/integration/connectors/test_postgres_ranges.py::test_identity_is_the_columns_own_equality",),
    ),
    Mutant(
        "minus-zero-in-json",
        "In an array, -0 travels as a floating point number.",
        f"{PG}expressions.py",
        "WHEN {{t}} = '-0' THEN '-0.0' ELSE",
        "ELSE",
        (f"{PG_VALUES}test_arrays_travel_as_json_or_as_their_own_text",),
    ),
    Mutant(
        "padding-stripped",
        "The blanks at the end of a char(n) travel.",
        f"{PG}expressions.py",
        "return fragment(\"convert_from({b}, 'UTF8')\", b=_byte_form(column, value))",
        'return cast(value, "text")',
        (f"{PG_VALUES}test_wire_values_cast_back_to_the_very_same_value",),
    ),
    Mutant(
        "texts-by-collation",
        "Trailing blanks, case and accents are changes: texts are compared by their bytes.",
        f"{MARIA}expressions.py",
        "if base in types.STRINGS or base in types.GEOMETRIES:",
        "if base in types.GEOMETRIES:",
        (f"{MARIA_VALUES}test_digest_and_comparison_distinguish_exactly_the_values",),
    ),
    Mutant(
        "blanks-in-a-padded-key",
        "Under a padding collation, blanks at the end of a key do not count.",
        f"{MARIA}expressions.py",
        "trim(TRAILING weight_string(concat(left({v}, 0), ' '){on}) FROM weight_string({v}{on}))",
        "weight_string({v}{on})",
        ("tests/integration/connectors/test_maria_keys.py::test_identity_is_equality_under_collations",),
    ),
    Mutant(
        "float-by-its-short-text",
        "A float of MariaDB travels with all its digits.",
        f"{MARIA}expressions.py",
        '"{v} + 0e0"',
        '"{v}"',
        (f"{MARIA_VALUES}test_wire_values_come_back_as_the_very_same_value",),
    ),
    Mutant(
        "unsigned-as-signed",
        "A number above the signed maximum travels.",
        f"{MARIA}types.py",
        'Travel(INTEGERS[base][bool(column.fact("unsigned"))])',
        "Travel(INTEGERS[base][0])",
        (f"{MARIA_VALUES}test_wire_values_come_back_as_the_very_same_value",),
    ),
    Mutant(
        "zero-date-in-a-typed-sink",
        "A zero date, or one of a month without that day, fits no typed sink.",
        f"{MARIA}expressions.py",
        "coalesce({v} >= '0001-01-01' AND from_days(to_days({v})) = date({v}), FALSE)",
        "coalesce({v} >= '0000-00-00', FALSE)",
        (f"{MARIA_VALUES}test_wire_form",),
    ),
    Mutant(
        "zero-dates-refused",
        "A source may have zero dates: no mode of a session changes them.",
        f"{MARIA}session.py",
        "ALLOW_INVALID_DATES,",
        "NO_ZERO_DATE,",
        (f"{MARIA_VALUES}test_copies_in_tables_of_our_own_are_the_same_values",),
    ),
    Mutant(
        "nan-in-a-decimal",
        "NaN fits no decimal of a typed sink.",
        f"{PG}expressions.py",
        '"decimal": "{v} <> \'NaN\'::numeric"',
        '"decimal": "{v} IS NOT NULL"',
        (f"{PG_VALUES}test_wire_form",),
    ),
)

NAMES = (
    Mutant(
        "unquoted-backtick",
        "A name cannot leave its quotes.",
        f"{MARIA}facts.py",
        "return f\"`{name.replace('`', '``')}`\"",
        'return f"`{name}`"',
        ("tests/conformance/test_connectors.py::test_quoted_names_come_back_from_the_server",),
    ),
    Mutant(
        "unquoted-names-in-templates",
        "Names enter SQL as quoted identifiers.",
        "qbcd/sql/render.py",
        "return exp.to_identifier(name, quoted=True).sql()",
        "return f'\"{name}\"'",
        ("tests/golden/test_statements.py::test_statements_are_as_recorded",),
    ),
    Mutant(
        "percent-sign-of-the-user",
        "A percent sign in a restriction is no placeholder.",
        "qbcd/sql/compile.py",
        'return inserted.replace("%", "%%") if params else inserted',
        "return inserted",
        ("tests/conformance/test_within.py::test_inserted_texts_are_not_parsed_again",),
    ),
)

SECRETS = (
    Mutant(
        "secret-in-a-log",
        "No log record shows a secret.",
        "qbcd/cli/output.py",
        "record.msg, record.args = self.foreign(record.getMessage()), None",
        "record.msg, record.args = record.getMessage(), None",
        ("tests/unit/cli/test_commands.py::test_logs_go_to_stderr_masked",),
    ),
    Mutant(
        "secret-in-an-error",
        "No message of a server shows the password.",
        "qbcd/catalog/source.py",
        "masked=self.masking.foreign",
        "masked=str",
        (
            "tests/integration/connectors/test_postgres_sessions.py"
            "::test_only_the_password_in_a_message_of_the_server_is_masked",
        ),
    ),
    Mutant(
        "rows-in-an-error",
        "No message shows parameters, which may be rows.",
        "qbcd/catalog/source.py",
        "hide_parameters=True",
        "hide_parameters=False",
        ("tests/integration/connectors/test_postgres_sessions.py::test_messages_hold_no_detail_and_no_parameters",),
    ),
    Mutant(
        "password-in-a-plan",
        "What describes a source shows its URL without the password.",
        "qbcd/catalog/source.py",
        "hide_password=True",
        "hide_password=False",
        ("tests/unit/config/test_masking.py::test_a_source_is_shown_without_its_password",),
    ),
    Mutant(
        "password-in-a-configuration-error",
        "An error in the configuration shows the placeholder, not its value.",
        "qbcd/config/secrets.py",
        "        shown[path] = value\n        try:",
        "        shown[path] = str(expand_text(value, document.base_dir, in_url=False))\n        try:",
        ("tests/unit/config/test_fuzz.py::test_values_of_placeholders_are_never_shown",),
    ),
    Mutant(
        "tokens-unmasked",
        "Settings with the name of a secret are masked.",
        "qbcd/config/masking.py",
        '"(?i)secret|password|passwd|token|access',
        '"(?i)secret|password|passwd|access',
        ("tests/unit/config/test_masking.py::test_secrets_of_databases_sinks_and_spark_are_known",),
    ),
)

WORDS = (
    Mutant(
        "refusal-exits-1",
        "A refusal exits with 3, which no retry repairs.",
        "qbcd/errors.py",
        'state and sinks are unchanged (exit code 3)."""\n\n    exit_code = 3',
        'state and sinks are unchanged (exit code 3)."""\n\n    exit_code = 1',
        ("tests/unit/polling/test_job.py::test_the_exit_code_of_a_job_is_the_worst",),
    ),
    Mutant(
        "failure-before-refusal",
        "A job exits with 3 if a stream was refused, whatever else failed.",
        "qbcd/polling/outcome.py",
        "for code in (3, 1, 2)",
        "for code in (1, 3, 2)",
        ("tests/unit/polling/test_job.py::test_the_exit_code_of_a_job_is_the_worst",),
    ),
    Mutant(
        "differences-exit-0",
        "Differences that verify finds exit with 4.",
        "qbcd/run.py",
        "return 4 if self.differences else 0",
        "return 0",
        ("tests/integration/cli/test_verify_streams.py::test_every_stream_is_compared",),
    ),
    Mutant(
        "never-late",
        "A stream without a successful poll for more than three intervals is late.",
        "qbcd/status.py",
        "limit = LATE_INTERVALS * self.every if",
        "limit = LATE_INTERVALS * 60 * self.every if",
        ("tests/unit/cli/test_status_lines.py::test_the_state_is_part_of_json",),
    ),
    Mutant(
        "refused-shown-as-failed",
        "A refused stream needs a person, and its state says so.",
        "qbcd/status.py",
        'return "refused" if self.last_poll.outcome == "refused" else "failed"',
        'return "failed"',
        ("tests/unit/cli/test_status_lines.py::test_the_state_is_part_of_json",),
    ),
)
