"""torch's Adam, for training that begins at once."""

from __future__ import annotations

import inspect

import torch
from torch.optim import Optimizer

__all__ = ["Adam"]


class Adam(torch.optim.Adam):
    """Adam as torch has it, without torch's compiler.

    Notes
    -----
    torch hides these methods of its optimisers from ``torch.compile``, and to do so imports the
    compiler when they are first called: 0.6 s of CPU in every process that fits. Nothing here is
    compiled that way, so these are the methods as they are without it.

    Examples
    --------
    >>> weight = torch.nn.Parameter(torch.ones(1))
    >>> optimiser = Adam([weight], lr=0.1)
    >>> weight.square().sum().backward()
    >>> optimiser.step()
    >>> round(weight.item(), 2)
    0.9
    """

    add_param_group = inspect.unwrap(Optimizer.add_param_group)
    zero_grad = inspect.unwrap(Optimizer.zero_grad)
    step = torch.no_grad()(inspect.unwrap(torch.optim.Adam.step))
