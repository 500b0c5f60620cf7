"""InterFusion after training: filling in doubtful cells, likelihoods, and whom to blame."""

from __future__ import annotations

import torch
from torch import Tensor

from alora_ts.baselines.interfusion_network import InterFusionNetwork

__all__ = ["explain", "impute", "log_likelihood"]


def log_likelihood(
    network: InterFusionNetwork, given: Tensor, observed: Tensor, *, draws: int
) -> Tensor:
    """Mean over posterior draws of the log-density of the observed cells, (B, T, D).

    Parameters
    ----------
    network : InterFusionNetwork
    given : Tensor of shape (B, T, D)
        The windows that are encoded.
    observed : Tensor of shape (B, T, D)
        The windows whose cells are judged.
    draws : int
        Posterior samples.

    Examples
    --------
    >>> network = InterFusionNetwork(
    ...     variables=2, window=4, convolutions=1, latent=2, width=3, flows=1, flow_width=2
    ... ).requires_grad_(False)
    >>> window = torch.randn(5, 4, 2)
    >>> log_likelihood(network, window, window, draws=3).shape
    torch.Size([5, 4, 2])
    """
    total = torch.zeros_like(observed)
    for _ in range(draws):
        total += network(given).log_likelihood(observed)
    return total / draws


def impute(
    network: InterFusionNetwork, window: Tensor, doubtful: Tensor, *, iterations: int, chains: int
) -> Tensor:
    """Replace doubtful cells by what the rest of the window suggests.

    Each chain encodes the window, draws it again and keeps the drawn values of the doubtful cells,
    again and again; the last values are averaged over the chains.

    Parameters
    ----------
    network : InterFusionNetwork
    window : Tensor of shape (B, T, D)
    doubtful : Tensor of bool, shape (B, T, D)
    iterations : int
        0 leaves the windows as they are.
    chains : int

    Returns
    -------
    Tensor of shape (B, T, D)
        All other cells are the window's own, to the bit.

    Examples
    --------
    >>> network = InterFusionNetwork(
    ...     variables=2, window=4, convolutions=1, latent=2, width=3, flows=1, flow_width=2
    ... ).requires_grad_(False)
    >>> window = torch.randn(5, 4, 2)
    >>> filled = impute(network, window, window > 0, iterations=2, chains=2)
    >>> torch.equal(filled[window <= 0], window[window <= 0])
    True
    """
    if iterations == 0:
        return window
    total = torch.zeros_like(window)
    for _ in range(chains):
        current = window
        for _ in range(iterations):
            out = network(current)
            drawn = out.mean + out.std * torch.randn_like(out.mean)
            current = torch.where(doubtful, drawn, window)
        total += current
    return torch.where(doubtful, total / chains, window)


def explain(
    network: InterFusionNetwork,
    window: Tensor,
    likelihood: Tensor,
    doubtful: Tensor,
    *,
    iterations: int,
    chains: int,
) -> Tensor:
    """Blame as few cells as make the rest of the window look normal.

    Parameters
    ----------
    network : InterFusionNetwork
        Trained; its ``usual`` says how likely a normal window is.
    window, likelihood : Tensor of shape (B, T, D)
        The windows and the log-likelihood of their cells.
    doubtful : Tensor of bool, shape (B, T, D)
        Cells that are masked in any case.
    iterations, chains : int
        As in :func:`impute`.

    Returns
    -------
    Tensor of shape (B, T, D)
        The log-likelihood of each cell given a window in which the blamed cells were replaced.

    Notes
    -----
    More and more of the cells that are less likely than usual are replaced, the least likely
    first, until the others are together as likely as a normal window's. All windows go through
    the rounds until the last is explained: were the explained ones left out, the noise that the
    others receive would depend on them.

    Examples
    --------
    >>> network = InterFusionNetwork(
    ...     variables=2, window=4, convolutions=1, latent=2, width=3, flows=1, flow_width=2
    ... ).requires_grad_(False)
    >>> window = torch.randn(5, 4, 2)
    >>> likelihood = log_likelihood(network, window, window, draws=1)
    >>> explain(network, window, likelihood, window > 3, iterations=1, chains=1).shape
    torch.Size([5, 4, 2])
    """
    count, steps, variables = window.shape
    flat = likelihood.flatten(1)  # (B, T·D)
    usual_cell = network.usual / (steps * variables)
    candidates = (flat < usual_cell).sum(1)
    # The place of each cell when the least likely come first.
    place = flat.argsort(1).argsort(1).view_as(window)
    blamed = (candidates // 5).clamp_min(1)
    more = (candidates // 10).clamp_min(1)
    best = likelihood
    best_total = torch.full((count,), -torch.inf, device=window.device)
    active = blamed <= candidates
    while active.any():
        masked = (place < blamed[:, None, None]) | doubtful
        filled = impute(network, window, masked, iterations=iterations, chains=chains)
        found = log_likelihood(network, filled, window, draws=chains)
        kept = (~masked).sum((1, 2)).clamp_min(1)
        total = torch.where(masked, 0.0, found).sum((1, 2)) / kept * variables
        better = active & (total > best_total)
        best = torch.where(better[:, None, None], found, best)
        best_total = torch.where(better, total, best_total)
        blamed = blamed + more
        active = active & (best_total < network.usual / steps) & (blamed <= candidates)
    return best
