"""Incidents say where they most likely began."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the column; what was found before stays without an origin."""
    op.add_column("incidents", sa.Column("origin", sa.JSON(), nullable=True))
