from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

from alora_ts import ALoRa, Architecture
from alora_ts.bench.speed import wavy_rows
from alora_ts.errors import AloraError

QUICK = {
    "window": 6,
    "pairs": 12,
    "architecture": Architecture(heads=2, layers=2),
    "epochs": 1,
    "epoch_windows": 32,
}


@pytest.fixture(scope="module")
def model() -> ALoRa:
    return ALoRa(**QUICK, scoring="paper").fit(wavy_rows(120, 3), progress=False)


@pytest.fixture(scope="module")
def session(model: ALoRa, tmp_path_factory: pytest.TempPathFactory) -> onnxruntime.InferenceSession:
    file = model.export_onnx(tmp_path_factory.mktemp("onnx") / "model.onnx")
    assert isinstance(file, Path)
    return onnxruntime.InferenceSession(file)


@pytest.mark.parametrize("batch", [1, 2, 17])
def test_onnx_runtime_gives_torchs_numbers(
    model: ALoRa, session: onnxruntime.InferenceSession, batch: int
) -> None:
    windows = torch.randn(batch, 6, 3)
    reconstruction, attention = session.run(None, {"windows": windows.numpy()})
    with torch.no_grad():
        encoding = model.model_.network(windows)
    np.testing.assert_allclose(reconstruction, encoding.reconstruction, atol=1e-5)
    np.testing.assert_allclose(attention, encoding.attention[-1], atol=1e-6)


def test_the_file_holds_what_a_score_needs(
    model: ALoRa, session: onnxruntime.InferenceSession
) -> None:
    about = json.loads(session.get_modelmeta().custom_metadata_map["alora_ts"])
    rows = wavy_rows(40, 3)
    scaled = np.clip(
        (rows - about["center"]) / about["scale"], -about["input_limit"], about["input_limit"]
    ).astype(np.float32)
    windows = np.stack([scaled[at : at + about["window"]] for at in range(35)])
    reconstruction, attention = session.run(None, {"windows": windows})
    error = np.square(windows[:, -1] - reconstruction[:, -1]).sum(1)
    rank = (np.linalg.svd(attention, compute_uv=False) > about["rank_level"]).sum(1)
    raw = model.diagnose(rows, progress=False).raw
    np.testing.assert_allclose(error * rank, raw[5:], rtol=1e-3)


def test_a_missing_folder_is_said(model: ALoRa, tmp_path: Path) -> None:
    with pytest.raises(AloraError, match="does not exist"):
        model.export_onnx(tmp_path / "nowhere" / "model.onnx")
