"""Delays and false alarms against a row-by-row count."""

from __future__ import annotations

import numpy as np
import pytest

from alora_ts import metrics
from tests.metrics import naive_metrics as naive
from tests.metrics.cases import seeded


def test_delays_equal_a_walk_through_each_event() -> None:
    for seed in range(300):
        label, score = seeded(seed)
        alarm = (score > np.median(score)).astype(int)
        expected = [
            next((row - s for row in range(s, e) if alarm[row]), float("nan")) * 60.0
            for s, e in naive.ranges(label.tolist())
        ]
        found = metrics.detection_delay(label, alarm, seconds_per_row=60)
        np.testing.assert_array_equal(found.delays, expected)
        caught = [delay for delay in expected if not np.isnan(delay)]
        assert found.caught == len(caught) / len(expected)
        if caught:
            assert found.mean == pytest.approx(np.mean(caught))
            assert found.median == np.median(caught)


def test_false_alarms_equal_a_count_of_episodes() -> None:
    for seed in range(300):
        label, score = seeded(seed, both=True)
        alarm = (score > np.median(score)).astype(int)
        wrong = [
            episode
            for episode in naive.ranges(alarm.tolist())
            if not label[episode[0] : episode[1]].any()
        ]
        found = metrics.false_alarms(label, alarm, seconds_per_row=3600)
        normal = int((label == 0).sum())
        assert found.episodes == len(wrong)
        assert found.normal_share == alarm[label == 0].sum() / normal
        assert found.per_day == pytest.approx(len(wrong) * 24 / normal)


def test_normal_data_alone_can_be_counted() -> None:
    found = metrics.false_alarms([0, 0, 0, 0], [0, 1, 0, 1])
    assert (found.episodes, found.normal_share, found.per_day) == (2, 0.5, None)
