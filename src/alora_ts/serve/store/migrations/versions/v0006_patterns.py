"""Incidents know their pattern, verdicts are about patterns, readings keep what was usual."""

import sqlalchemy as sa
from alembic import op

from alora_ts.diagnosis.incident import Culprit
from alora_ts.diagnosis.repeats import pattern_key, pattern_text

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Name the patterns of earlier incidents; "real" protects them, "normal" silences nothing.

    Who called an incident normal before was not shown what a silence would do.
    """
    op.add_column("readings", sa.Column("shift", sa.Float(53), nullable=False, server_default="0"))
    op.add_column("incidents", sa.Column("pattern", sa.Text(), nullable=True))
    op.add_column("incidents", sa.Column("series", sa.Text(), nullable=True))
    op.add_column(
        "incidents",
        sa.Column("silenced", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    op.create_index("incidents_by_pattern", "incidents", ["source_id", "pattern", "start_us"])
    op.create_index("incidents_by_series", "incidents", ["series", "start_us"])
    op.create_index("incidents_by_state", "incidents", ["state", "source_id"])
    op.create_table(
        "judgements",
        sa.Column("incident_id", sa.Text(), nullable=False),
        sa.Column("source_id", sa.Integer(), nullable=False),
        sa.Column("pattern", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("peak", sa.Float(53), nullable=False),
        sa.Column("who", sa.Text(), nullable=False),
        sa.Column("at_us", sa.BigInteger(), nullable=False),
        sa.Column("until_us", sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(["incident_id"], ["incidents.id"]),
        sa.ForeignKeyConstraint(["source_id"], ["sources.id"]),
        sa.PrimaryKeyConstraint("incident_id"),
    )
    op.create_index("judgements_by_pattern", "judgements", ["source_id", "pattern"])
    _name_patterns(op.get_bind())


def _name_patterns(connection: sa.Connection) -> None:
    incidents = sa.table(
        "incidents",
        *(sa.column(name) for name in ("id", "source_id", "kind", "verdict", "start_us")),
        sa.column("detail", sa.JSON),
        *(sa.column(name) for name in ("pattern", "series")),
    )
    judgements = sa.table(
        "judgements",
        *(
            sa.column(name)
            for name in (
                "incident_id", "source_id", "pattern", "text", "verdict", "peak", "who", "at_us",
                "until_us",
            )
        ),
    )  # fmt: skip
    found = connection.execute(sa.select(incidents).where(incidents.c.kind == "anomaly")).all()
    for row in found:
        culprits = [
            Culprit(one["variable"], one["share"], one["direction"], 0.0, 0.0)
            for one in row.detail["culprits"]
        ]
        key = pattern_key(culprits)
        named = sa.update(incidents).where(incidents.c.id == row.id)
        connection.execute(named.values(pattern=key, series=row.id))
        if row.verdict == "real" and key is not None:
            connection.execute(
                sa.insert(judgements).values(
                    incident_id=row.id,
                    source_id=row.source_id,
                    pattern=key,
                    text=pattern_text(culprits),
                    verdict="real",
                    peak=row.detail["peak"] or 0.0,
                    who="an earlier version",
                    at_us=row.start_us,
                    until_us=None,
                )
            )
