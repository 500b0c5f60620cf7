"""Bring a store to the newest schema."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Engine

from alora_ts.errors import AloraError

__all__ = ["migrate"]


def migrate(engine: Engine) -> None:
    """Run the migrations a store lacks, all or none; refuse one from a later alora-ts."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    scripts = ScriptDirectory.from_config(config)
    with engine.begin() as connection:
        present = MigrationContext.configure(connection).get_current_revision()
        if present == scripts.get_current_head():
            return
        known = {script.revision for script in scripts.walk_revisions()}
        if present is not None and present not in known:
            raise AloraError(
                f"the store has schema {present}, which this alora-ts does not know; install the "
                "version that wrote it or a later one"
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
