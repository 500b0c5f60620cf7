"""Alembic's entry point: runs inside the transaction that `migrate` opened."""

from alembic import context

# The name under which Alembic loads this file; whoever else imports it has no transaction.
if __name__ == "env_py":
    context.configure(connection=context.config.attributes["connection"])
    context.run_migrations()
