"""Every random draw of a fit comes from its own seed, and touches nobody else's."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import torch

from alora_ts import ALoRa, Architecture, load
from alora_ts.bench.speed import wavy_rows

QUICK = ALoRa(window=6, pairs=12, epochs=1, epoch_windows=64, architecture=Architecture(heads=2))


def test_four_threads_with_one_seed_fit_the_same_model(tmp_path: Path) -> None:
    rows = wavy_rows(300, 3)

    def fit(number: int) -> bytes:
        # Draws in between would show a generator that is shared.
        torch.rand(number)
        return QUICK.clone().fit(rows, progress=False).save(tmp_path / f"{number}").read_bytes()

    alone = fit(0)
    with ThreadPoolExecutor(4) as pool:
        for together in pool.map(fit, range(1, 9)):
            assert together == alone


def test_the_callers_random_state_stays_as_it_was(tmp_path: Path) -> None:
    rows = wavy_rows(200, 3)
    torch.manual_seed(11)
    np.random.seed(11)  # noqa: NPY002  (the global state is what this is about)
    before = torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
    for embedding in ("pairs", "dense"):
        model = QUICK.clone().set_params(architecture__embedding=embedding, contamination=0.1)
        model.fit(rows, progress=False)
        load(model.save(tmp_path / "model.alora")).diagnose(rows, progress=False)
        stream = model.stream()
        for row in rows[:20]:
            stream.push(row)
    assert torch.equal(torch.get_rng_state(), before[0])
    assert repr(np.random.get_state()) == before[1]  # noqa: NPY002


def test_the_callers_random_state_does_not_matter() -> None:
    rows, scores = wavy_rows(200, 3), []
    for seed in (1, 2):
        torch.manual_seed(seed)
        scores.append(QUICK.clone().fit(rows, progress=False).score(rows, progress=False))
    np.testing.assert_array_equal(*scores)
