"""Incidents keep what nobody searches by in one document; readings say whether they alarm."""

import sqlalchemy as sa
from alembic import op

from alora_ts.serve.times import from_micros

revision = "0003"
down_revision = "0002"

_MOVED = ("rows", "peak_us", "peak", "culprits", "origin")


def upgrade() -> None:
    """Move the columns into the document; nothing of them is lost."""
    with op.batch_alter_table("incidents") as batch:
        batch.add_column(sa.Column("detail", sa.JSON(), nullable=True))
    incidents = sa.table(
        "incidents",
        sa.column("id", sa.Text),
        sa.column("rows", sa.BigInteger),
        sa.column("peak_us", sa.BigInteger),
        sa.column("peak", sa.Float),
        sa.column("culprits", sa.JSON),
        sa.column("origin", sa.JSON),
        sa.column("detail", sa.JSON),
    )
    connection = op.get_bind()
    for row in connection.execute(sa.select(incidents)).all():
        detail = {
            "rows": row.rows,
            "peak_time": from_micros(row.peak_us),
            "peak": row.peak,
            "culprits": row.culprits,
            "origin": row.origin,
        }
        connection.execute(
            sa.update(incidents).where(incidents.c.id == row.id).values(detail=detail)
        )
    with op.batch_alter_table("incidents") as batch:
        batch.alter_column("detail", existing_type=sa.JSON(), nullable=False)
        for name in _MOVED:
            batch.drop_column(name)
    # Only the few readings that alarm are written again: the others take the default.
    op.add_column(
        "readings",
        sa.Column("alarm", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
    readings = sa.table(
        "readings",
        sa.column("score", sa.Float),
        sa.column("warm_up", sa.Boolean),
        sa.column("alarm", sa.Boolean),
    )
    # The rule of the time: one level, which opened and closed.
    alarming = (readings.c.score > 1) & readings.c.warm_up.is_(sa.false())
    connection.execute(sa.update(readings).where(alarming).values(alarm=sa.true()))
