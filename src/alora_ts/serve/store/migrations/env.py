"""Alembic's entry point: runs inside the transaction that `migrate` opened."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
context.run_migrations()
