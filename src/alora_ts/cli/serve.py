"""`alora-ts serve`: watch live signals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def serve(
    *,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="[NAME=]FILE", help="A source and its model; repeatable."
        ),
    ] = None,
    host: Annotated[str | None, typer.Option(help="Where to listen.")] = None,
    port: Annotated[int | None, typer.Option(help="The port; 8080 if not given.")] = None,
    store: Annotated[
        str | None, typer.Option(help="A path (SQLite) or postgresql://user:password@host/db.")
    ] = None,
    folder: Annotated[Path | None, typer.Option(help="Where the service keeps its files.")] = None,
) -> None:
    """Take live rows, score each, keep everything, raise and clear incidents, show it all.

    Example: `alora-ts serve --model plant.alora` and open http://127.0.0.1:8080
    """
    from alora_ts.serve.run import run_service
    from alora_ts.serve.settings import Settings

    models = {}
    for named in model or []:
        name, _, path = named.rpartition("=")
        models[name or Path(path).stem] = Path(path)
    given: dict[str, object] = {
        "host": host,
        "port": port,
        "store": store,
        "folder": folder,
        "models": models,
    }
    run_service(Settings.model_validate({k: v for k, v in given.items() if v is not None}))
