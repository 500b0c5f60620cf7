"""Real machines have constant, nearly constant and jumping signals; all become usable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

from alora_ts.data.prepare import Preparation
from alora_ts.data.scaling import CLIP
from alora_ts.data.table import as_table


def test_server_machines(real_data: Path) -> None:
    files = sorted((real_data / "SMD" / "train").glob("*.txt"))
    assert files
    for path in files:
        train = as_table(pl.read_csv(path, has_header=False))
        test = as_table(pl.read_csv(real_data / "SMD" / "test" / path.name, has_header=False))
        fitted = Preparation().fit(train)
        prepared = fitted.apply(train)
        still = [
            name for at, name in enumerate(train.variables) if np.ptp(train.values[:, at]) == 0
        ]
        assert set(still) <= set(prepared.report.constant)
        moving = np.array([name not in still for name in train.variables])
        assert np.abs(prepared.values[:, moving].mean(axis=0)).max() < 1e-3
        later = fitted.apply(test)
        assert len(later) == len(test)
        assert np.isfinite(later.values).all()
        assert np.abs(later.values).max() <= CLIP


def test_spacecraft_channels(real_data: Path) -> None:
    for path in sorted((real_data / "MSL" / "train").glob("*.npy")):
        train = as_table(np.load(path))
        test = as_table(np.load(real_data / "MSL" / "test" / path.name))
        assert np.isfinite(Preparation().fit(train).apply(test).values).all()
