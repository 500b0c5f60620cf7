"""InterFusion's network: lengths, sizes, densities, imputation and blame."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from alora_ts.baselines.interfusion_network import (
    ConvolutionalVAE,
    FusionOutput,
    InterFusionNetwork,
)
from alora_ts.baselines.interfusion_sampling import explain, impute, log_likelihood
from alora_ts.errors import AloraError
from tests.baselines.naive_interfusion import explain_one


def _tiny(variables: int = 3, window: int = 8) -> InterFusionNetwork:
    torch.manual_seed(0)
    network = InterFusionNetwork(
        variables=variables,
        window=window,
        convolutions=3,
        latent=3,
        width=6,
        flows=2,
        flow_width=5,
    )
    return network.requires_grad_(requires_grad=False).eval()


@pytest.mark.parametrize(
    ("window", "convolutions", "short"), [(100, 5, 13), (30, 3, 8), (7, 3, 2), (9, 1, 5), (1, 1, 1)]
)
def test_lengths_go_down_and_up_again(window: int, convolutions: int, short: int) -> None:
    part = ConvolutionalVAE(variables=2, window=window, convolutions=convolutions)
    z2, divergence = part.encode(torch.randn(4, window, 2))
    assert z2.shape == (4, short, 2)
    assert divergence.shape == (4,)
    assert part.decode(z2).shape == (4, window, 2)


def test_layer_lengths_are_those_of_the_paper() -> None:
    part = ConvolutionalVAE(variables=1, window=100, convolutions=5)
    lengths: list[int] = []
    for layer in (*part.down, *part.up):
        layer.register_forward_hook(lambda _m, _i, out: lengths.append(out.shape[-1]))
    part(torch.randn(1, 100, 1))
    assert lengths == [50, 50, 25, 25, 13, 25, 25, 50, 50, 100]


@pytest.mark.parametrize(
    ("variables", "window", "convolutions", "latent", "expected"),
    [
        (38, 100, 5, 3, 1_730_772),
        (25, 100, 5, 3, 1_640_708),
        (51, 30, 3, 2, 1_781_547),
        (78, 100, 5, 3, 2_122_372),
    ],
)
def test_full_size_parameter_count(
    variables: int, window: int, convolutions: int, latent: int, expected: int
) -> None:
    with torch.device("meta"):
        network = InterFusionNetwork(
            variables=variables,
            window=window,
            convolutions=convolutions,
            latent=latent,
            width=500,
            flows=20,
            flow_width=100,
        )
    # torch's GRU has a second bias for each of its 3·500 gates that the first program's lacks.
    assert sum(p.numel() for p in network.parameters()) == expected + 1500


def test_divergence_of_z2_equals_torch_distributions() -> None:
    part = ConvolutionalVAE(variables=2, window=6, convolutions=1).double()
    window = torch.randn(3, 6, 2, dtype=torch.float64)
    z2, divergence = part.encode(window)
    hidden = part.down[0](window.transpose(1, 2)).relu()
    posterior = torch.distributions.Normal(*part.posterior(hidden.transpose(1, 2)))
    prior = torch.distributions.Normal(torch.zeros_like(z2), 1.0)
    expected = (posterior.log_prob(z2) - prior.log_prob(z2)).sum((1, 2))
    torch.testing.assert_close(divergence, expected)


def test_path_is_inferred_from_the_future() -> None:
    network = _tiny()
    spread = torch.randn(1, 8, 3)
    changed = spread.clone()
    changed[:, -1] += 1
    hidden, other = (network.gru(e.flip(1))[0].flip(1) for e in (spread, changed))
    assert not torch.allclose(hidden[:, 0], other[:, 0])
    changed = spread.clone()
    changed[:, 0] += 1
    torch.testing.assert_close(network.gru(changed.flip(1))[0].flip(1)[:, 1:], hidden[:, 1:])


def test_every_weight_but_the_pretraining_heads_learns() -> None:
    network = _tiny().requires_grad_().train()
    window = torch.randn(4, 8, 3)
    (-network(window).bound(window).mean()).backward()
    idle = {name for name, p in network.named_parameters() if p.grad is None}
    assert idle == {
        f"convolutional.rows.{n}"
        for n in ("mean.weight", "mean.bias", "spread.weight", "spread.bias")
    }
    assert len(list(network.kernels())) == 6 + 4 + 2


def test_imputation_touches_doubtful_cells_only() -> None:
    network = _tiny()
    window = torch.randn(5, 8, 3)
    doubtful = torch.rand(5, 8, 3) < 0.3
    filled = impute(network, window, doubtful, iterations=2, chains=3)
    assert torch.equal(filled[~doubtful], window[~doubtful])
    assert (filled[doubtful] != window[doubtful]).all()
    assert impute(network, window, doubtful, iterations=0, chains=3) is window


def test_imputation_does_not_depend_on_doubtful_values_in_the_end() -> None:
    network = _tiny()
    window = torch.randn(1, 8, 3)
    doubtful = torch.zeros(1, 8, 3, dtype=torch.bool)
    doubtful[:, -1] = True
    values = []
    for shift in (0.0, 1.0):
        torch.manual_seed(3)
        values.append(impute(network, window + shift * doubtful, doubtful, iterations=30, chains=1))
    assert (values[0] - values[1]).abs().max() < 0.2


def test_likelihood_is_the_mean_over_draws() -> None:
    network = _tiny()
    given, observed = torch.randn(2, 4, 8, 3)
    torch.manual_seed(1)
    together = log_likelihood(network, given, observed, draws=3)
    torch.manual_seed(1)
    apart = [network(given).log_likelihood(observed) for _ in range(3)]
    torch.testing.assert_close(together, torch.stack(apart).mean(0))


class _Certain(InterFusionNetwork):
    """Every row is expected to be the mean of the window's rows."""

    def __init__(self, usual: float) -> None:
        super().__init__(
            variables=2, window=4, convolutions=1, latent=2, width=2, flows=1, flow_width=2
        )
        self.usual.fill_(usual)

    def forward(self, window: Tensor) -> FusionOutput:
        mean = window.mean(1, keepdim=True).expand_as(window)
        return FusionOutput(mean, torch.full_like(mean, 0.5), torch.zeros(len(window)))


@pytest.mark.parametrize("usual", [-1e3, -40.0, -20.0, -12.0, 0.0])
def test_blame_agrees_with_one_window_at_a_time(
    usual: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "randn_like", torch.zeros_like)
    torch.manual_seed(0)
    network = _Certain(usual)
    window = torch.randn(6, 4, 2)
    window[3, 2, 1] = 9.0
    window[4] = 1.0
    doubtful = torch.zeros(6, 4, 2, dtype=torch.bool)
    doubtful[:, -1] = True
    likelihood = log_likelihood(network, window, window, draws=1)
    together = explain(network, window, likelihood, doubtful, iterations=3, chains=2)
    for at in range(6):
        alone = explain_one(
            network, window[at], likelihood[at], doubtful[at], iterations=3, chains=2
        )
        torch.testing.assert_close(together[at], alone)


def test_even_numbers_of_convolutions_are_refused() -> None:
    with pytest.raises(AloraError, match="odd"):
        ConvolutionalVAE(variables=1, window=8, convolutions=2)
