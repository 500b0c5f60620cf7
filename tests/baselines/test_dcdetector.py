"""DCdetector against its description: row sums, a loss of zero with a gradient, softmax scores."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.baselines.dcdetector import DCdetector, contrast
from alora_ts.baselines.dcdetector_network import DCdetectorNetwork, discrepancy
from alora_ts.errors import AloraError


def _tiny(window: int = 12, patch_sizes: tuple[int, ...] = (2, 3)) -> DCdetectorNetwork:
    torch.manual_seed(0)
    return DCdetectorNetwork(window=window, patch_sizes=patch_sizes, width=8, layers=2)


def test_full_size_parameter_count_is_what_upstream_trains() -> None:
    assert DCdetector().parameter_count(38) == 431_616


@pytest.mark.parametrize("variables", [1, 4])
def test_row_sums(variables: int) -> None:
    pairs = _tiny()(torch.randn(3, 12, variables))
    assert len(pairs) == 4
    for pair, patch in zip(pairs, (2, 2, 3, 3), strict=True):
        assert pair.series.shape == pair.prior.shape == (3, 1, 12, 12)
        torch.testing.assert_close(pair.series.sum(-1), torch.full((3, 1, 12), float(patch)))
        torch.testing.assert_close(pair.prior.sum(-1), torch.full((3, 1, 12), 12.0 / patch))
        torch.testing.assert_close(pair.normalised_prior().sum(-1), torch.ones(3, 1, 12))


def test_associations_agree_with_loops() -> None:
    network = _tiny(window=6, patch_sizes=(2,))
    window = torch.randn(1, 6, 3)
    with torch.no_grad():
        pair = network(window)[1]
        series, prior = torch.zeros(6, 6), torch.zeros(6, 6)
        layer = network.layers[1]
        for variable in range(3):
            x = window[0, :, variable]
            x = (x - x.mean()) / torch.sqrt(x.var(correction=0) + 1e-5)
            patches = network.among[0](torch.stack([x[0:2], x[2:4], x[4:6]])[None])[0]
            stretches = network.inside[0](torch.stack([x[0:3], x[3:6]])[None])[0]
            for tokens, target, place in (
                (patches, series, lambda i: i // 2),
                (stretches, prior, lambda i: i % 2),
            ):
                logits = layer.query(tokens) @ layer.key(tokens).T / 8**0.5
                weights = logits.softmax(-1)
                for i in range(6):
                    for j in range(6):
                        target[i, j] += weights[place(i), place(j)] / 3
    torch.testing.assert_close(pair.series[0, 0], series)
    torch.testing.assert_close(pair.prior[0, 0], prior)


def test_official_loss_is_zero_and_still_teaches() -> None:
    network = _tiny()
    loss = contrast(network(torch.randn(4, 12, 3)), form="official")
    loss.backward()
    assert abs(loss.item()) < 1e-6
    assert all(p.grad is not None and p.grad.norm() > 0 for p in network.parameters())
    names = {name.split(".")[0] for name, _ in network.named_parameters()}
    assert names == {"among", "inside", "layers"}


def test_sum_loss_is_twice_the_mean_discrepancy() -> None:
    pairs = _tiny()(torch.randn(4, 12, 3))
    expected = 2 * discrepancy(pairs).mean() / len(pairs)
    torch.testing.assert_close(contrast(pairs, form="sum"), expected)


def test_a_window_is_seen_without_its_level_and_scale() -> None:
    network = _tiny()
    window = torch.randn(2, 12, 3)
    torch.testing.assert_close(
        discrepancy(network(window)), discrepancy(network(5 * window + 7)), rtol=1e-3, atol=1e-4
    )


def test_constant_window_is_finite() -> None:
    assert torch.isfinite(discrepancy(_tiny()(torch.ones(1, 12, 2)))).all()


@pytest.mark.parametrize("sign", ["minus", "plus"])
def test_scores_of_a_window_sum_to_one(sign: str) -> None:
    detector = DCdetector(
        window=12, patch_sizes=(1, 3), width=8, layers=1, epochs=1, stride=4, sign=sign
    )
    rng = np.random.default_rng(0)
    scores = detector.fit(rng.normal(size=(60, 2))).score(rng.normal(size=(36, 2)))
    assert scores.reshape(3, 12).sum(1) == pytest.approx(np.ones(3), rel=1e-5)


def test_the_last_window_is_aligned_to_the_end() -> None:
    detector = DCdetector(window=12, patch_sizes=(3,), width=8, layers=1, epochs=1, stride=4)
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(31, 2))
    detector.fit(rng.normal(size=(60, 2)))
    # A score is a softmax in float32: its relative error is the error of an exponent near -15.
    np.testing.assert_allclose(detector.score(rows)[24:], detector.score(rows[19:])[5:], rtol=1e-4)


@pytest.mark.parametrize("patch_sizes", [(5,), (3, 0)])
def test_patches_must_fit_the_window(patch_sizes: tuple[int, ...]) -> None:
    with pytest.raises(AloraError, match="patch_sizes"):
        DCdetector(window=12, patch_sizes=patch_sizes).fit(np.random.default_rng(0).random((50, 2)))
