"""Masking of secrets: whole words, only where a secret can be; no name of the configuration."""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pydantic import SecretStr
from sqlalchemy import make_url

from qbcd.catalog.source import Source
from qbcd.config import ProjectConfig, config_from_dict
from qbcd.config.masking import Masking, credentials_masked, masking_of, named_secrets, secrets_of
from qbcd.connectors import CONNECTORS

CANARY = "c4n4ry-p@ss:w/rd% \"x'\\é+&=;#Zz9"
CANARY_URL = quote(CANARY, safe="")
PASSWORDS = ("postgres", "orders", "a", "secret", "hunter2", CANARY)

# Texts that announce a credential; every secret is masked there. %s is the secret.
ANNOUNCED = (
    "connecting with password=%s failed",
    "host=h password = '%s' user=u",
    "postgresql://u:%s@h/d",
    "jdbc:mysql://h/d?user=u&password=%s&x=1",
    'password "%s" is wrong',
    "ALTER ROLE u PASSWORD '%s'",
    "CREATE USER u IDENTIFIED BY '%s'",
    "{'user': 'u', 'password': '%s'}",
    "password: %s, host: h",
    "fs.s3a.secret.key=%s",
)
# Messages of servers, drivers, Java and qbcd with words that are passwords too, and must not be masked.
UNTOUCHED = (
    ("permission denied for table orders (GRANT SELECT ON public.orders, public.ordersz)", "orders"),
    ("GRANT SELECT ON public.ordersz", "order"),
    ("source shop: column a of a table is not a number: a", "a"),
    ('column "a" does not exist', "a"),
    ("org.postgresql.Driver is not on the class path: org.postgres.x", "postgres"),
    ("org.postgresql.Driver is not on the class path", "postgresql"),
    ('relation "secret" does not exist', "secret"),
    ('role "hunter2" is not permitted to log in', "hunter2"),
    ("Access denied for user 'hunter2'@'hunter3' to database 'hunter4'", "hunter3"),
    ("Table 'shop.hunter2' doesn't exist", "hunter2"),
    ("hunter22, hunter2-b, xhunter2 and hunter2.orders", "hunter2"),
    ("password authentication failed for user u", "password"),
    ("Connection refused: the connection to port 5432 failed", "5432"),
    ("the secret of the orders is kept by a server", "secret"),
    ("spark.sql.session.timeZone is false", "false"),
)


@pytest.mark.parametrize("template", ANNOUNCED)
@pytest.mark.parametrize("secret", PASSWORDS)
@pytest.mark.parametrize("names", [(), PASSWORDS], ids=["secret", "name-too"])
def test_an_announced_secret_is_masked_whatever_its_length(template: str, secret: str, names: tuple[str, ...]) -> None:
    masking = Masking([secret], names)
    encoded = quote(secret, safe="")
    lower = re.sub("%..", lambda found: found[0].lower(), encoded)
    for spelled in {secret, encoded, quote_plus(secret), lower}:
        masked = masking.foreign(template % spelled)
        assert masked.replace("'***'", "***") == (template % "***").replace("'***'", "***"), spelled


@pytest.mark.parametrize(("text", "secret"), UNTOUCHED)
def test_words_that_are_no_secret_stay(text: str, secret: str) -> None:
    assert Masking([secret]).foreign(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ('invalid input syntax for type integer: "***"', "hunter2"),
        ('invalid input syntax for type integer: "***"', "secret"),
        ("near '***' at line 1", "secret"),
        ("java.lang.IllegalArgumentException: ***", "secret"),
        ("the value ***.", "hunter2"),
        ("cannot read ***: (***)", "hunter2"),
        ("a\\n***\\tb", "hunter2"),
        ("u%3A***%40h", "hunter2"),
        ("xx***xx", CANARY),
    ],
)
def test_repeated_secrets_are_masked(text: str, secret: str) -> None:
    masking = Masking([secret])
    assert masking.foreign(text.replace("***", secret)) == text
    assert masking.foreign(text.replace("***", quote(secret, safe=""))) == text


@pytest.mark.parametrize("spell", [json.dumps, repr, ascii, lambda text: "'" + text.replace("'", "''") + "'"])
def test_escaped_secrets_are_masked(spell: Any) -> None:
    assert Masking([CANARY]).foreign(f"said {spell(CANARY)}") in ('said "***"', "said '***'")


def test_names_are_masked_only_where_a_credential_is_announced() -> None:
    masking = Masking(["orders", "Hunter2"], ["ORDERS", "hunter2"])
    text = 'stream orders: "orders" and Hunter2 at postgresql://u:orders@h/orders'
    assert masking.foreign(text) == 'stream orders: "orders" and Hunter2 at postgresql://u:***@h/orders'


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("postgresql://u:p@ss@h/d", "postgresql://u:***@h/d"),
        ("postgresql://u:p%40ss@h/d and mysql://u:x@h", "postgresql://u:***@h/d and mysql://u:***@h"),
        ("postgresql://u@h:5432/d", "postgresql://u@h:5432/d"),
        ("bad dsn: password='x \\' y' host=h", "bad dsn: password=*** host=h"),
        ("jdbc:postgresql://h/d?PASSWORD=x&ssl=y", "jdbc:postgresql://h/d?PASSWORD=***&ssl=y"),
        ("spark.datasource.password=x", "spark.datasource.password=***"),
        (
            "qbcd.yaml:5: sources.shop.password: the password is written in the file",
            "qbcd.yaml:5: sources.shop.password: the password is written in the file",
        ),
        ("password_hash = 5", "password_hash = 5"),
        ("?url=postgresql%3A%2F%2Fu%3Ap%2540ss%40h%2Fd&x=%40", "?url=postgresql%3A%2F%2Fu%3A***%40h%2Fd&x=%40"),
        ("http%3a%2f%2fh%3a80%2fx", "http%3a%2f%2fh%3a80%2fx"),
    ],
)
def test_credentials_are_masked_by_their_form(text: str, masked: str) -> None:
    assert credentials_masked(text) == masked
    assert Masking().foreign(text) == masked


@settings(max_examples=150, deadline=None, derandomize=True)
@given(secret=st.text(min_size=1, max_size=24), around=st.sampled_from(ANNOUNCED))
@example(secret="\\1", around=ANNOUNCED[0])
@example(secret="(?i", around=ANNOUNCED[1])
def test_any_secret_is_a_plain_text(secret: str, around: str) -> None:
    assume("*" not in secret and secret not in ("true", "false"))
    assert Masking([secret]).foreign(around % quote(secret, safe="")).count("***") == 1


def test_a_long_secret_is_masked_in_its_usual_spellings() -> None:
    secret = CANARY + "".join(f"{number}-" for number in range(900))
    masking = Masking([secret])
    for spelled in (secret, quote(secret, safe=""), json.dumps(secret), repr(secret)):
        assert "c4n4ry" not in masking.foreign(f"said {spelled}")


# -- the secrets and names of a project ------------------------------------------------------------------------------
def config(**more: Any) -> ProjectConfig:
    return config_from_dict(
        {
            "version": 1,
            "sources": {"shop": {"url": "postgresql://reader:hidden-1@127.0.0.1/store"}},
            "sinks": {"changes": {"type": "jsonl", "path": "out"}},
            "tables": [
                {
                    "name": "stream-1",
                    "source": "shop",
                    "table": "app_1.table_1",
                    "key": ["key_1"],
                    "exclude": ["column_1"],
                    "where": "column_2 = 'hidden-2'",
                    "strategy": {"type": "ts", "timestamp": "column_3"},
                    "sinks": ["changes"],
                }
            ],
            **more,
        }
    )


def test_secrets_of_databases_sinks_and_spark_are_known() -> None:
    conf = {
        "spark.hadoop.fs.s3a.access_key": SecretStr("s3-hidden"),
        "spark.app.name": "plain",
        "spark.jars.repositories": "https://u:hidden%2D4@h/maven",
        "spark.security.credentials.hive.enabled": "false",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    }
    made = config(spark={"conf": conf}, state="postgresql://u:hidden-3@127.0.0.1/state")
    assert set(secrets_of(made)) == {"hidden-1", "hidden-3", "hidden-4", "s3-hidden", "false"}
    assert masking_of(made).foreign("is false, not hidden-1 s3-hidden") == "is false, not *** ***"
    nested = {"auth": {"password": "one"}, "credentials": ["two", {"x": "three"}], "y": "four"}
    assert list(named_secrets(nested)) == ["one", "two", "three"]
    named = ("clientSecret", "Password", "db_passwd", "api-token", "accessKey", "access_key", "credentialFile")
    assert list(named_secrets(dict.fromkeys(named, "x"))) == ["x"] * len(named)


@pytest.mark.parametrize("name", ["postgresql", "mariadb"])
def test_a_source_is_shown_without_its_password(name: str) -> None:
    source = Source("shop", make_url(f"{name}://u:{CANARY_URL}@h/d"), CONNECTORS[name](), "qbcd")
    for shown in (repr(source), str(source), source.label):
        assert CANARY not in shown and CANARY_URL not in shown
    assert repr(source) == f"Source('shop', '{name}://u:***@h/d')"


@pytest.mark.parametrize(
    "name",
    """reader store shop changes stream-1 app_1 table_1 app_1.table_1 key_1 column_1 column_2 column_3 qbcd postgresql
    127.0.0.1""".split(),  # noqa: SIM905
)
def test_names_of_the_configuration_are_no_secrets(name: str) -> None:
    made = config(state=f"postgresql://u:{quote(name, safe='')}@127.0.0.1/state")
    text = f'said {name} and "{name}": {name}'
    assert masking_of(made).foreign(text) == text
    assert masking_of(made).foreign(f"password={name}") == "password=***"


def test_a_database_alone_knows_its_password() -> None:
    masking = Masking.of_url(make_url("postgresql://reader:hunter2@h/hunter3"), "hunter4")
    assert masking.foreign("hunter2, hunter3, hunter4") == "***, hunter3, hunter4"
