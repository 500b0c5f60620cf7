from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.baselines.daemon import DAEMON
from alora_ts.baselines.daemon_network import DaemonNetworks, initialise
from alora_ts.baselines.daemon_training import AdversarialStep
from alora_ts.baselines.parts.spectral import spectral_residual
from alora_ts.errors import AloraError
from tests.baselines import naive_daemon as naive
from tests.baselines.check_detector import waves
from tests.baselines.small import small


def counted(network: torch.nn.Module) -> int:
    return sum(weight.numel() for weight in network.parameters())


def test_counts_the_published_parameters() -> None:
    networks = DAEMON()._build(38)
    assert counted(networks.generator) == 2_195_046
    assert counted(networks.of_windows) == 706_209
    assert counted(networks.of_latents) == 701_473
    assert DAEMON().parameter_count(38) == 3_602_728


def test_full_size_shapes_and_spread() -> None:
    torch.manual_seed(0)
    generator = DAEMON()._build(5).generator
    window = torch.rand(2, 5, 128)
    mean, log_variance = generator.encode(window)
    assert mean.shape == log_variance.shape == (2, 128, 1)
    assert (log_variance >= 1e-4).all()
    made = generator(window)
    assert made.reconstruction.shape == window.shape
    assert made.latent.shape == (2, 128, 1)


@pytest.mark.parametrize("count", [1, 2, 3, 16, 31])
def test_spectral_residual_agrees_with_sums(count: int) -> None:
    rng = np.random.default_rng(count)
    values = np.c_[rng.random(count) + 1, np.zeros(count), np.full(count, 3.0)]
    fast = spectral_residual(values)
    for column in range(3):
        np.testing.assert_allclose(
            fast[:, column], naive.spectral_residual(values[:, column]), atol=1e-6
        )


def test_spectral_residual_peaks_at_a_spike() -> None:
    wave = np.sin(np.arange(300) * 0.2)[:, None] + 2.0
    wave[170] += 2.5
    assert spectral_residual(wave).argmax() == 170


def test_residual_is_taken_segment_by_segment() -> None:
    detector = small("daemon").fit(waves(200), progress=False)
    assert isinstance(detector, DAEMON)
    x = waves(60, seed=4)
    rows = detector.reader_.read(x, segments=np.repeat([0, 1], 30))
    alone = detector.reader_.read(x[30:])
    np.testing.assert_array_equal(detector._saliency(rows)[30:], detector._saliency(alone))


def test_generator_learns_without_touching_the_discriminators() -> None:
    torch.manual_seed(0)
    networks = DaemonNetworks(2, window=16, base=4, latent=8)
    step = AdversarialStep(
        networks, rate=1e-3, discriminator_rate=0.0, window_weight=1.0, latent_weight=1.0
    )
    before = [weight.clone() for weight in networks.of_windows.parameters()]
    first = step(torch.rand(6, 16, 2))["error"]
    assert np.isfinite(first)
    for old, new in zip(before, networks.of_windows.parameters(), strict=True):
        assert torch.equal(old, new)


def test_a_discriminator_that_is_too_sure_is_reset(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    networks = DaemonNetworks(2, window=16, base=4, latent=8)
    step = AdversarialStep(
        networks, rate=1e-3, discriminator_rate=1e-3, window_weight=1.0, latent_weight=1.0
    )
    networks.of_windows.head.bias.data.fill_(3.0)
    step(torch.rand(6, 16, 2))
    assert networks.of_windows.head.bias.item() != 0.0
    monkeypatch.setattr("alora_ts.baselines.daemon_training._TOO_SURE", 1e6)
    step(torch.rand(6, 16, 2))
    assert networks.of_windows.head.bias.item() == 0.0


def test_attribution_agrees_with_a_loop_over_the_path() -> None:
    torch.manual_seed(3)
    detector = DAEMON(window=16, base=4, latent=8, path_steps=7)
    detector.network_ = detector._build(3)
    initialise(detector.network_)
    detector.network_.eval()
    batch = torch.rand(4, 16, 3)
    with torch.no_grad():
        fast = detector._attribute(batch)
    for at in range(4):
        slow = naive.attribution(detector.network_.generator, batch[at].T, 7)
        np.testing.assert_allclose(fast[at], slow, atol=1e-5)
    detector.set_params(attribution="absolute")
    with torch.no_grad():
        np.testing.assert_allclose(detector._attribute(batch), fast.abs())


def test_planted_shift_is_ranked_first() -> None:
    train = waves(1200, 4)
    detector = DAEMON(
        window=16,
        base=8,
        latent=16,
        stride=2,
        epochs=8,
        spectral=False,
        draws=0,
        path_steps=8,
    ).fit(train, progress=False)
    test = waves(200, 4, seed=5)
    hits = 0
    for variable in range(4):
        x = test.copy()
        x[150, variable] += 2.0 * np.ptp(train[:, variable])
        hits += int(detector.score_variables(x[100:151])[-1].argmax() == variable)
        assert detector.score(x)[150] > np.quantile(detector.score(test), 0.95)
    assert hits == 4


def test_scores_are_errors_at_the_last_row() -> None:
    detector = small("daemon", spectral=False).fit(waves(200), progress=False)
    assert isinstance(detector, DAEMON)
    x = waves(40, seed=1)
    rows = detector.reader_.read(x)
    scaled = detector._scaled(detector.network_, rows, rows.values).values
    scores = detector.score(x)
    with torch.no_grad():
        for end in (15, 16, 39):
            window = torch.from_numpy(scaled[end - 15 : end + 1].T.copy())[None]
            rebuilt = detector.network_.generator(window, noise=False).reconstruction
            expected = (rebuilt - window)[0, :, -1].abs().sum().item()
            assert scores[end] == pytest.approx(expected, rel=1e-4)
    np.testing.assert_array_equal(scores[:15], scores[15])


def test_drawn_latents_are_seeded_and_averaged() -> None:
    detector = small("daemon", draws=3).fit(waves(200), progress=False)
    x = waves(40, seed=1)
    np.testing.assert_array_equal(detector.score(x), detector.score(x))
    assert not np.array_equal(detector.score(x), detector.set_params(draws=0).score(x))


def test_sizes_must_be_powers_of_two() -> None:
    with pytest.raises(AloraError, match="window=20 must be a power of two"):
        DAEMON(window=20).fit(waves(100))
