"""The real sets: official shapes, rates and segments."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from alora_ts.datasets import check, entities, load
from alora_ts.datasets.dataset import label_segments

# train rows, test rows, labelled rows, labelled stretches, interpreted stretches
SMD = {
    "machine-1-2": (23694, 23694, 542, 10, 10),
    "machine-1-3": (23702, 23703, 817, 12, 11),
    "machine-1-4": (23706, 23707, 720, 12, 12),
    "machine-1-5": (23705, 23706, 100, 7, 7),
    "machine-1-6": (23688, 23689, 3708, 30, 30),
    "machine-1-7": (23697, 23697, 2398, 13, 13),
    "machine-1-8": (23698, 23699, 763, 20, 20),
}
ASD = {"omi-1": 441, "omi-2": 55, "omi-3": 146, "omi-4": 151, "omi-5": 74, "omi-6": 198}


@pytest.mark.parametrize("machine", SMD)
def test_smd(real_data: Path, machine: str) -> None:
    train, test, anomalous, stretches, interpreted = SMD[machine]
    dataset = load("SMD", real_data, machine)
    assert dataset.train.shape == (train, 38)
    assert dataset.test.shape == (test, 38)
    assert dataset.label.sum() == anomalous
    assert len(label_segments(dataset.label)) == stretches
    assert len(dataset.interpretation) == interpreted
    assert np.isfinite(dataset.train).all()
    if machine != "machine-1-3":
        # 1-3 has a labelled stretch that is not interpreted, and one that ends a row earlier.
        assert np.array_equal(dataset.truth().any(axis=1), dataset.label)


@pytest.mark.parametrize("server", ASD)
def test_asd(real_data: Path, server: str) -> None:
    dataset = load("ASD", real_data, server)
    assert dataset.train.shape == (8640, 19)
    assert dataset.test.shape == (4320, 19)
    assert dataset.label.sum() == ASD[server]
    assert np.array_equal(dataset.truth().any(axis=1), dataset.label)


def test_msl(real_data: Path) -> None:
    whole = load("MSL", real_data)
    assert whole.train.shape == (58_317, 55)
    assert whole.test.shape == (73_729, 55)
    assert whole.label.sum() == 7_766
    assert whole.interpretation == ()
    for number, channel in enumerate(entities("MSL")):
        part = load("MSL", real_data, channel)
        rows = whole.test_segments == number
        assert np.array_equal(whole.test[rows], part.test)
        assert np.array_equal(whole.label[rows], part.label)
        assert np.array_equal(whole.train[whole.train_segments == number], part.train)


def test_check_of_real_copies(real_data: Path) -> None:
    assert all(finding.fine for finding in check("MSL", real_data, progress=False))
    texts = [finding.text for finding in check("ASD", real_data, progress=False) if finding.fine]
    assert sum("interpreted" in text for text in texts) >= 6
