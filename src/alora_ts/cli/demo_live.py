"""`alora-ts demo --serve`: the simulated plant, live, in the browser."""

from __future__ import annotations

import socket
from pathlib import Path

from alora_ts.cli.common import console
from alora_ts.cli.serve import refuse_without_packages
from alora_ts.errors import AloraError

__all__ = ["serve_plant"]

_HOST, _PORT = "127.0.0.1", 8080
# A leak lies in these first minutes; the next fault begins a quarter of a minute after the start.
_HISTORY = 785


def serve_plant(folder: Path, *, port: int | None, seed: int) -> None:
    """Fit a model to the plant if there is none yet, and watch the plant until Ctrl-C.

    Parameters
    ----------
    folder : Path
        Where the model and the service's files go.
    port : int, optional
        Which must be free; without it 8080, or any other where that is taken.
    seed : int
        Of the simulation.
    """
    refuse_without_packages()
    from alora_ts.datasets.synthetic_live import LivePlant
    from alora_ts.serve.connect.simulated import SimulatedPlant
    from alora_ts.serve.run import run_service
    from alora_ts.serve.settings import Settings
    from alora_ts.serve.workers.process import prepare_process

    out = console()
    chosen = _choose_port(port)
    plant = LivePlant(seed=seed)
    model = folder / f"live-{seed}.alora"
    if not model.exists():
        out.print(
            f"Learning what is normal from {len(plant.train):,} rows of a simulated plant "
            "(some seconds) …"
        )
        _fit(plant, model, seed=seed)
    prepare_process(level="WARNING")
    settings = Settings(host=_HOST, port=chosen, folder=folder / "live", models={"plant": model})

    def ready(url: str) -> None:
        out.print(
            f"\nThe plant is live, a row a second with a fault every few minutes. Open\n\n"
            f"  {url}\n\n"
            "The first incident is there already, the next begins within half a minute.\n"
            "Send it a row of your own:\n"
            f"  {_curl(url)}\n"
            "or a file, into a source of its own:\n"
            f"  alora-ts replay today.csv --to {url} --source mine --collect --speed 60\n"
            f"Everything is kept in {settings.folder}/; Ctrl-C ends it.",
            markup=False,
            soft_wrap=True,
        )

    feed = SimulatedPlant(plant, source="plant", history=_HISTORY)
    run_service(settings, feeds=[feed], ready=ready)
    out.print(f"Stopped. `alora-ts demo {folder} --serve` goes on from here.", markup=False)


def _fit(plant: object, place: Path, *, seed: int) -> None:
    import numpy as np
    import polars as pl

    from alora_ts.datasets.synthetic_live import LivePlant
    from alora_ts.estimator import ALoRa

    assert isinstance(plant, LivePlant)
    rows = plant.train.round(4)
    # The rows are a second apart, so that the model knows a gap when it sees one.
    times = np.datetime64("2026-01-05", "us") + np.arange(len(rows)) * np.timedelta64(1, "s")
    table = pl.DataFrame({"time": times, **dict(zip(plant.variables, rows.T, strict=True))})
    # As many false incidents as `alora-ts demo` allows, whose rows are a minute apart. One thread:
    # on a busy machine several wait for each other, many times as long as they save.
    ALoRa(seed=seed, false_alarms="1 per 4320 rows", threads=1).fit(table).save(place)


def _choose_port(wanted: int | None) -> int:
    for port in (_PORT if wanted is None else wanted, 0):
        with socket.socket() as probe:
            # As the server does: a connection that was closed a moment ago is no hindrance.
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((_HOST, port))
            except OSError as error:
                if wanted is not None:
                    raise AloraError(
                        f"cannot listen on port {wanted}: {error.strerror}; give another --port, "
                        "or none for any that is free"
                    ) from error
                continue
            return int(probe.getsockname()[1])
    raise AloraError("no port of this machine is free")


def _curl(url: str) -> str:
    row = """{"time": "'$(date -u +%FT%TZ)'", "values": {"pump1_flow": 62, "tank1_level": 2.6}}"""
    rows = f"{url}/api/v1/sources/plant/rows"
    return f"curl {rows} -H 'content-type: application/json' \\\n    -d '{row}'"
