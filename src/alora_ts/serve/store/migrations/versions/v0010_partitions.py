"""Rows and readings are partitioned by time (PostgreSQL)."""

from alembic import op

revision = "0010"
down_revision = "0008"


def upgrade() -> None:
    """The tables there were become the default partitions, as they are: nothing is copied."""
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in ("rows", "readings"):
        op.execute(f"ALTER TABLE {table} RENAME TO {table}_default")
        op.execute(f"ALTER INDEX {table}_pkey RENAME TO {table}_default_pkey")
        op.execute(
            f"ALTER TABLE {table}_default "
            f"RENAME CONSTRAINT {table}_source_id_fkey TO {table}_default_source_id_fkey"
        )
        op.execute(
            f"CREATE TABLE {table} (LIKE {table}_default INCLUDING DEFAULTS) "
            "PARTITION BY RANGE (time_us)"
        )
        op.execute(f"ALTER TABLE {table} ADD PRIMARY KEY (source_id, time_us)")
        op.execute(f"ALTER TABLE {table} ADD FOREIGN KEY (source_id) REFERENCES sources (id)")
        op.execute(f"ALTER TABLE {table} ATTACH PARTITION {table}_default DEFAULT")
