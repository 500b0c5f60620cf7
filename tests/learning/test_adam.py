"""The optimiser takes torch's steps, and starts without torch's compiler."""

from __future__ import annotations

import subprocess
import sys

import torch

from alora_ts.learning.adam import Adam


def walk(kind: type[torch.optim.Adam], *, decay: float) -> list[torch.Tensor]:
    torch.manual_seed(0)
    weights = [torch.nn.Parameter(torch.randn(3, 2)), torch.nn.Parameter(torch.randn(5))]
    optimiser = kind(weights, lr=0.05, weight_decay=decay)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: 1 / (1 + step))
    seen = []
    for _ in range(20):
        optimiser.zero_grad(set_to_none=True)
        loss = weights[0].exp().sum() + weights[1].square().sum()
        loss.backward()
        optimiser.step()
        schedule.step()
        seen += [weight.detach().clone() for weight in weights]
    assert all(weight.requires_grad for weight in weights)
    assert torch.is_grad_enabled()
    return seen


def test_it_takes_the_steps_of_torch() -> None:
    for decay in (0.0, 0.1):
        for ours, theirs in zip(
            walk(Adam, decay=decay), walk(torch.optim.Adam, decay=decay), strict=True
        ):
            assert torch.equal(ours, theirs)


def test_a_fit_loads_no_compiler() -> None:
    """It takes most of a second to import, in every process that fits."""
    code = (
        "import sys, numpy as np; from alora_ts import ALoRa; "
        "rows = np.random.default_rng(0).normal(size=(200, 2)); "
        "ALoRa(window=4, epochs=1, epoch_windows=64).fit(rows, progress=False); "
        "print('torch._dynamo' in sys.modules)"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
