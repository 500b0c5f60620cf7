"""Readings keep the spread of scores since a change of the system."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Earlier readings knew no changes."""
    op.add_column("readings", sa.Column("spread", sa.Float(53), nullable=True))
