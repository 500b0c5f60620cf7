"""The tables. Every change here needs a migration beside it (migrations/versions)."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    false,
)

__all__ = [
    "activations",
    "audit",
    "fits",
    "heartbeat",
    "held",
    "incidents",
    "judgements",
    "leases",
    "metadata",
    "models",
    "mutes",
    "outbox",
    "readings",
    "recalibrations",
    "rows",
    "samples",
    "sources",
    "summaries",
    "tokens",
    "workers",
]

metadata = MetaData()

models = Table(
    "models",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("sha256", Text, nullable=False, index=True),
    Column("size", BigInteger, nullable=False),
    Column("card", JSON, nullable=False),
    Column("file", LargeBinary, nullable=False),
)

sources = Table(
    "sources",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    # Only ever appended to: it is the order of the numbers in rows.cells and readings.detail.
    Column("variables", JSON, nullable=False),
    Column("bucket_us", BigInteger, nullable=False),
    # Every row before this time has its reading, final unless late rows came since.
    Column("score_from_us", BigInteger, nullable=False),
    # The oldest row that came late since, and how many times any came at all.
    Column("late_us", BigInteger, nullable=True),
    Column("late_count", BigInteger, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    # How far it is (progress.py): kept with its rows, for processes that did not store them.
    Column("newest_us", BigInteger, nullable=True),
    Column("oldest_us", BigInteger, nullable=True),
    Column("row_count", BigInteger, nullable=False, server_default="0"),
    Column("unscored", BigInteger, nullable=False, server_default="0"),
    Column("arrived_us", BigInteger, nullable=False, server_default="0"),
)

activations = Table(
    "activations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("source_id", Integer, ForeignKey("sources.id"), nullable=False, index=True),
    Column("model_id", Text, ForeignKey("models.id"), nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("rolled_back", Boolean, nullable=False),
)

recalibrations = Table(
    "recalibrations",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("source_id", Integer, ForeignKey("sources.id"), nullable=False, index=True),
    Column("model_id", Text, ForeignKey("models.id"), nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("value", Float(53), nullable=False),
    Column("note", Text, nullable=False),
    Column("undone", Boolean, nullable=False),
)

rows = Table(
    "rows",
    metadata,
    Column("source_id", Integer, ForeignKey("sources.id"), primary_key=True),
    Column("time_us", BigInteger, primary_key=True),
    Column("arrived_us", BigInteger, nullable=False),
    Column("cells", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (time_us)",
)

readings = Table(
    "readings",
    metadata,
    Column("source_id", Integer, ForeignKey("sources.id"), primary_key=True),
    Column("time_us", BigInteger, primary_key=True),
    Column("score", Float(53), nullable=False),
    Column("raw", Float(53), nullable=False),
    # By how much the alarm level stood above its own height, because all scores had drifted.
    Column("drift", Float(53), nullable=False),
    # What was taken off the score as usual, in times of the alarm level.
    Column("shift", Float(53), nullable=False, server_default="0"),
    Column("novelty", Float(53), nullable=False, server_default="0"),
    # Of scores since a change of the system, in times of the normal one; null without a change.
    Column("spread", Float(53)),
    Column("rank", Integer, nullable=False),
    Column("warm_up", Boolean, nullable=False),
    Column("alarm", Boolean, nullable=False, server_default=false()),
    Column("detail", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
    postgresql_partition_by="RANGE (time_us)",
)

summaries = Table(
    "summaries",
    metadata,
    Column("source_id", Integer, ForeignKey("sources.id"), primary_key=True),
    Column("level", Integer, primary_key=True),
    Column("start_us", BigInteger, primary_key=True),
    Column("data", LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)

incidents = Table(
    "incidents",
    metadata,
    Column("id", Text, primary_key=True),
    Column("source_id", Integer, ForeignKey("sources.id"), nullable=False),
    Column("model_id", Text, ForeignKey("models.id"), nullable=True),
    Column("kind", Text, nullable=False),
    Column("variable", Text, nullable=True),
    Column("state", Text, nullable=False),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("peak_raw", Float(53), nullable=False),
    Column("severity", Text, nullable=False),
    Column("verdict", Text, nullable=True),
    # Key of its pattern (diagnosis/repeats.py), and the first incident of those that recur.
    Column("pattern", Text, nullable=True),
    Column("series", Text, nullable=True),
    # Whether a verdict on its pattern keeps it from alarming.
    Column("silenced", Boolean, nullable=False, server_default=false()),
    # What people did about it: incidents/work.py.
    Column("work", JSON(none_as_null=True), nullable=True),
    # All else the API shows: diagnosis/fields.py says what.
    Column("detail", JSON, nullable=False),
    Index("incidents_by_time", "start_us", "id"),
    Index("incidents_by_source", "source_id", "start_us"),
    Index("incidents_by_pattern", "source_id", "pattern", "start_us"),
    Index("incidents_by_series", "series", "start_us"),
    Index("incidents_by_state", "state", "source_id"),
)

judgements = Table(
    "judgements",
    metadata,
    # What a person said of an incident, and thereby of its pattern as it was then.
    Column("incident_id", Text, ForeignKey("incidents.id"), primary_key=True),
    Column("source_id", Integer, ForeignKey("sources.id"), nullable=False),
    Column("pattern", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("peak", Float(53), nullable=False),
    Column("who", Text, nullable=False),
    Column("at_us", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=True),
    Index("judgements_by_pattern", "source_id", "pattern"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("channel", Text, nullable=False),
    Column("incident_id", Text, nullable=False),
    Column("event", JSON, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("next_try_us", BigInteger, nullable=False),
    Column("state", Text, nullable=False),
    Column("error", Text, nullable=True),
    Index("outbox_due", "state", "next_try_us"),
    Index("outbox_by_incident", "incident_id"),
)

mutes = Table(
    "mutes",
    metadata,
    Column("id", Text, primary_key=True),
    # None stands for all of them.
    Column("source", Text, nullable=True),
    Column("pattern", Text, nullable=True),
    # The pattern in words.
    Column("what", Text, nullable=True),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("reason", Text, nullable=False),
    Column("made_by", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("removed_us", BigInteger, nullable=True),
)

held = Table(
    "held",
    metadata,
    # Open incidents that nobody was told of because of a mute.
    Column("incident_id", Text, primary_key=True),
    Column("mute_id", Text, nullable=False),
)

fits = Table(
    "fits",
    metadata,
    Column("id", Text, primary_key=True),
    Column("source_id", Integer, ForeignKey("sources.id"), nullable=False),
    Column("name", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("start_us", BigInteger, nullable=False),
    Column("end_us", BigInteger, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("state", Text, nullable=False),
    Column("progress", Float(53), nullable=False),
    Column("message", Text, nullable=False),
    Column("model_id", Text, ForeignKey("models.id"), nullable=True),
    Column("comparison", JSON, nullable=True),
    # The worker that runs it (PostgreSQL).
    Column("owner", Text, nullable=True),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("hash", Text, nullable=False),
    Column("created_us", BigInteger, nullable=False),
    Column("revoked_us", BigInteger, nullable=True),
    # The only source that rows may go to, and until when; none for no limit.
    Column("source", Text, nullable=True),
    Column("expires_us", BigInteger, nullable=True),
)

heartbeat = Table(
    "heartbeat",
    metadata,
    # One row: when the store was last seen to take a write.
    Column("id", Integer, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
)

workers = Table(
    "workers",
    metadata,
    # Who works on the store (PostgreSQL), alive until a time that each moves on.
    Column("id", Text, primary_key=True),
    Column("name", Text, nullable=False),
    Column("scores", Boolean, nullable=False),
    Column("started_us", BigInteger, nullable=False),
    Column("until_us", BigInteger, nullable=False),
    Column("status", JSON, nullable=False),
)

leases = Table(
    "leases",
    metadata,
    # Who holds a source, a connector or a task; the number grows with every change of hands.
    Column("kind", Text, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("worker", Text, nullable=True),
    Column("epoch", BigInteger, nullable=False),
    Index("leases_by_worker", "worker"),
)

samples = Table(
    "samples",
    metadata,
    # Signals of rows that a connector has not finished (PostgreSQL).
    Column("connector", Text, primary_key=True),
    Column("source", Text, primary_key=True),
    Column("point_us", BigInteger, primary_key=True),
    Column("signal", Text, primary_key=True),
    Column("time_us", BigInteger, primary_key=True),
    Column("value", Float(53), nullable=True),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("at_us", BigInteger, nullable=False),
    Column("who", Text, nullable=False),
    Column("action", Text, nullable=False),
    Column("target", Text, nullable=False),
    Column("detail", JSON, nullable=False),
)
