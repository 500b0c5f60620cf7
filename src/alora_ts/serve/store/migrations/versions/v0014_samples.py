"""Unfinished rows of connectors that may move to another machine."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """What journals of connectors hold follows when they are opened next."""
    op.create_table(
        "samples",
        sa.Column("connector", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("point_us", sa.BigInteger(), nullable=False),
        sa.Column("signal", sa.Text(), nullable=False),
        sa.Column("time_us", sa.BigInteger(), nullable=False),
        sa.Column("value", sa.Float(53), nullable=True),
        sa.PrimaryKeyConstraint("connector", "source", "point_us", "signal", "time_us"),
    )
