"""A fitted torch method as one safetensors file: weights, and in its header everything else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import safetensors
import torch

from alora_ts.artifact import read_described, write_described
from alora_ts.baselines.inputs import InputReader
from alora_ts.baselines.parameters import check_known
from alora_ts.baselines.registry import find, name_of
from alora_ts.baselines.torch_detector import TorchDetector
from alora_ts.errors import ArtifactError
from alora_ts.version import __version__

__all__ = ["load", "save"]

_KEY = "alora_ts.baseline"
_FORMAT = 1


def save(detector: TorchDetector[Any], path: str | os.PathLike[str]) -> None:
    """Write a fitted torch method; equal fits give equal bytes.

    Parameters
    ----------
    detector : TorchDetector
        Fitted.
    path : path-like
        The file to write.
    """
    reader = detector._fitted_reader()
    description = {
        "format": _FORMAT,
        "method": name_of(type(detector)),
        "parameters": detector.get_params(),
        "input": reader.to_dict(),
        "versions": {"alora_ts": __version__, "torch": torch.__version__},
    }
    state = detector.network_.state_dict()
    tensors = {name: value.detach().cpu().clone() for name, value in state.items()}
    write_described(path, _KEY, description, tensors)


def load(path: str | os.PathLike[str]) -> TorchDetector[Any]:
    """Read a detector that :meth:`TorchDetector.save` wrote.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    TorchDetector
        Fitted; it scores as the saved one did.

    Raises
    ------
    ArtifactError
        When the file is missing, no such artifact, or made by a newer version.
    """
    file = Path(path)
    try:
        description, tensors = read_described(file, _KEY)
    except FileNotFoundError:
        raise ArtifactError(f"{file}: there is no such file; check the path") from None
    except (safetensors.SafetensorError, json.JSONDecodeError, OSError) as error:
        raise ArtifactError(
            f"{file}: not a readable model file ({error}); fit the method again and save it"
        ) from error
    if description is None:
        raise ArtifactError(
            f"{file}: a safetensors file, but not of a baseline; use alora_ts.load for ALoRa models"
        )
    if description["format"] > _FORMAT:
        raise ArtifactError(
            f"{file}: written in format {description['format']}, newer than {_FORMAT}, by alora-ts "
            f"{description['versions']['alora_ts']}; upgrade alora-ts"
        )
    return _rebuild(file, description, tensors)


def _rebuild(
    file: Path, description: dict[str, Any], tensors: dict[str, torch.Tensor]
) -> TorchDetector[Any]:
    kind = find(description["method"])
    if not issubclass(kind, TorchDetector):
        raise ArtifactError(f"{file}: {description['method']!r} is not a method that can be saved")
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in description["parameters"].items()
    }
    check_known(kind, list(given))
    detector = kind(**given)
    detector.reader_ = InputReader.from_dict(kind.scaling, description["input"])
    network = detector._build(len(detector.reader_.variables))
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        raise ArtifactError(
            f"{file}: its weights do not fit the network it describes; fit the method again"
        ) from error
    detector.network_ = network.to(detector._where()).eval()
    return detector
