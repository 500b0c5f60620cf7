from __future__ import annotations

import numpy as np
import pytest
import torch

from alora_ts.errors import AloraError
from alora_ts.fast.rank import count_rank
from alora_ts.scoring.spectrum import choose_rank_level, singular_values


def test_singular_values_fall_and_are_numpys() -> None:
    matrices = torch.rand(4, 9, 9).softmax(-1)
    sigma = singular_values(matrices)
    np.testing.assert_allclose(sigma, np.linalg.svd(matrices.numpy(), compute_uv=False), atol=1e-6)
    assert (np.diff(sigma) <= 0).all()


@pytest.mark.parametrize("rule", ["max-4th", "max-5th"])
def test_the_rules_keep_normal_ranks_low(rule: str) -> None:
    matrices = (3 * torch.randn(50, 9, 9)).softmax(-1)
    sigma = singular_values(matrices)
    level = choose_rank_level(sigma, rule=rule)  # type: ignore[arg-type]
    most = 3 if rule == "max-4th" else 4
    assert (sigma > level).sum(1).max() <= most
    assert count_rank(matrices, level * (1 + 1e-5)).max() <= most
    assert count_rank(matrices, level * (1 - 1e-5)).max() > most


def test_the_quantile_rule_withstands_outliers() -> None:
    sigma = np.tile([1.0, 0.5, 0.2, 0.1, 0.05], (10_000, 1))
    sigma[:5, 4] = 0.09
    assert choose_rank_level(sigma) == pytest.approx(0.05)
    assert choose_rank_level(sigma, rule="max-5th") == pytest.approx(0.09)


def test_short_windows_and_unknown_rules() -> None:
    assert choose_rank_level(np.array([[1.0, 0.3]]), rule="max-5th") == 0.3
    with pytest.raises(AloraError, match="did you mean 'quantile'"):
        choose_rank_level(np.ones((2, 5)), rule="quantil")  # type: ignore[arg-type]
