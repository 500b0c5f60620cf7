from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.baselines.inputs import InputReader, Rows, Scaling
from alora_ts.baselines.npsr import NPSR
from alora_ts.baselines.npsr_network import SequenceModel
from alora_ts.baselines.npsr_score import gates, induced_score, nominality
from alora_ts.baselines.parts.blocks import median_blocks
from alora_ts.baselines.parts.performer import (
    FavorAttention,
    favor_attention,
    orthogonal_features,
)
from alora_ts.baselines.registry import get
from tests.baselines import naive_npsr as naive
from tests.baselines.check_detector import waves
from tests.baselines.small import small

numbers = st.lists(
    st.tuples(st.floats(0, 100), st.sampled_from([0.0, 0.3, 1.0])), min_size=1, max_size=12
)


@given(numbers, st.integers(1, 20))
def test_induced_score_agrees_with_the_double_sum(
    pairs: list[tuple[float, float]], reach: int
) -> None:
    errors, gate = np.array(pairs).T
    np.testing.assert_allclose(
        induced_score(errors, gate, reach), naive.induced_score(errors, gate, reach)
    )


def test_closed_gates_leave_errors_and_open_gates_smooth_them() -> None:
    errors = np.random.default_rng(0).random(50)
    np.testing.assert_array_equal(induced_score(errors, np.zeros(50), 4), errors)
    sums = np.convolve(errors, np.ones(9), mode="same")
    smooth = induced_score(errors, np.ones(50), 4)[4:-4]
    np.testing.assert_allclose(smooth, (errors + 8 / 9 * (sums - errors))[4:-4])


def test_gates_and_nominality_stay_finite_without_errors() -> None:
    zero = np.zeros((2, 3))
    np.testing.assert_array_equal(nominality(zero, zero), 0.0)
    assert np.isfinite(nominality(zero + 1, zero)).all()
    np.testing.assert_array_equal(gates(np.array([0.0, 1.0]), 0.0, "soft"), [1.0, 0.0])
    np.testing.assert_array_equal(gates(np.array([0.0, 1.0]), 0.0, "open"), 1.0)


@pytest.mark.parametrize(
    ("dataset", "variables", "point", "sequence"),
    [
        ("SMD", 38, 160, 83),
        ("PSM", 25, 63, 44),
        ("SWaT", 45, 202, 113),
        ("MSL", 55, 300, 153),
    ],
)
def test_counts_the_published_parameters(
    dataset: str, variables: int, point: int, sequence: int
) -> None:
    detector = get("npsr", dataset=dataset)
    assert isinstance(detector, NPSR)
    networks = detector._build(variables)
    counted = [
        sum(weight.numel() for weight in network.parameters())
        for network in (networks.point, networks.sequence)
    ]
    assert [round(count / 1000) for count in counted] == [point, sequence]


def test_random_features_approximate_softmax() -> None:
    torch.manual_seed(0)
    query, key, value = torch.randn(3, 20, 5) * torch.tensor([0.6, 0.6, 1.0])[:, None, None]
    exact = naive.softmax_attention(query.numpy(), key.numpy(), value.numpy())
    features = torch.cat([orthogonal_features(5, 5) for _ in range(400)])
    close = favor_attention(query, key, value, features).numpy()
    assert np.linalg.norm(close - exact) < 0.1 * np.linalg.norm(exact)


def test_random_features_change_in_training_only() -> None:
    torch.manual_seed(0)
    attention = FavorAttention(10, heads=2)
    tokens = torch.randn(1, 4, 10)
    assert attention.features.shape == (8, 5)
    before = attention.features.clone()
    attention(tokens)
    assert torch.equal(attention.features, before)
    attention(tokens)
    assert not torch.equal(attention.features, before)
    kept = attention.eval().features.clone()
    torch.testing.assert_close(attention(tokens), attention(tokens), rtol=0, atol=0)
    assert torch.equal(attention.features, kept)


def test_sequence_model_does_not_see_the_gap() -> None:
    torch.manual_seed(0)
    model = SequenceModel(3, window=12, gap=4, head_width=5).eval()
    window = torch.randn(1, 16, 3)
    other = window.clone()
    other[:, 6:10] = 9.0
    assert model(window).shape == (1, 4, 3)
    assert torch.equal(model(window), model(other))


@settings(max_examples=30)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=4), st.integers(1, 4))
def test_median_blocks_agree_with_loops(lengths: list[int], size: int) -> None:
    rng = np.random.default_rng(sum(lengths))
    segments = np.repeat(np.arange(len(lengths)), lengths).astype(np.int32)
    values = rng.normal(size=(len(segments), 2)).astype(np.float32)
    made = median_blocks(Rows(values, segments, None, np.arange(len(values))), size)
    slow = naive.median_blocks(values, segments.tolist(), size)
    np.testing.assert_allclose(made.values, slow, rtol=1e-6)
    assert len(made.answers) == len(values)
    np.testing.assert_array_equal(made.segments[made.answers], segments)


def test_every_interior_row_is_predicted_once() -> None:
    detector = small("npsr").fit(waves(200), progress=False)
    assert isinstance(detector, NPSR)
    x = waves(120, seed=2)
    segments = np.repeat([0, 1, 2], [61, 50, 9])
    rows = detector.reader_.read(x, segments=segments)
    with torch.no_grad():
        errors, known = detector._sequence_errors(detector.network_, rows, lambda _: None)
    # Sixteen rows around a gap: eight at both ends of a segment cannot be predicted.
    assert set(np.flatnonzero(~known)) == {
        *range(8),
        *range(53, 69),
        *range(103, 111),
        *range(112, 120),
    }
    values = torch.from_numpy(rows.values)
    with torch.no_grad():
        for first in (8, 12, 48):
            window = values[None, first - 8 : first + 12]
            expected = (detector.network_.sequence(window) - window[:, 8:12])[0]
            np.testing.assert_allclose(errors[first : first + 4], expected, atol=1e-5)


def test_scores_follow_the_formula() -> None:
    detector = small("npsr", downsample=2, reach=3).fit(waves(400), progress=False)
    assert isinstance(detector, NPSR)
    x = waves(200, seed=2)
    rows = median_blocks(detector.reader_.read(x), 2)
    with torch.no_grad():
        point = detector._point_errors(detector.network_, rows, lambda _: None)
        sequence, known = detector._sequence_errors(detector.network_, rows, lambda _: None)
    inside = slice(8, 92)
    assert known[inside].all()
    gate = gates(nominality(point, sequence)[inside], float(detector.network_.limit), "soft")
    expected = naive.induced_score(np.square(point).mean(1)[inside], gate, 3)
    scores = detector.score(x)
    np.testing.assert_allclose(scores[16:184:2], expected)
    np.testing.assert_array_equal(scores[::2], scores[1::2])
    np.testing.assert_array_equal(scores[:16], scores[16])
    np.testing.assert_array_equal(scores[184:], scores[183])


def test_train_only_range_and_clip() -> None:
    reader = InputReader(NPSR.scaling)
    reader.fit(np.array([[0.0], [1.0]]))
    np.testing.assert_array_equal(reader.read(np.array([[0.5], [99.0]])).values, [[0.0], [4.0]])
    assert NPSR.scaling == Scaling(bounds=(-1.0, 1.0), clip=(-4.0, 4.0))
