"""`alora-ts export`: the network for programs without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from alora_ts.cli.common import ModelArgument, console


def export(
    model: ModelArgument,
    out: Annotated[Path, typer.Argument(help="The ONNX file to write.")],
) -> None:
    """Write a model's network as ONNX, with what surrounds it in the file's metadata.

    Example: `alora-ts export plant.alora plant.onnx`
    """
    from alora_ts.estimator import load

    screen = console()
    with screen.status("exporting"):
        file = load(model).export_onnx(out)
    screen.print(f"Wrote {file}: windows in, reconstruction and attention out, any batch size.")
