"""A session that ends between two statements: the error says so, whatever its handlers do."""

from __future__ import annotations

import pytest
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError

from qbcd.catalog.source import Session, Source
from qbcd.connectors import connector_for
from qbcd.errors import SourceError
from qbcd.state import StreamStore
from tests.support import wait_until
from tests.support.places import Place, over

OWN = {"postgresql": "SELECT pg_backend_pid()", "": "SELECT connection_id()"}
BEGIN = {"postgresql": "SELECT 1", "": "START TRANSACTION"}
END = {"postgresql": "SELECT pg_terminate_backend({})", "": "KILL {}"}
LIVES = {
    "postgresql": "SELECT 1 FROM pg_stat_activity WHERE pid = {}",
    "": "SELECT 1 FROM information_schema.processlist WHERE id = {}",
}


def end(place: Place, session: Session) -> None:
    end_number(place, session.one(OWN.get(place.kind, OWN[""]))[0])


def end_number(place: Place, number: int) -> None:
    place.sql(END.get(place.kind, END[""]).format(number))
    wait_until(lambda: not place.sql(LIVES.get(place.kind, LIVES[""]).format(number)))


@over()
def test_the_error_is_that_of_the_session(place: Place) -> None:
    source = Source("shop", make_url(place.url), connector_for(place.url), place.own_schema)
    store = StreamStore(place.own_schema)
    with source.write("s") as session:
        store.create(session.connection)
    with pytest.raises(SourceError, match="cannot be reached"), source.read("s") as session:
        assert store.exists(session.connection)
        end(place, session)
        store.exists(session.connection)  # it forgets what it knew of the session
    with pytest.raises(SourceError, match="cannot be reached"), source.read("s") as session:
        end(place, session)
        try:
            session.run("SELECT 1")
        except DBAPIError:
            session.run("SELECT 1")
    source.close()


@over()
def test_a_shared_session_that_ended_is_replaced_and_leaves_no_record(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    source = Source("shop", make_url(place.url), connector_for(place.url), place.own_schema)
    with source.pooled():
        with source.read("s") as session:
            cursor = session.connection.connection.cursor()  # as bulk reads do
            cursor.execute(BEGIN.get(place.kind, BEGIN[""]))
            cursor.execute(OWN.get(place.kind, OWN[""]))
            end_number(place, cursor.fetchall()[0][0])
        with source.read("s") as session:
            assert session.one("SELECT 1")[0] == 1
    source.close()
    assert [record.getMessage() for record in caplog.records if record.name.startswith("sqlalchemy")] == []
