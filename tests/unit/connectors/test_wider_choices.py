"""Labels that are appended to an enum or set of MariaDB and MySQL: which digest its values keep."""

from __future__ import annotations

import pytest

from qbcd.connectors.mysql_family import types, widening

LONG = "x" * 64  # of 256 bytes, as characters of 4
QUOTES, SLASHES = "''" * 40, r"\\" * 40  # two characters spell one: 40 characters


@pytest.mark.parametrize(
    ("then", "now", "characters", "fact"),
    [
        ("enum('a')", "enum('a','b')", 1, ""),
        ("enum('a')", f"enum('a','{LONG}')", 64, "short"),
        (f"enum('{LONG}')", f"enum('{LONG}','b')", 64, ""),
        (f"enum('{QUOTES}')", f"enum('{QUOTES}','{LONG}')", 64, "short"),
        (f"enum('{SLASHES}')", f"enum('{SLASHES}','{LONG}')", 64, "short"),
        ("enum('a')", f"enum('a','{LONG}')", 65, None),  # the catalog counts otherwise
        ("enum('a')", f"enum('b','{LONG}')", 64, None),
        ("set('a','b')", f"set('a','b','{LONG}')", 68, "short"),  # commas count
        (f"set('a','{LONG}')", f"set('a','{LONG}','b')", 68, ""),
        (f"set('a','{'x' * 62}')", f"set('a','{'x' * 62}','b')", 66, ""),
        (f"set('a','{'x' * 61}')", f"set('a','{'x' * 61}','b')", 65, "short"),
    ],
)
def test_the_digest_that_values_keep(then: str, now: str, characters: int, fact: str | None) -> None:
    about = {"name": "c", "nullable": True, "collation": "utf8mb4_bin", "no_pad": 0, "precision": 0, "scale": 0}
    text = {"charset": "utf8mb4", "characters": characters, "octets": 4 * characters}
    column = types.make_column({**about, **text, "sql_type": now, "base_type": now.partition("(")[0]})
    assert widening.widened(then, column) == fact
