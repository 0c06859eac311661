"""The tables of a project's own memory, in its state database next to those of the lake wing."""

from __future__ import annotations

from sqlalchemy import Column, Integer, MetaData

from qbcd.state.dialects import COUNTER, KEY_TEXT
from qbcd.state.tables import PREFIX, big_column, make_table, seconds_column, text_column

METADATA = MetaData()
ACK = make_table(
    METADATA,
    PREFIX + "ack",
    text_column("stream", key=True),
    text_column("sink", key=True),
    big_column("epoch"),
    big_column("batch_seq"),
    text_column("fingerprint"),
    seconds_column("at"),
    loose=("at",),
)
DELIVERY_ERROR = make_table(
    METADATA,
    PREFIX + "delivery_error",
    text_column("stream", key=True),
    text_column("sink", key=True),
    seconds_column("at"),
    text_column("message"),
    Column("attempts", Integer, nullable=False),
)
HISTORY = make_table(
    METADATA,
    PREFIX + "history",
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("stream", KEY_TEXT, nullable=False),
    seconds_column("started_at"),
    seconds_column("finished_at"),
    text_column("outcome"),
    big_column("epoch"),
    big_column("batch_seq"),
    text_column("counts"),
    text_column("cost"),
    text_column("message"),
    unique=("stream", "id"),
)
REFUSAL = make_table(
    METADATA,
    PREFIX + "refusal",
    text_column("stream", key=True),
    text_column("kind"),
    big_column("version"),
    big_column("amount"),
    text_column("message"),
    seconds_column("at"),
)
