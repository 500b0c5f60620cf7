"""One model, one file: tensors in safetensors, the description as JSON in its header.

No pickle, so opening a foreign file runs no code. Equal fits give equal bytes: the description
holds no clock times and its keys are sorted.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from alora_ts.errors import ArtifactError
from alora_ts.files import write_atomically
from alora_ts.version import __version__

if TYPE_CHECKING:
    from torch import Tensor

__all__ = [
    "FORMAT_VERSION",
    "Artifact",
    "read_artifact",
    "read_described",
    "write_artifact",
    "write_described",
]

FORMAT_VERSION = 1
_KEY = "alora_ts"
_LONGEST = 32 * 2**20


@dataclass(frozen=True)
class Artifact:
    """What a model file holds.

    Attributes
    ----------
    kind : str
        Which class it belongs to, such as "ALoRa".
    description : dict
        Everything but the tensors.
    tensors : dict of str to Tensor
    """

    kind: str
    description: Mapping[str, Any]
    tensors: Mapping[str, Tensor]


def write_described(
    path: str | os.PathLike[str],
    key: str,
    header: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
) -> None:
    """Write tensors with a description under one key of the header, atomically.

    One entry only: safetensors does not fix the order of several, and equal fits give equal bytes.
    """
    from safetensors.torch import save_file

    text = json.dumps(header, sort_keys=True, allow_nan=False)
    with write_atomically(path) as part:
        together = {name: tensor.contiguous() for name, tensor in tensors.items()}
        save_file(together, part, metadata={key: text})


def read_described(path: Path, key: str) -> tuple[dict[str, Any] | None, dict[str, Tensor]]:
    """Read what :func:`write_described` wrote; the description is None where the key is absent.

    Raises
    ------
    OSError, safetensors.SafetensorError, json.JSONDecodeError
        When the file is absent, cut or no such file. Callers say what was expected instead.
    """
    from safetensors import safe_open

    with safe_open(path, framework="pt") as opened:
        text = (opened.metadata() or {}).get(key)
        if text is not None and len(text) > _LONGEST:
            raise json.JSONDecodeError(f"longer than {_LONGEST:,} characters", "", 0)
        # The opened file is no dict: it has keys() but cannot be iterated.
        tensors = {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118
    return None if text is None else json.loads(text), tensors


def write_artifact(artifact: Artifact, path: str | os.PathLike[str]) -> Path:
    """Write a model file, atomically."""
    import torch

    header = {
        "format": FORMAT_VERSION,
        "kind": artifact.kind,
        "versions": {
            "alora-ts": __version__,
            "torch": torch.__version__,
            "python": platform.python_version(),
        },
        "description": artifact.description,
    }
    write_described(path, _KEY, header, artifact.tensors)
    return Path(path)


def read_artifact(path: str | os.PathLike[str]) -> Artifact:
    """Read a model file.

    Raises
    ------
    ArtifactError
        When it is absent, truncated, foreign, or of a later format; the message says which.
    """
    from safetensors import SafetensorError

    source = Path(path)
    if not source.is_file():
        what = "it is a folder" if source.is_dir() else "there is no such file"
        raise ArtifactError(f"cannot read the model {source}: {what}")
    try:
        header, tensors = read_described(source, _KEY)
    except (SafetensorError, json.JSONDecodeError, OSError) as error:
        raise ArtifactError(
            f"cannot read the model {source}: it is truncated or not a model file ({error}); "
            "give a file written by `alora-ts fit` or ALoRa.save"
        ) from error
    if header is None:
        raise ArtifactError(
            f"{source} is a safetensors file but not a model of alora-ts; "
            "give a file written by `alora-ts fit` or ALoRa.save"
        )
    found = header.get("format")
    if found != FORMAT_VERSION:
        raise ArtifactError(
            f"{source} has format version {found}, but this alora-ts reads version "
            f"{FORMAT_VERSION}; install the version that wrote it "
            f"({header.get('versions', {}).get('alora-ts', 'unknown')}) or fit again"
        )
    return Artifact(header["kind"], header["description"], tensors)
