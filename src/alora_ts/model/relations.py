"""Who influences whom: the contribution weights with the variables' names."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alora_ts.model.fitted import FittedModel
from alora_ts.network import contribution_weights, relative_contributions

__all__ = ["Relation", "Relations"]


@dataclass(frozen=True)
class Relation:
    """One strong influence.

    Attributes
    ----------
    source, target : str
        A change of ``source`` that lasts moves the expectation of ``target``.
    weight : float
        C_ij (Eq. 12): by how many standard deviations of ``target`` per standard deviation of
        ``source``.
    relative : float
        C_ij / Σ_k C_ik: its part of all that ``source`` moves, itself included. Weights have
        signs, so parts may be negative or above 1; all parts of a source sum to 1.
    """

    source: str
    target: str
    weight: float
    relative: float


@dataclass(frozen=True)
class Relations:
    """The contribution weights of a model.

    Attributes
    ----------
    variables : tuple of str
    latent : ndarray of shape (d, D)
        E (Eq. 11).
    reconstruction : ndarray of shape (d, d)
        C (Eq. 12): row i, how input i enters each reconstruction.
    exact : bool
        Whether the network is linear given its attention, so that the weights are exact.
    """

    variables: tuple[str, ...]
    latent: NDArray[np.float64]
    reconstruction: NDArray[np.float64]
    exact: bool

    @classmethod
    def of(cls, model: FittedModel) -> Relations:
        """The relations of a fitted model."""
        weights = contribution_weights(model.network)
        return cls(
            model.preparation.variables,
            weights.latent.double().numpy(),
            weights.reconstruction.double().numpy(),
            weights.exact,
        )

    def relative(self) -> NDArray[np.float64]:
        """C_ij / Σ_k C_ik, (d, d): how the influence of each variable is shared out."""
        shares: NDArray[np.float64] = relative_contributions(
            torch.from_numpy(self.reconstruction)
        ).numpy()
        return shares

    def strongest(self, most: int = 20) -> list[Relation]:
        """The largest influences between different variables."""
        size, relative = np.abs(self.reconstruction), self.relative()
        np.fill_diagonal(size, -1.0)
        order = np.argsort(-size, axis=None, kind="stable")[:most]
        rows, columns = np.unravel_index(order, size.shape)
        return [
            Relation(
                self.variables[i],
                self.variables[j],
                float(self.reconstruction[i, j]),
                float(relative[i, j]),
            )
            for i, j in zip(rows, columns, strict=True)
            if i != j
        ]
