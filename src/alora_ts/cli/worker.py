"""`alora-ts worker`: score for a service whose store is shared."""

from __future__ import annotations

from typing import Annotated

import typer

from alora_ts.cli.serve import (
    ConfigOption,
    FolderOption,
    StoreOption,
    given_settings,
    refuse_without_packages,
)


def worker(
    *,
    store: StoreOption = None,
    config: ConfigOption = None,
    folder: FolderOption = None,
    metrics_port: Annotated[
        int | None,
        typer.Option(
            min=1, max=65_535, help="Where Prometheus finds this worker's metrics; none if absent."
        ),
    ] = None,
) -> None:
    """Score sources, run connectors and notify, together with others on the same PostgreSQL store.

    Start as many as there are cores, on as many machines as there are; sources move by
    themselves. Settings are those of `alora-ts serve`.

    Example: `alora-ts worker --store postgresql://alora@db.example/alora --config serve.toml`
    """
    refuse_without_packages()
    from alora_ts.serve.settings_file import read_settings
    from alora_ts.serve.workers.process import prepare_process, run_worker

    flags = given_settings(store=store, folder=folder)
    settings = read_settings(config, flags=flags)
    prepare_process(log_format=settings.log_format)
    run_worker(
        settings,
        read=lambda: read_settings(config, flags=flags),
        file=config,
        metrics_port=metrics_port,
    )
