"""The statements of docs/how-to/troubleshoot.md that find open transactions, executed letter by letter."""

from __future__ import annotations

import re
from pathlib import Path

from tests.support.places import Place, over

PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "troubleshoot.md"
TITLES = {"postgresql": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL"}
SESSION = {
    "postgresql": "SELECT pg_backend_pid()",
    "mariadb": "SELECT connection_id()",
    "mysql": "SELECT connection_id()",
}


@over()
def test_the_statements_name_the_session_of_an_open_transaction(place: Place) -> None:
    (block,) = re.findall(r"```sql\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL)
    found = re.findall(r"(SELECT .*?); +-- ([\w, ]+)", block, re.DOTALL)
    assert len(found) == block.count(";")
    place.sql("CREATE TABLE t (id int PRIMARY KEY)")
    with place.connect() as conn:
        place.run(conn, "INSERT INTO t VALUES (1)")
        ((session,),) = place.run(conn, SESSION[place.kind])
        ours = [place.sql(text) for text, titles in found if TITLES[place.kind] in titles.split(", ")]
    assert session in {row[0] for rows in ours for row in rows}
