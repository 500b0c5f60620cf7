"""Several workers share a store: who is there, who holds what, how far each source is."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"

_FILL = """
UPDATE sources SET
    newest_us = (SELECT max(time_us) FROM rows WHERE source_id = sources.id),
    oldest_us = (SELECT min(time_us) FROM rows WHERE source_id = sources.id),
    row_count = (SELECT count(*) FROM rows WHERE source_id = sources.id),
    unscored = (SELECT count(*) FROM rows
                WHERE source_id = sources.id AND time_us >= sources.score_from_us),
    arrived_us = coalesce((SELECT arrived_us FROM rows WHERE source_id = sources.id
                           ORDER BY time_us DESC LIMIT 1), 0)
"""


def upgrade() -> None:
    """Counts are taken once from the rows; from now on they are kept with them."""
    op.add_column("sources", sa.Column("newest_us", sa.BigInteger(), nullable=True))
    op.add_column("sources", sa.Column("oldest_us", sa.BigInteger(), nullable=True))
    for name in ("row_count", "unscored", "arrived_us"):
        op.add_column(
            "sources", sa.Column(name, sa.BigInteger(), nullable=False, server_default="0")
        )
    op.execute(_FILL)
    op.create_table(
        "workers",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("scores", sa.Boolean(), nullable=False),
        sa.Column("started_us", sa.BigInteger(), nullable=False),
        sa.Column("until_us", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_table(
        "leases",
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("worker", sa.Text(), nullable=True),
        sa.Column("epoch", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("kind", "name"),
    )
    op.create_index("leases_by_worker", "leases", ["worker"], unique=False)
    op.add_column("fits", sa.Column("owner", sa.Text(), nullable=True))
    # One service a store: replaced by leases.
    op.drop_table("holder")
