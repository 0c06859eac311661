"""The project's own tables in the state database, next to those of the lake wing."""

from __future__ import annotations

from sqlalchemy import Boolean, Column, Integer, MetaData

from qbcd.state.dialects import COUNTER, KEY_TEXT
from qbcd.state.tables import PREFIX, big, make_table, seconds, text

METADATA = MetaData()
ACK = make_table(
    METADATA,
    PREFIX + "ack",
    text("stream", key=True),
    text("sink", key=True),
    big("epoch"),
    big("batch_seq"),
    text("fingerprint"),
    seconds("at"),
    loose=("at",),
)
DELIVERY_ERROR = make_table(
    METADATA,
    PREFIX + "delivery_error",
    text("stream", key=True),
    text("sink", key=True),
    seconds("at"),
    text("message"),
    Column("attempts", Integer, nullable=False),
)
HISTORY = make_table(
    METADATA,
    PREFIX + "history",
    Column("id", COUNTER, primary_key=True, autoincrement=True),
    Column("stream", KEY_TEXT, nullable=False),
    seconds("started_at"),
    seconds("finished_at"),
    text("outcome"),
    big("epoch"),
    big("batch_seq"),
    text("counts"),
    text("cost"),
    text("message"),
    unique=("stream", "id"),
)
RESEND = make_table(
    METADATA,
    PREFIX + "resend",
    text("stream", key=True),
    text("sink", key=True),
    big("number"),
    text("restriction"),
    Column("pending", Boolean, nullable=False),
    seconds("at"),
    loose=("pending", "at"),
)
LOOKUP_KEY = make_table(
    METADATA,
    PREFIX + "lookup_key",
    text("lookup", key=True),
    text("digest", key=True),
    big("number"),
    text("text"),
    seconds("at"),
    loose=("at",),
    unique=("lookup", "number"),
)
ENRICHED = make_table(
    METADATA,
    PREFIX + "enriched",
    text("stream", key=True),
    big("epoch", key=True),
    big("batch_seq", key=True),
    text("fingerprint"),
    text("fields"),
    text("file"),
    text("hash"),
    text("counts"),
    seconds("at"),
    loose=("at",),
)
WAITING = make_table(
    METADATA,
    PREFIX + "waiting",
    text("stream", key=True),
    big("epoch", key=True),
    big("batch_seq", key=True),
    text("header"),
    text("file"),
    text("hash"),
    big("events"),
    big("through"),
    seconds("at"),
    loose=("at",),
)
INTEREST = make_table(
    METADATA,
    PREFIX + "interest",
    text("stream", key=True),
    text("wanted"),
    text("captured"),
    seconds("at"),
    loose=("at",),
)
SUBSCRIBED = make_table(
    METADATA, PREFIX + "subscribed", text("stream", key=True), text("digest", key=True), big("number"), loose=()
)
PROGRESS = make_table(
    METADATA,
    PREFIX + "progress",
    text("stream", key=True),
    text("sink", key=True),
    text("fingerprint"),
    big("events"),
    loose=(),
)
ADDED = (RESEND, LOOKUP_KEY, ENRICHED, WAITING, INTEREST, SUBSCRIBED, PROGRESS)  # older states lack these tables
REFUSAL = make_table(
    METADATA,
    PREFIX + "refusal",
    text("stream", key=True),
    text("kind"),
    big("version"),
    big("amount"),
    text("message"),
    seconds("at"),
)
