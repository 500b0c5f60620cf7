"""What the methods that train a torch network share: seed, device, saving."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import numpy as np
import torch
from torch import nn

from alora_ts.baselines.detector import Detector
from alora_ts.baselines.inputs import Rows
from alora_ts.baselines.training import counting
from alora_ts.errors import AloraError
from alora_ts.progress import Report

__all__ = ["TorchDetector", "seeded"]

Network = TypeVar("Network", bound=nn.Module)


@contextmanager
def seeded(seed: int, *, grad: bool = True) -> Iterator[None]:
    """Draw torch's random numbers from a seed, and leave the caller's generator as it was.

    Examples
    --------
    >>> with seeded(3):
    ...     first = torch.rand(1)
    >>> with seeded(3):
    ...     bool(torch.rand(1) == first)
    True
    """
    with torch.random.fork_rng(), torch.set_grad_enabled(grad):
        torch.manual_seed(seed)
        yield


@dataclass(kw_only=True, eq=False)
class TorchDetector(Detector, Generic[Network]):
    """A method whose whole memory is a torch module.

    A subclass gives ``_build`` (the untrained network for d variables) and ``_train``. Whatever it
    learns beside the weights (thresholds, means, a memory) is a buffer of the network, so that the
    state dict is all there is to save.

    Parameters
    ----------
    seed : int
        Of every random draw.
    device : str
        Where to compute: a torch device, or "auto" for a GPU where there is one.

    Attributes
    ----------
    windows_seen_ : int
        Windows that the fit learned from, repetitions included.
    """

    seed: int = field(default=0, metadata={"least": 0})
    device: str = "auto"

    @abstractmethod
    def _build(self, variables: int) -> Network:
        """Make the untrained network."""

    @abstractmethod
    def _train(self, rows: Rows, report: Report) -> Network:
        """Build and train the network."""

    def _fit(self, rows: Rows, report: Report) -> None:
        with counting() as seen:
            self.network_: Network = self._train(rows, report).eval()
        self.windows_seen_ = seen.windows

    def _new_network(self, rows: Rows) -> Network:
        return self._build(rows.values.shape[1]).to(self._where())

    def _rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def _learning(self) -> AbstractContextManager[None]:
        return seeded(self.seed)

    def _scoring(self) -> AbstractContextManager[None]:
        return seeded(self.seed, grad=False)

    def _where(self) -> torch.device:
        if self.device == "auto":
            return torch.device("cuda" if torch.cuda.is_available() else "cpu")
        try:
            return torch.device(self.device)
        except RuntimeError as error:
            raise AloraError(
                f"device={self.device!r} is not a torch device; use 'auto', 'cpu' or 'cuda'"
            ) from error

    def parameter_count(self, variables: int) -> int:
        """Count the network's parameters for a number of variables.

        Parameters
        ----------
        variables : int
            d.
        """
        with torch.device("meta"):
            network = self._build(variables)
        return sum(parameter.numel() for parameter in network.parameters())

    def published_parameter_count(self, variables: int) -> int:
        """Count as the published code does, which registers weights it never uses.

        Parameters
        ----------
        variables : int
            d.
        """
        return self.parameter_count(variables) + self._never_used(variables)

    def _never_used(self, variables: int) -> int:  # noqa: ARG002  for those that have some
        """How many weights the published code registers that have no part in its results."""
        return 0

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted detector to one file; :func:`alora_ts.baselines.load` reads it.

        Parameters
        ----------
        path : path-like
            The file, usually ``*.safetensors``.

        Raises
        ------
        NotFittedError
            When there is nothing to save yet.
        """
        from alora_ts.baselines.artifact import save

        save(self, path)
