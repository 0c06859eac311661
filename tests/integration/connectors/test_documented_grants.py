"""The statements of docs/how-to/grant-rights.md, executed letter by letter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from qbcd.errors import QbcdError
from tests.support.maria_source import KINDS
from tests.support.places import Place
from tests.support.project import config, opened, poll

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "grant-rights.md"
STAMPED = {"timestamp": "at", "margin": "1ms"}
SECTIONS = {"postgresql": "PostgreSQL", "mariadb": "MariaDB and MySQL", "mysql": "MariaDB and MySQL"}
# By letter: a strategy for which the statements up to this letter are enough, and those of the letter before are not.
STRATEGIES: dict[str, dict[str, Any]] = {
    "A": {"type": "id_rcs"},
    "B": {"type": "mds"},
    "C": {"type": "ts", **STAMPED},
    "D": {"type": "tdi", "delete_flag": "gone", "deleted_value": 1, "purge": True, **STAMPED},
}


def statements(kind: str) -> dict[str, str]:
    """Return the statements of the page for a kind of database, by letter."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {SECTIONS[kind]}\n")[1].split("\n## ")[0]
    return dict(re.findall(r"\*\*([A-D])\. .*?```sql\n(.*?)```", section, re.DOTALL))


@pytest.mark.campaign
def test_each_letter_is_enough_on_postgresql(place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TABLE orders (id int PRIMARY KEY, v int, qbcd_sum bigint, gone smallint NOT NULL DEFAULT 0, "
        "at timestamptz NOT NULL DEFAULT now()); INSERT INTO orders (id, v) VALUES (1, 1)"
    )
    user = f"r_{place.name[-20:]}"
    names = {"reader": user, "shop": place.quote(place.name)}
    try:
        with place.connect() as other:
            place.run(
                other, "SELECT txid_current()"
            )  # a transaction of another role, whose start the strategy must see
            for letter, text in statements("postgresql").items():
                assert letter == "A" or tried(place, user, letter, workspace), f"{letter} is not needed"
                written = re.sub(r"\b(reader|shop)\b", lambda word: names[word[0]], re.sub(r"--.*", "", text))
                place.sql(written.replace("'...'", "'secret'"))
                assert tried(place, user, letter, workspace) == ""
    finally:
        place.sql(f"DROP OWNED BY {user} CASCADE; DROP ROLE {user}")


@pytest.mark.parametrize("database", KINDS, indirect=True)
def test_each_letter_is_enough_for_its_strategy(place: Place, workspace: Path) -> None:
    place.sql(
        "CREATE TABLE orders (id int PRIMARY KEY, v int, qbcd_sum bigint, gone tinyint NOT NULL DEFAULT 0, "
        "at timestamp(6) NOT NULL DEFAULT current_timestamp(6)); INSERT INTO orders (id, v) VALUES (1, 1)"
    )
    pages, user = statements(place.kind), f"r_{place.name[-20:]}"
    names = {"reader": user, "shop": place.name, "qbcd": place.own_schema}
    assert [*pages] == [*STRATEGIES]
    try:
        for letter, text in pages.items():
            lacking = tried(place, user, letter, workspace) if letter != "A" else "no user"
            assert lacking, f"{letter} is not needed"
            written = re.sub(r"--.*", "", text)
            written = re.sub(r"\b(reader|shop|qbcd)\b(?=[@.])", lambda word: names[word[0]], written)
            written = re.sub(r"(?<=ON )(\w+)(?=\.\*)", lambda word: word[0].replace("_", "\\_"), written)
            written = re.sub(r"(?<=ON )(\w*\\_[\w\\]*)(?=\.)", r"`\1`", written)
            place.sql(written.replace("'...'", "'secret'"))
            assert tried(place, user, letter, workspace) == ""
    finally:
        place.sql(f"DROP USER IF EXISTS {user}@'%'")


def tried(place: Place, user: str, letter: str, workspace: Path) -> str:
    """Prepare and poll the strategy of a letter; return the error."""
    lag = {"lag": "2ms"} if "timestamp" in STRATEGIES[letter] and place.kind != "postgresql" else {}
    strategy = {**STRATEGIES[letter], **lag}
    stream = {"name": letter.lower(), "table": place.table("orders"), "strategy": strategy}
    with opened(
        config(place.url_as(user, "secret"), stream, source={"schema": place.own_schema}), workspace
    ) as project:
        try:
            project.stream(letter.lower()).prepare()
            poll(project)
        except QbcdError as error:
            return error.what
    return ""
