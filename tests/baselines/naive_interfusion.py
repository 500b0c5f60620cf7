"""The slow twin of InterFusion's explanation: one window, one list, one round at a time."""

from __future__ import annotations

from torch import Tensor

from alora_ts.baselines.interfusion_network import InterFusionNetwork
from alora_ts.baselines.interfusion_sampling import impute, log_likelihood


def explain_one(
    network: InterFusionNetwork,
    window: Tensor,
    likelihood: Tensor,
    doubtful: Tensor,
    *,
    iterations: int,
    chains: int,
) -> Tensor:
    steps, variables = window.shape
    usual = float(network.usual)
    cells = [(t, i) for t in range(steps) for i in range(variables)]
    suspects = [c for c in cells if float(likelihood[c]) < usual / (steps * variables)]
    if not suspects:
        return likelihood
    ranked = sorted(cells, key=lambda c: float(likelihood[c]))
    count = len(suspects)
    best, best_total = likelihood, -float("inf")
    for blamed in range(max(count // 5, 1), count + 1, max(count // 10, 1)):
        masked = doubtful.clone()
        for cell in ranked[:blamed]:
            masked[cell] = True
        filled = impute(network, window[None], masked[None], iterations=iterations, chains=chains)
        found = log_likelihood(network, filled, window[None], draws=chains)[0]
        kept = [float(found[c]) for c in cells if not masked[c]]
        total = sum(kept) / max(len(kept), 1) * variables
        if total > best_total:
            best, best_total = found, total
        if best_total >= usual / steps:
            break
    return best
