"""`alora-ts serve`: watch live signals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

StoreOption = Annotated[
    str | None,
    typer.Option(help="A path (SQLite) or postgresql://user:password@host:port/database."),
]
FolderOption = Annotated[
    Path | None, typer.Option(help="Where the service keeps its files; alora-data if not given.")
]
ConfigOption = Annotated[
    Path | None, typer.Option("--config", "-c", metavar="TOML", help="A file of settings.")
]


def serve(
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="[NAME=]FILE", help="A source and its model; repeatable."
        ),
    ] = None,
    collect: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME", help="A source that collects rows before it has a model; repeatable."
        ),
    ] = None,
    config: ConfigOption = None,
    host: Annotated[str | None, typer.Option(help="Where to listen; 127.0.0.1.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8080 if not given.")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="PEM", help="A certificate: serve https.")
    ] = None,
    tls_key: Annotated[Path | None, typer.Option(metavar="PEM", help="Its key.")] = None,
    root_path: Annotated[
        str | None,
        typer.Option(metavar="PATH", help="Below which path a proxy shows it, such as /alora."),
    ] = None,
    log_format: Annotated[str | None, typer.Option(help="text or json; text if not given.")] = None,
    access_log: Annotated[
        bool | None, typer.Option("--access-log", help="Log every request.")
    ] = None,
    store: StoreOption = None,
    folder: FolderOption = None,
    workers: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=64,
            help="Processes that score (PostgreSQL); 0 leaves it to `alora-ts worker`.",
        ),
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Only check the settings, models and sources, then stop."),
    ] = False,
) -> None:
    """Take live rows, score each, keep everything, raise and clear incidents, show it all.

    Example: `alora-ts serve --model plant.alora` and open http://127.0.0.1:8080

    With PostgreSQL: `alora-ts serve --store postgresql://alora@db.example/alora --workers 4`
    """
    refuse_without_packages()
    from alora_ts.serve.run import run_service
    from alora_ts.serve.settings_file import read_settings
    from alora_ts.serve.workers.process import prepare_process

    flags = given_settings(
        host=host,
        port=port,
        tls_cert=tls_cert,
        tls_key=tls_key,
        root_path=root_path,
        log_format=log_format,
        access_log=access_log,
        store=store,
        folder=folder,
        workers=workers,
    )
    if model:
        flags["models"] = dict(_name(one) for one in model)
    if collect:
        flags["collect"] = tuple(collect)
    settings = read_settings(config, flags=flags)
    if check:
        from alora_ts.serve.check import check_settings

        check_settings(settings)
        typer.echo(f"The settings are fine: {len(settings.models)} model(s), {settings.address}")
        return
    prepare_process(log_format=settings.log_format)
    run_service(settings, read=lambda: read_settings(config, flags=flags), file=config)


def refuse_without_packages() -> None:
    """Say what to install where the service's packages are absent."""
    from importlib.util import find_spec

    from alora_ts.errors import AloraError

    missing = [name for name in ("fastapi", "uvicorn", "sqlalchemy") if find_spec(name) is None]
    if missing:
        raise AloraError(
            f"the service needs {', '.join(missing)}; install it with: "
            "pip install 'alora-ts[serve]'"
        )


def given_settings(**flags: Any) -> dict[str, Any]:
    """The flags that were given."""
    return {name: value for name, value in flags.items() if value is not None}


def _name(given: str) -> tuple[str, Path]:
    """A source and its model file; without a name the file's own."""
    name, _, path = given.rpartition("=")
    return name or Path(path).stem, Path(path)
