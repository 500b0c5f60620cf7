"""Incidents are acknowledged, assigned and noted on."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Nobody has done anything about earlier ones, as far as is known."""
    op.add_column("incidents", sa.Column("work", sa.JSON(none_as_null=True), nullable=True))
