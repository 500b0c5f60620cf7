"""Bring a store to the newest schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine, text

from alora_ts.errors import AloraError
from alora_ts.serve.store.partitions import prepare_partitions

__all__ = ["migrate"]

_LOCK = 7_202_613


def migrate(engine: Engine) -> None:
    """Run the migrations a store lacks, all or none; refuse one from a later alora-ts."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            # Several may start at once.
            connection.execute(text(f"SELECT pg_advisory_xact_lock({_LOCK})"))
        present = MigrationContext.configure(connection).get_current_revision()
        if present == scripts.get_current_head():
            prepare_partitions(connection)
            return
        known = {script.revision for script in scripts.walk_revisions()}
        if present is not None and present not in known:
            raise AloraError(
                f"the store has schema {present}, which this alora-ts does not know; install the "
                "version that wrote it or a later one"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
        prepare_partitions(connection)
