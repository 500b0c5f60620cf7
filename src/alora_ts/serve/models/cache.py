"""Models in use: read once from the store, shared by all who score with them."""

from __future__ import annotations

import math
import tempfile
import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from alora_ts.errors import ArtifactError
from alora_ts.serve.problems import NotFoundError
from alora_ts.serve.store.models import model_file
from alora_ts.serve.store.store import Store

if TYPE_CHECKING:
    from alora_ts.estimator import ALoRa

__all__ = ["LoadedModels", "UnknownModelError", "describe_model", "read_model"]

_KEPT = 64


class UnknownModelError(NotFoundError):
    """No model has this id."""


def read_model(file: bytes) -> ALoRa:
    """Read a model from bytes that may come from anyone.

    The bytes go into a file with a name of our choice; the safetensors format runs no code, and
    whatever is wrong with it ends as an ArtifactError.
    """
    from alora_ts.estimator import load

    with tempfile.TemporaryDirectory(prefix="alora-model-") as folder:
        place = Path(folder) / "model.alora"
        place.write_bytes(file)
        try:
            model = load(place)
            _try(model)
            return model
        except ArtifactError as error:
            # The temporary place says nothing to whoever sent the bytes.
            said = str(error).replace(f"the model {place}", "the file")
            raise ArtifactError(said.replace(str(place), "the file")) from error
        except (
            ArithmeticError,
            AttributeError,
            LookupError,
            RuntimeError,
            TypeError,
            ValueError,
        ) as error:
            raise ArtifactError(
                f"the file is not a usable model of alora-ts ({type(error).__name__}); give a file "
                "written by `alora-ts fit` or ALoRa.save"
            ) from error


def _try(model: ALoRa) -> None:
    """Score one ordinary row, so that a model that cannot work is found before it is used."""
    # Numbers that no fit gives (a scale of 0) show in the score.
    with np.errstate(all="ignore"):
        reading = model.stream().push(model.model_.preparation.standardiser.center)
    if not math.isfinite(reading.score):
        raise ArtifactError("the file holds a model whose scores are not finite; fit it again")


def describe_model(estimator: ALoRa) -> dict[str, Any]:
    """The model card."""
    from alora_ts.model.card import model_card

    return model_card(estimator.model_)


@dataclass
class _Entry:
    lock: threading.Lock
    model: ALoRa | None = None


class LoadedModels:
    """Gives the model of an id, reading its file at most once while it is in use.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._entries: OrderedDict[str, _Entry] = OrderedDict()

    @property
    def loaded(self) -> int:
        """How many are in memory."""
        return len(self._entries)

    def get(self, key: str) -> ALoRa:
        """The model of this id."""
        with self._lock:
            entry = self._entries.setdefault(key, _Entry(threading.Lock()))
            self._entries.move_to_end(key)
            while len(self._entries) > _KEPT:
                self._entries.popitem(last=False)
        with entry.lock:
            if entry.model is None:
                with self._store.reading() as connection:
                    file = model_file(connection, key)
                if file is None:
                    with self._lock:
                        self._entries.pop(key, None)
                    raise UnknownModelError(f"there is no model {key!r}; GET /models lists them")
                entry.model = read_model(file)
            return entry.model
