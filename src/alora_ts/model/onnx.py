"""Export to ONNX, for programs that run a network without torch."""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from alora_ts.errors import AloraError
from alora_ts.files import write_atomically
from alora_ts.model.fitted import FittedModel
from alora_ts.network import ALoRaT

__all__ = ["export_onnx"]


class _Outputs(nn.Module):
    """The network with the two outputs a score needs."""

    def __init__(self, network: ALoRaT) -> None:
        super().__init__()
        self.network = network

    def forward(self, windows: Tensor) -> tuple[Tensor, Tensor]:
        encoding = self.network(windows)
        return encoding.reconstruction, encoding.attention[-1]


def export_onnx(model: FittedModel, path: str | os.PathLike[str]) -> Path:
    """Write the network as an ONNX file.

    Parameters
    ----------
    model : FittedModel
    path : path-like
        Where to; usually ``.onnx``.

    Returns
    -------
    pathlib.Path

    Raises
    ------
    AloraError
        When the extra ``onnx`` is not installed.

    Notes
    -----
    Input ``windows`` (batch, T, d), scaled; outputs ``reconstruction`` (batch, T, d) and
    ``attention`` (batch, T, T), the last layer's mean over heads. What surrounds the network is in
    the file's metadata under ``alora_ts``, as JSON: the variables, centre and scale, the limit of
    scaled values, h1, h2, and how residuals become a score.
    """
    try:
        import onnx
        import onnxscript  # noqa: F401  (torch's exporter needs it)
    except ImportError as error:
        raise AloraError(
            "exporting needs the extra 'onnx': pip install 'alora-ts[onnx]'"
        ) from error
    network = _Outputs(model.network).eval()
    example = torch.zeros(2, model.window, model.network.variables)
    with _quietly():
        program = torch.onnx.export(
            network,
            (example,),
            dynamo=True,
            dynamic_shapes=({0: torch.export.Dim("batch")},),
            input_names=["windows"],
            output_names=["reconstruction", "attention"],
            verbose=False,
        )
    assert program is not None
    proto = program.model_proto
    onnx.helper.set_model_props(proto, {"alora_ts": json.dumps(_surroundings(model))})
    with write_atomically(path) as part:
        onnx.save(proto, str(part))
    return Path(path)


def _surroundings(model: FittedModel) -> dict[str, Any]:
    standardiser, rule = model.preparation.standardiser, model.calibration.rule
    return {
        "variables": list(model.preparation.variables),
        "center": standardiser.center.tolist(),
        "scale": standardiser.scale.tolist(),
        # Taken off before centring, at its moment: an array of P moments of so many seconds.
        "cycle": None
        if model.cycle is None
        else {"seconds": float(model.cycle.seconds[0]), "course": model.cycle.course.tolist()},
        "input_limit": model.input_limit,
        "window": model.window,
        "rank_level": model.calibration.rank_level,
        "threshold": model.calibration.threshold.value,
        "scoring": rule.scoring,
        "normal_squares": rule.scale.tolist(),
        "observed": None if rule.observed is None else rule.observed.tolist(),
        "cap": rule.cap,
        "weights": rule.weight.tolist(),
        "smoothing": rule.smoothing,
        "surprise": None
        if rule.surprise_scale is None or model.mechanisms is None
        else {
            "weights": model.mechanisms.weights.tolist(),
            "offset": model.mechanisms.offset.tolist(),
            "normal_squares": rule.surprise_scale.tolist(),
            "observed": None if rule.surprise_observed is None else rule.surprise_observed.tolist(),
        },
    }


@contextmanager
def _quietly() -> Iterator[None]:
    """Silence the internal messages of torch's exporter."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)
