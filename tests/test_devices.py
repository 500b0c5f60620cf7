from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from alora_ts import ALoRa, Architecture, load
from alora_ts.bench.speed import wavy_rows
from alora_ts.devices import choose_device
from alora_ts.errors import AloraError
from alora_ts.fast.engine import Engine
from alora_ts.fast.threads import _granted, choose_threads, use_threads
from alora_ts.network import ALoRaT
from tests.fast.networks import build

QUICK = {
    "window": 6,
    "pairs": 12,
    "architecture": Architecture(heads=2),
    "epochs": 1,
    "epoch_windows": 32,
}


def test_auto_takes_the_cpu_where_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert choose_device("auto").type == "cpu"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto").type == "cuda"
    assert choose_device("cuda:1").index == 1


@pytest.mark.parametrize(
    ("name", "says"), [("cuda", "no GPU"), ("gpu", "unknown device"), ("meta", "not supported")]
)
def test_a_device_that_is_not_there_is_named(
    name: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(AloraError, match=says):
        ALoRa(**QUICK, device=name).fit(wavy_rows(100, 3), progress=False)


def test_the_way_over_a_device_gives_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    # No GPU here: the CPU stands in, with every transfer done. Both in torch, to the last bit.
    monkeypatch.setenv("ALORA_TS_FAST", "torch")
    rows = wavy_rows(150, 3)
    plain = ALoRa(**QUICK).fit(rows, progress=False)
    moved: list[object] = []
    to = ALoRaT.to
    monkeypatch.setattr(ALoRaT, "to", lambda self, *where: moved.append(where) or to(self, *where))
    monkeypatch.setattr(Engine, "on_cpu", property(lambda _: False))
    other = ALoRa(**QUICK).fit(rows, progress=False)
    np.testing.assert_array_equal(other.score(rows), plain.score(rows))
    assert len(moved) >= 2
    stream = other.stream()
    assert np.isfinite([stream.push(row).score for row in rows[:10]]).all()
    windows = torch.randn(3, 7, 14)
    network = build(14, 60, heads=2)
    one, two = Engine(network).last_rows(windows), Engine(network).last_rows(windows)
    torch.testing.assert_close(one.expected, two.expected)
    torch.testing.assert_close(one.attention, two.attention)


def test_a_model_from_a_machine_with_a_gpu_loads(tmp_path: Path) -> None:
    model = ALoRa(**QUICK).fit(wavy_rows(100, 3), progress=False)
    model.device = "cuda"
    again = load(model.save(tmp_path / "model.alora"))
    np.testing.assert_allclose(again.score(wavy_rows(30, 3)), model.score(wavy_rows(30, 3)))


def test_threads_follow_what_the_process_may_use(tmp_path: Path) -> None:
    quota = tmp_path / "cpu.max"
    for text, cores in (("250000 100000", 2), ("50000 100000", 1), ("max 100000", 1_000_000)):
        quota.write_text(text)
        assert _granted(quota) == cores
    assert _granted(tmp_path / "none") == 1_000_000
    assert choose_threads(5) == 5
    with use_threads(1):
        assert choose_threads(None) == 1
