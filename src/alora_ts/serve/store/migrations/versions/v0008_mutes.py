"""Mutes: what nobody is told of for a while."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0006"


def upgrade() -> None:
    """Nothing is muted so far."""
    op.create_table(
        "mutes",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("source", sa.Text, nullable=True),
        sa.Column("pattern", sa.Text, nullable=True),
        sa.Column("what", sa.Text, nullable=True),
        sa.Column("start_us", sa.BigInteger, nullable=False),
        sa.Column("end_us", sa.BigInteger, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("made_by", sa.Text, nullable=False),
        sa.Column("created_us", sa.BigInteger, nullable=False),
        sa.Column("removed_us", sa.BigInteger, nullable=True),
    )
    op.create_table(
        "held",
        sa.Column("incident_id", sa.Text, primary_key=True),
        sa.Column("mute_id", sa.Text, nullable=False),
    )
