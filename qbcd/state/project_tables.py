"""The tables of what a project remembers outside its sites, in its state database beside those of the Spark site."""

from __future__ import annotations

from sqlalchemy import BigInteger as Big
from sqlalchemy import Column, Integer, MetaData

from qbcd.state.dialects import COUNTER, KEY_TEXT, LONG_TEXT, SECONDS
from qbcd.state.tables import PREFIX, make_table

METADATA = MetaData()
ACK = make_table(
    METADATA,
    PREFIX + "ack",
    Column("stream", KEY_TEXT, primary_key=True),
    Column("sink", KEY_TEXT, primary_key=True),
    Column("epoch", Big, nullable=False),
    Column("batch_seq", Big, nullable=False),
    Column("fingerprint", LONG_TEXT, nullable=False),
    Column("at", SECONDS, nullable=False),
    loose=("at",),
)
DELIVERY_ERROR = make_table(
    METADATA,
    PREFIX + "delivery_error",
    Column("stream", KEY_TEXT, primary_key=True),
    Column("sink", KEY_TEXT, primary_key=True),
    Column("at", SECONDS, nullable=False),
    Column("message", LONG_TEXT, nullable=False),
    Column("attempts", Integer, nullable=False),
)
HISTORY = make_table(
    METADATA,
    PREFIX + "history",
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("stream", KEY_TEXT, nullable=False),
    Column("started_at", SECONDS, nullable=False),
    Column("finished_at", SECONDS, nullable=False),
    Column("outcome", LONG_TEXT, nullable=False),
    Column("epoch", Big, nullable=False),
    Column("batch_seq", Big, nullable=False),
    Column("counts", LONG_TEXT, nullable=False),
    Column("cost", LONG_TEXT, nullable=False),
    Column("message", LONG_TEXT, nullable=False),
    unique=("stream", "id"),
)
REFUSAL = make_table(
    METADATA,
    PREFIX + "refusal",
    Column("stream", KEY_TEXT, primary_key=True),
    Column("kind", LONG_TEXT, nullable=False),
    Column("version", Big, nullable=False),
    Column("amount", Big, nullable=False),
    Column("message", LONG_TEXT, nullable=False),
    Column("at", SECONDS, nullable=False),
)
