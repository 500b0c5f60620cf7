"""D3R's network and targets against brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.baselines.d3r_blocks import DecompositionBlock, SpatialBlock
from alora_ts.baselines.d3r_network import D3RNetwork, offset
from alora_ts.baselines.d3r_targets import rolling_median, time_features, with_stable_part
from alora_ts.baselines.inputs import InputReader, Scaling
from alora_ts.baselines.parts.diffusion import signal_left
from tests.baselines import naive_d3r


def _tiny(dropout: float = 0.0) -> D3RNetwork:
    torch.manual_seed(0)
    network = D3RNetwork(
        variables=3,
        window=6,
        width=8,
        heads=2,
        feed_forward=12,
        blocks=2,
        dropout=dropout,
        reach=2,
        signal=signal_left(500),
    )
    return network.eval()


def test_full_size_parameter_count() -> None:
    with torch.device("meta"):
        network = D3RNetwork(
            variables=38,
            window=64,
            width=512,
            heads=8,
            feed_forward=2048,
            blocks=2,
            dropout=0.6,
            reach=30,
            signal=signal_left(500),
        )
    assert sum(p.numel() for p in network.parameters()) == 52_241_266


def test_signal_left_after_five_hundred_steps() -> None:
    assert signal_left(500) == pytest.approx(0.0778, abs=5e-5)
    assert signal_left(500) ** 0.5 == pytest.approx(0.2789, abs=5e-5)
    assert (1 - signal_left(500)) ** 0.5 == pytest.approx(0.9603, abs=5e-5)
    left = 1.0
    for step in range(4):
        left *= 1 - (1e-4 + step * (0.02 - 1e-4) / 999)
    assert signal_left(3) == pytest.approx(left, rel=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    steps=st.integers(1, 9),
    variables=st.integers(1, 3),
    reach=st.integers(1, 12),
    seed=st.integers(0, 1000),
)
def test_offset_agrees_with_loops(steps: int, variables: int, reach: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    data, stable = rng.normal(size=(2, 4, steps, variables))
    fast = offset(torch.from_numpy(data), torch.from_numpy(stable), reach=reach)
    assert fast.shape == (4, 1, variables)
    for at in range(4):
        slow = naive_d3r.offset(data[at], stable[at], reach)
        assert fast[at, 0].tolist() == pytest.approx(slow, rel=1e-9)


def test_offset_moves_with_a_constant_wherever_stable_is_constant() -> None:
    data = torch.randn(2, 6, 3)
    flat = torch.zeros(2, 6, 3)
    torch.testing.assert_close(
        offset(data + 4, flat, reach=2), offset(data, flat, reach=2) + 4, rtol=1e-5, atol=1e-5
    )


@settings(max_examples=30, deadline=None)
@given(rows=st.integers(1, 40), window=st.integers(1, 12), seed=st.integers(0, 1000))
def test_rolling_median_agrees_with_loops(rows: int, window: int, seed: int) -> None:
    window = min(window, rows)
    values = np.random.default_rng(seed).integers(0, 5, size=(rows, 2)).astype(float)
    np.testing.assert_array_equal(
        rolling_median(values, window), naive_d3r.rolling_median(values, window)
    )


def test_stable_part_is_the_row_less_the_median_around_it() -> None:
    rng = np.random.default_rng(0)
    rows = InputReader(Scaling()).fit(
        rng.normal(size=(60, 2)), segments=np.repeat([0, 1, 0], [40, 5, 15])
    )
    prepared = with_stable_part(rows, 6)
    # Each segment loses 5 rows; the middle one is shorter than a period and goes.
    assert np.bincount(prepared.segments).tolist() == [35, 10]
    for at, row in ((0, 3), (10, 13), (34, 37), (35, 48)):
        np.testing.assert_array_equal(prepared.values[at, :2], rows.values[row])
        median = np.median(rows.values[row - 3 : row + 3], axis=0)
        np.testing.assert_allclose(
            prepared.values[at, 2:], rows.values[row] - median, rtol=1e-5, atol=1e-6
        )


def test_stable_part_of_a_drifting_wave_has_no_drift() -> None:
    time = np.arange(400)
    rows = InputReader(Scaling()).fit(np.sin(time * 2 * np.pi / 20) + 0.01 * time)
    stable = with_stable_part(rows, 20).values[:, 1:]
    assert np.abs(rolling_median(stable, 20)).max() < 0.1 * np.abs(stable).max()


def test_short_training_shrinks_the_period() -> None:
    rows = InputReader(Scaling()).fit(np.random.default_rng(0).normal(size=(30, 1)))
    assert len(with_stable_part(rows, 1440)) == 30 - 10 + 1


def test_time_features_agree_with_the_calendar() -> None:
    stamps = np.array(["2024-02-29T13:07:30", "2023-12-31T00:00:00"], "datetime64[us]")
    expected = [
        [7 / 59, 13 / 23, 3 / 6, 29 / 30, 2 / 365],
        [0, 0, 6 / 6, 31 / 30, 12 / 365],
    ]
    np.testing.assert_allclose(time_features(stamps, 2), np.array(expected) - 0.5, rtol=1e-6)


@pytest.mark.parametrize("stamps", [None, np.arange(130.0)], ids=["none", "numbers"])
def test_rows_without_moments_are_consecutive_minutes(stamps: np.ndarray | None) -> None:
    features = time_features(stamps, 130)
    np.testing.assert_allclose(features[:60, 0], np.arange(60) / 59 - 0.5, rtol=1e-5, atol=1e-7)
    assert len(np.unique(features[:, 1])) == 3


def test_mixed_attention_adds_the_products_of_data_and_time() -> None:
    torch.manual_seed(0)
    block = DecompositionBlock(3, 4, heads=2, feed_forward=5, dropout=0.0)
    data, time = torch.randn(2, 1, 5, 4)
    value = block.time_value(time)[0]
    mixed = torch.zeros(5, 4)
    for head in (slice(0, 2), slice(2, 4)):
        products = [
            query(x)[0][:, head] @ key(x)[0][:, head].T
            for query, key, x in (
                (block.data_query, block.data_key, data),
                (block.time_query, block.time_key, time),
            )
        ]
        mixed[:, head] = (sum(products) / 2**0.5).softmax(-1) @ value[:, head]
    expected = block.norm_mixed(block.out(mixed))
    torch.testing.assert_close(block.mix(data, time)[0], expected)


def test_spatial_attention_has_features_for_tokens() -> None:
    block = SpatialBlock(6, 8, heads=2, feed_forward=4, dropout=0.0)
    _, weights = block.attend(torch.randn(1, 6, 8).transpose(1, 2))
    assert weights.shape == (1, 2, 8, 8)
    assert block(torch.randn(1, 6, 8)).shape == (1, 6, 8)


def test_disturbance_goes_in_and_out_again() -> None:
    network = _tiny()
    window, time = torch.randn(2, 6, 3), torch.randn(2, 6, 5)
    drift = torch.rand(2, 1, 3)
    torch.manual_seed(1)
    with_drift = network(window, time, drift)
    torch.manual_seed(1)
    moved = network(window + drift, time)
    torch.testing.assert_close(with_drift.trend, moved.trend - drift)
    torch.testing.assert_close(with_drift.reconstruction, moved.reconstruction - drift)
    torch.testing.assert_close(with_drift.stable, moved.stable)
    assert (with_drift.trend == with_drift.trend[:, :1]).all()


def test_dropout_acts_in_all_blocks_but_the_last() -> None:
    network = _tiny(dropout=0.6)
    rates = [
        {m.p for m in stack.modules() if isinstance(m, torch.nn.Dropout)}
        for stack in (
            *network.data_encoder,
            *network.time_encoder,
            *network.decomposition,
            *network.rebuild,
        )
    ]
    assert rates == [{0.6}, {0.0}] * 4
