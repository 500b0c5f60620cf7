"""Linear layers whose first weights come from a generator of the caller's."""

from __future__ import annotations

import math

import torch
from torch import nn

__all__ = ["linear"]


def linear(inputs: int, outputs: int, generator: torch.Generator | None) -> nn.Linear:
    """Make torch's linear layer with its usual first weights, drawn from ``generator``.

    torch's constructor draws from the one generator that the whole process shares: fits in
    several threads would take each other's numbers, and a fit would change the caller's.

    Parameters
    ----------
    inputs, outputs : int
    generator : torch.Generator or None
        None is the shared one.

    Examples
    --------
    >>> _ = torch.manual_seed(3)
    >>> theirs = nn.Linear(4, 2)
    >>> ours = linear(4, 2, torch.Generator().manual_seed(3))
    >>> torch.equal(ours.weight, theirs.weight), torch.equal(ours.bias, theirs.bias)
    (True, True)
    """
    layer = _Blank(inputs, outputs)
    bound = 1 / math.sqrt(inputs)
    with torch.no_grad():
        nn.init.kaiming_uniform_(layer.weight, a=math.sqrt(5), generator=generator)
        layer.bias.uniform_(-bound, bound, generator=generator)
    return layer


class _Blank(nn.Linear):
    """Leaves its first weights to the caller.

    So does torch's `skip_init`, but through torch's symbolic shapes, for which it imports sympy:
    every program that loads a model would wait for that.
    """

    def reset_parameters(self) -> None:
        pass
