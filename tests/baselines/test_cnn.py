"""TSB-AD's CNN: equal to its definition, and able to learn a wave."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import conv1d, linear, max_pool1d, relu

from alora_ts.baselines.cnn import CNN
from alora_ts.baselines.cnn_network import Forecaster
from alora_ts.errors import AloraError
from tests.baselines.check_detector import waves


def test_the_network_is_what_it_says() -> None:
    torch.manual_seed(0)
    network = Forecaster(3, channels=(4, 6), width=5, dropout=0.25).eval()
    x = torch.randn(2, 20, 3)
    seen = x.permute(0, 2, 1)
    for at in (0, 3):
        layer = network.convolutions[at]
        seen = max_pool1d(relu(conv1d(seen, layer.weight, layer.bias)), 2)
    first, last = network.head[0], network.head[3]
    pooled = torch.cat([seen.mean(2), seen.max(2).values], dim=1)
    expected = linear(relu(linear(pooled, first.weight, first.bias)), last.weight, last.bias)
    torch.testing.assert_close(network(x), expected)


def test_the_shortest_window_leaves_one_step() -> None:
    for layers in (1, 2, 3):
        least = Forecaster.least_window(layers)
        network = Forecaster(2, channels=(3,) * layers, width=3, dropout=0.0)
        assert network.convolutions(torch.zeros(1, 2, least)).shape[-1] == 1
    with pytest.raises(AloraError, match=r"window=9 is too short for 2 .* at least 10"):
        CNN(window=9).fit(waves(60))


def test_scores_are_errors_of_the_next_row() -> None:
    detector = CNN(window=12, epochs=1).fit(waves(120))
    x = waves(40, seed=1)
    scores = detector.score_variables(x)
    rows = torch.from_numpy(detector.reader_.read(x).values)
    with torch.no_grad():
        for row in (12, 25, 39):
            predicted = detector.network_(rows[None, row - 12 : row])[0]
            expected = (predicted - rows[row]).square().numpy()
            np.testing.assert_allclose(scores[row], expected, rtol=1e-4)
    np.testing.assert_array_equal(scores[:12], np.repeat(scores[12:13], 12, axis=0))
    np.testing.assert_allclose(detector.score(x), scores.mean(axis=1))


def test_a_planted_jump_is_found() -> None:
    x = waves(200, 2, seed=1)
    x[150, 0] += 6
    detector = CNN(window=20, epochs=15, batch_size=32).fit(waves(500, 2))
    assert detector.score(x).argmax() == 150
    assert detector.score_variables(x)[150].argmax() == 0
