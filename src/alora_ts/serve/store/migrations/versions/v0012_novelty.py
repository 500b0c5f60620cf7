"""Readings keep how new their rows were."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Earlier readings were made without it."""
    op.add_column(
        "readings", sa.Column("novelty", sa.Float(53), nullable=False, server_default="0")
    )
