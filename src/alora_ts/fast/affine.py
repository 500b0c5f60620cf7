"""Maps x ↦ x·weight + bias, which two in a row make one."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Affine"]


@dataclass(frozen=True)
class Affine:
    """x ↦ x·weight + bias, on the last axis."""

    weight: Tensor
    bias: Tensor

    def __call__(self, x: Tensor) -> Tensor:
        """Map x of any leading shape."""
        flat = torch.addmm(self.bias, x.reshape(-1, x.shape[-1]), self.weight)
        return flat.view(*x.shape[:-1], -1)

    def after(self, first: Tensor, bias: Tensor) -> Affine:
        """The map applied to x·first + bias, as one map."""
        return Affine(first @ self.weight, bias @ self.weight + self.bias)
