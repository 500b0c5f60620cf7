from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.fast.rank import _count_in_few_directions, count_rank
from tests import naive

SIZES = (1, 2, 7, 47, 48, 60)


def with_spectrum(sigma: np.ndarray, seed: int = 0) -> torch.Tensor:
    """A matrix with these singular values (in double precision)."""
    rng = np.random.default_rng(seed)
    left, right = (np.linalg.qr(rng.normal(size=(len(sigma), len(sigma))))[0] for _ in range(2))
    return torch.from_numpy(left * sigma @ right)[None]


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("steps", SIZES)
@pytest.mark.parametrize("sharpness", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("level", [1e-6, 1e-3, 0.1, 1.5])
def test_count_equals_the_twin(steps: int, sharpness: float, level: float) -> None:
    torch.manual_seed(steps)
    attention = (sharpness * torch.randn(6, steps, steps)).softmax(-1)
    expected = [naive.rank(m.numpy(), level) for m in attention]
    np.testing.assert_array_equal(count_rank(attention, level), expected)
    alone = [count_rank(attention[at : at + 1], level)[0] for at in range(6)]
    np.testing.assert_array_equal(alone, expected)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 9),
    st.floats(1e-5, 0.1),
    st.sampled_from([-1e-2, -1e-5, -1e-8, 1e-8, 1e-5, 1e-2]),
    st.floats(0.1, 0.9),
    st.integers(0, 1000),
)
def test_singular_values_just_beside_the_level(
    above: int, level: float, beside: float, decay: float, seed: int
) -> None:
    sigma = np.concatenate(
        [
            np.geomspace(1.0, 2 * level, above) if above else [],
            [level * (1 + beside)],
            level * decay ** np.arange(1, 60 - above),
        ]
    )
    matrix = with_spectrum(sigma, seed)
    assert count_rank(matrix, level)[0] == above + (beside > 0)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("steps", [5, 60])
def test_odd_matrices(steps: int) -> None:
    eye = torch.eye(steps)[None]
    assert count_rank(eye, 0.5)[0] == steps
    assert count_rank(eye, 1.5)[0] == 0
    assert count_rank(torch.zeros(1, steps, steps), 1e-6)[0] == 0
    assert count_rank(torch.full((1, steps, steps), 1 / steps), 1e-6)[0] == 1
    assert count_rank(torch.zeros(0, steps, steps), 1e-6).shape == (0,)


def test_the_short_way_is_taken_where_it_should_be_and_never_wrong() -> None:
    low = torch.cat([with_spectrum(0.3 ** np.arange(80.0), seed) for seed in range(8)])
    rank = _count_in_few_directions(low, 1e-3)
    np.testing.assert_array_equal(rank, [naive.rank(m.numpy(), 1e-3) for m in low])
    full = (3 * torch.randn(8, 80, 80)).softmax(-1).double()
    assert (_count_in_few_directions(full, 1e-3) == -1).all()
    assert (
        _count_in_few_directions(low, 0.3**3) == -1
    ).all()  # a singular value at the level itself
