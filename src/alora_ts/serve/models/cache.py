"""Models in use: read once from the store, shared by all who score with them."""

from __future__ import annotations

import math
import tempfile
import threading
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

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


class LoadedModels:
    """Gives the model of an id, reading its file at most once while anyone uses it.

    Whoever scores with a model keeps it alive. Of those nobody uses, a few stay for the next who
    asks.

    Parameters
    ----------
    store : Store
    most : callable giving int
        How many stay at most.
    """

    def __init__(self, store: Store, *, most: Callable[[], int]) -> None:
        self._store = store
        self._most = most
        self._lock = threading.Lock()
        self._reading: WeakValueDictionary[str, _Turn] = WeakValueDictionary()
        self._used: WeakValueDictionary[str, ALoRa] = WeakValueDictionary()
        self._kept: OrderedDict[str, ALoRa] = OrderedDict()

    @property
    def loaded(self) -> int:
        """How many are in memory."""
        return len(self._used)

    def get(self, key: str) -> ALoRa:
        """The model of this id."""
        with self._lock:
            turn = self._reading.setdefault(key, _Turn())
        with turn.lock:
            model = self._used.get(key)
            if model is None:
                with self._store.reading() as connection:
                    file = model_file(connection, key)
                if file is None:
                    raise UnknownModelError(f"there is no model {key!r}; GET /models lists them")
                model = read_model(file)
            self._keep(key, model)
            return model

    def _keep(self, key: str, model: ALoRa) -> None:
        with self._lock:
            self._used[key] = self._kept[key] = model
            self._kept.move_to_end(key)
            while len(self._kept) > min(self._most(), _KEPT):
                self._kept.popitem(last=False)


class _Turn:
    """Who asks for a model that is just being read waits for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
