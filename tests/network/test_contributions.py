"""Contribution weights and Proposition 1 against the forward pass."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from alora_ts.network import (
    ALoRaT,
    Architecture,
    constant_part,
    contribution_weights,
    relative_contributions,
    star_terms,
    window_contributions,
)

SMALL = Architecture(layers=2, heads=2)
VARIANTS = {
    "default": SMALL,
    "one head, three layers": replace(SMALL, heads=1, layers=3),
    "no skip": replace(SMALL, skip=False),
    "learned lags, edge": replace(SMALL, kernel="learned", padding="edge"),
    "average, edge": replace(SMALL, padding="edge"),
    "wide kernel": replace(SMALL, kernel_width=5),
    "dense": replace(SMALL, embedding="dense"),
    "feed-forward": replace(SMALL, feed_forward=True),
    "feed-forward, no skip": replace(SMALL, feed_forward=True, skip=False),
    "causal": replace(SMALL, causal=True),
    "head width rounds down": replace(SMALL, heads=4),
}


@pytest.fixture(params=VARIANTS.values(), ids=VARIANTS.keys())
def network(request: pytest.FixtureRequest) -> ALoRaT:
    torch.manual_seed(3)
    pairs = torch.combinations(torch.arange(4))
    return ALoRaT(pairs, variables=4, window=7, architecture=request.param).double()


@pytest.fixture
def windows() -> torch.Tensor:
    return torch.randn(3, 7, 4, dtype=torch.float64, generator=torch.manual_seed(5))


def test_star_terms_and_constant_equal_the_forward_pass(
    network: ALoRaT, windows: torch.Tensor
) -> None:
    embedded = network.embed(windows)
    terms = list(star_terms(network, windows))
    heads = network.layers[0].heads
    ways = heads + 1 if network.architecture.skip else heads
    assert len(terms) == ways**network.architecture.layers
    latent = sum(term.time @ embedded @ term.series for term in terms)
    rebuilt = latent @ network.decode.weight.T + constant_part(network)
    torch.testing.assert_close(rebuilt, network(windows).reconstruction, rtol=1e-9, atol=1e-9)


def test_window_contributions_give_the_last_row_exactly(
    network: ALoRaT, windows: torch.Tensor
) -> None:
    w = window_contributions(network, windows)
    rebuilt = torch.einsum("bqij,bqi->bj", w, windows) + constant_part(network)
    expected = network(windows).reconstruction[:, -1]
    torch.testing.assert_close(rebuilt, expected, rtol=1e-9, atol=1e-9)


def test_window_contributions_sum_to_the_contribution_weights(
    network: ALoRaT, windows: torch.Tensor
) -> None:
    c = contribution_weights(network).reconstruction
    w = window_contributions(network, windows).sum(1)
    torch.testing.assert_close(w, c.expand_as(w), rtol=1e-9, atol=1e-9)


def test_window_contributions_of_chosen_series_are_a_part_of_all(
    network: ALoRaT, windows: torch.Tensor
) -> None:
    everything = window_contributions(network, windows)
    part = window_contributions(network, windows, inputs=[2, 0], outputs=[3])
    torch.testing.assert_close(part, everything[:, :, [2, 0]][..., [3]])


def test_a_deviation_that_fills_the_window_moves_the_reconstruction_by_c(
    network: ALoRaT, windows: torch.Tensor
) -> None:
    # Freeze the attention by taking W_t of the undisturbed windows.
    w = window_contributions(network, windows)
    change = torch.zeros_like(windows)
    change[:, :, 1] = 0.5
    moved = torch.einsum("bqij,bqi->bj", w, change)
    c = contribution_weights(network).reconstruction
    torch.testing.assert_close(moved, (0.5 * c[1]).expand_as(moved))


def test_relative_contributions_of_a_series_sum_to_one(network: ALoRaT) -> None:
    relative = relative_contributions(contribution_weights(network).reconstruction)
    torch.testing.assert_close(relative.sum(1), torch.ones(4, dtype=torch.float64))


def test_exactness_is_stated() -> None:
    pairs = torch.combinations(torch.arange(4))
    for change, exact in [
        ({}, True),
        ({"activation": "gelu"}, False),
        ({"time_norm": True}, False),
    ]:
        network = ALoRaT(pairs, variables=4, window=7, architecture=replace(SMALL, **change))
        assert contribution_weights(network).exact is exact


def test_the_papers_simulation_weights() -> None:
    """Appendix E: no embedding, W_V fixed; E₁ = (0.2, 0.7) without skip, (2.4, 1.4) with it."""
    for skip, expected in [(False, (0.2, 0.7)), (True, (2.4, 1.4))]:
        network = ALoRaT(
            torch.tensor([[0, 1], [0, 1]]),
            variables=2,
            window=5,
            architecture=Architecture(
                layers=2, heads=1, kernel="learned", kernel_width=1, skip=skip
            ),
        )
        with torch.no_grad():
            network.embed.weight.copy_(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
            for layer, value in zip(
                network.layers, [torch.eye(2), torch.tensor([[0.2, 0.7], [0.8, 0.3]])], strict=True
            ):
                layer.query_key_value.weight[4:].copy_(value.T)
                layer.project.weight.copy_(torch.eye(2))
        latent = contribution_weights(network).latent
        torch.testing.assert_close(latent[0], torch.tensor(expected))
