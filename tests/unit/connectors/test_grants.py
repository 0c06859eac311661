"""Printed GRANT statements: names in quotes, so that a DBA can paste them."""

from __future__ import annotations

import pytest

from qbcd.connectors import CONNECTORS
from qbcd.connectors.mysql_family.grants import granted
from qbcd.errors import MissingPrivilege
from qbcd.model import Table

ACCOUNT = "the account that SELECT CURRENT_USER() returns"
URL_USER = "the user of the source's url; ALL if it is qbcd's own"


@pytest.mark.parametrize(
    ("which", "role", "statements"),
    [
        (
            "postgresql",
            'Nightly "Reader"',
            (
                'GRANT SELECT ON "my_shop"."Order s" TO "Nightly ""Reader"""',
                'GRANT USAGE ON SCHEMA "my_shop" TO "Nightly ""Reader"""',
            ),
        ),
        ("mariadb", "o'hara@%", ("GRANT SELECT ON `my_shop`.`Order s` TO 'o''hara'@'%'",)),
        ("mysql", "a@b@10.0.%", ("GRANT SELECT ON `my_shop`.`Order s` TO 'a@b'@'10.0.%'",)),
    ],
)
def test_names_are_quoted(which: str, role: str, statements: tuple[str, ...]) -> None:
    ddl = CONNECTORS[which]().ddl
    made = (ddl.select_grant(Table("my_shop", "Order s", "table", (), ()), role), ddl.usage_grant("my_shop", role))
    assert made[: len(statements)] == statements


READER = {"postgresql": "reader", "mariadb": "reader@%", "mysql": "reader@%"}
ON_EXISTING = [
    'GRANT USAGE, CREATE ON SCHEMA "my_qbcd" TO "reader"',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA "my_qbcd" TO "reader"',
]
# ALTER is for a change of `columns`.
ON_DATABASE = [r"GRANT SELECT, INSERT, UPDATE, DELETE, CREATE, DROP, INDEX, ALTER ON `my\_qbcd`.* TO 'reader'@'%'"]


@pytest.mark.parametrize(
    ("which", "exists", "statements"),
    [
        ("postgresql", False, ['CREATE SCHEMA "my_qbcd" AUTHORIZATION "reader"']),
        ("postgresql", True, ON_EXISTING),
        ("mariadb", False, ON_DATABASE),
        ("mysql", True, ON_DATABASE),
    ],
)
def test_a_schema_of_its_own(which: str, exists: bool, statements: list[str]) -> None:
    ddl = CONNECTORS[which]().ddl
    assert ddl.own_schema("my_qbcd", READER[which], exists=exists) == statements
    assert ddl.grants("my_qbcd", READER[which]) == (statements if exists or which != "postgresql" else ON_EXISTING)


@pytest.mark.parametrize(
    ("which", "code", "message", "remedy"),
    [
        ("postgresql", "42501", "permission denied for table Order s", f'GRANT SELECT ON "Order s" TO {URL_USER}'),
        ("postgresql", "42501", "permission denied for schema sales", f'GRANT USAGE ON SCHEMA "sales" TO {URL_USER}'),
        ("postgresql", "42501", "permission denied for function f", "grant the role the right that the message names"),
        (
            "mariadb",
            1044,
            "Access denied for user 'reader'@'%' to database 'my_shop'",
            r"GRANT SELECT ON `my\_shop`.* TO 'reader'@'%', or on the captured tables alone",
        ),
        (
            "mariadb",
            1142,
            "SELECT, INSERT command denied to user 'reader'@'localhost' for table `shop`.`Order s`",
            f"GRANT SELECT, INSERT ON `shop`.`Order s` TO {ACCOUNT}",
        ),
        (
            "mysql",
            1142,
            "SELECT command denied to user 'reader'@'localhost' for table 'orders'",
            f"GRANT SELECT ON `orders` TO {ACCOUNT}",
        ),
        (
            "mysql",
            1143,
            "SELECT command denied to user 'reader'@'localhost' for column 'a' in table 'orders'",
            f"GRANT SELECT ON `orders` TO {ACCOUNT}",
        ),
        (
            "mariadb",
            1227,
            "Access denied; you need (at least one of) the PROCESS privilege(s) for this operation",
            f"GRANT PROCESS ON *.* TO {ACCOUNT}",
        ),
        (
            "mariadb",
            1227,
            "Access denied; you need (at least one of) the SUPER, READ_ONLY ADMIN privilege(s) for this operation",
            f"GRANT READ_ONLY ADMIN ON *.* TO {ACCOUNT}",
        ),
    ],
)
def test_a_denied_right_has_its_statement(which: str, code: str | int, message: str, remedy: str) -> None:
    error = Exception(code, message) if isinstance(code, int) else Exception(message)
    if isinstance(code, str):
        error.pgcode = code  # type: ignore[attr-defined]
    explained = CONNECTORS[which]().errors.explain_error(error, stream="s", source="shop (h:1)")
    assert type(explained) is MissingPrivilege
    assert explained.remedy == remedy


def test_a_right_that_is_revoked_on_one_database() -> None:
    """As MySQL shows it with `partial_revokes`."""
    shown = [
        "GRANT SELECT, INSERT ON *.* TO `r`@`%`",
        "REVOKE INSERT ON `my_shop`.* FROM `r`@`%`",
        "GRANT DELETE ON `my_shop`.* TO `r`@`%`",
    ]
    rights = ("SELECT", "INSERT", "DELETE")
    assert [granted(shown, right, "my_shop", "t") for right in rights] == [True, False, True]
    assert [granted(shown, right, "other", "t") for right in rights] == [True, True, False]
    assert granted([*shown, "GRANT INSERT ON `my_shop`.`t` TO `r`@`%`"], "INSERT", "my_shop", "t")
