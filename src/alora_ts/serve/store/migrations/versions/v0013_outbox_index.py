"""Whether anybody was told of an incident is found by an index."""

from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Every incident that begins asks for it, of all that was ever sent."""
    op.create_index("outbox_by_incident", "outbox", ["incident_id"], unique=False)
