"""Small files that ask for much memory: refused before they get it."""

from __future__ import annotations

import io
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import psutil
import pytest
from benchmarks.fuzz_bodies import bodies, kinds
from benchmarks.fuzz_models import mutations, rebuilt, split

from alora_ts import load
from alora_ts.errors import ArtifactError
from alora_ts.serve.models.cache import read_model
from alora_ts.serve.settings import Settings
from tests.serve.core.conftest import Plant

_MIB = 2**20


def memory() -> float:
    return float(psutil.Process().memory_info().rss / _MIB)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("layers", 10**9),
        ("layers", 4),
        ("layers", -1),
        ("window", 10**7),
        ("heads", 10**8),
        ("kernel_width", 10**8),
        ("localization_memory", 10**10),
        ("layers", 2.5),
    ],
)
def test_a_description_is_checked_before_anything_is_built(
    model_file: Path, tmp_path: Path, name: str, value: Any
) -> None:
    table, header, data = split(model_file.read_bytes())
    set_everywhere(header, name, value)
    bomb = tmp_path / "bomb.alora"
    bomb.write_bytes(rebuilt(table, header, data))
    before = memory()
    with pytest.raises(ArtifactError):
        load(bomb)
    assert memory() - before < 256


def set_everywhere(value: Any, name: str, new: Any) -> None:
    if isinstance(value, dict):
        for key in value:
            if key.rpartition("__")[2] == name:
                value[key] = new
        for inner in value.values():
            set_everywhere(inner, name, new)


def test_mutated_models_are_refused_or_work(model_file: Path) -> None:
    file, before = model_file.read_bytes(), memory()
    refused = 0
    for _, mutated in zip(range(150), mutations(file, seed=1), strict=False):
        try:
            read_model(mutated)
        except ArtifactError:
            refused += 1
    assert refused > 50
    assert memory() - before < 256


def test_a_table_is_measured_before_it_is_read(here: Plant) -> None:
    rows = 15_000_000
    buffer = io.BytesIO()
    pl.select(pl.repeat(1.0, rows, eager=False).alias("flow")).write_parquet(buffer)
    body = buffer.getvalue()
    assert len(body) < 4 * _MIB
    before = memory()
    url = f"/api/v1/detect?model_id={here.source.model_id}"
    kind = {"content-type": "application/vnd.apache.parquet"}
    answer = here.client.post(url, content=body, headers=kind)
    assert answer.status_code == 413
    assert "15,000,000 rows" in answer.json()["error"]["message"]
    assert memory() - before < 256
    csv = b"a,b\n" + b"1,2\n" * 6_000_000
    answer = here.client.post(url, content=csv, headers={"content-type": "text/csv"})
    assert answer.status_code == 413
    many = b'{"rows": [' + b" " * here.service.settings.body_limit + b"]}"
    answer = here.client.post(url, content=many, headers={"content-type": "application/json"})
    assert answer.status_code == 413


@pytest.mark.parametrize("kind", ["text", "list"])
def test_a_table_of_one_cell_takes_no_more_memory_than_it_should(
    serve: Callable[[Settings], Plant], settings: Settings, kind: str
) -> None:
    """A file of a few kB whose only cell is a text or a list of many megabytes."""
    here = serve(settings.model_copy(update={"detect_cells": 100_000}))
    cell = "a" * 150_000_000 if kind == "text" else np.zeros(20_000_000)
    buffer = io.BytesIO()
    pl.DataFrame({"flow": [cell]}).write_parquet(buffer, compression="zstd")
    body = buffer.getvalue()
    assert len(body) < _MIB
    answer = here.client.post(
        f"/api/v1/detect?model_id={here.source.model_id}",
        content=body,
        headers={"content-type": "application/vnd.apache.parquet"},
    )
    assert answer.status_code == 413, answer.text
    assert "memory" in answer.json()["error"]["message"]


def test_a_table_has_no_more_columns_than_can_be_meant(here: Plant) -> None:
    url = f"/api/v1/detect?model_id={here.source.model_id}"
    for kind, body in (
        ("text/csv", b"," * 3_000_000),
        ("text/csv", b"," * 3_000_000 + b"\n1\n"),
    ):
        answer = here.client.post(url, content=body, headers={"content-type": kind})
        assert answer.status_code == 413


@pytest.mark.parametrize(("kind", "first", "count"), [("csv", 0, 60), ("parquet", 3, 8)])
def test_mutated_tables_are_judged_or_refused(
    here: Plant, kind: str, first: int, count: int
) -> None:
    url = f"/api/v1/detect?model_id={here.source.model_id}"
    # The first of Parquet are large when read; another test has such.
    for body in islice(bodies(kind, seed=1), first, first + count):
        answer = here.client.post(url, content=body, headers={"content-type": kinds[kind]})
        assert answer.status_code in {200, 413, 422}
