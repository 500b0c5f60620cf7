"""What a notebook shows: short, safe, and without magic."""

from __future__ import annotations

import re
import sys
import types
from typing import Any

import numpy as np
import polars as pl
import pytest

from alora_ts import ALoRa
from alora_ts.backtest import backtest
from alora_ts.progress import Step, reporting

QUICK: dict[str, Any] = {"window": 8, "epochs": 1, "epoch_windows": 128}


def rows(count: int, *, seed: int = 0, broken: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    load = np.sin(np.arange(count) / 9)
    x = np.column_stack([load, 2 * load, -load]) + 0.05 * rng.normal(size=(count, 3))
    truth = np.zeros(count, int)
    if broken:
        x[count // 2 : count // 2 + 20, 1] += 9
        truth[count // 2 : count // 2 + 20] = 1
    times = np.datetime64("2026-01-01", "us") + np.arange(count) * np.timedelta64(60, "s")
    named = dict(zip(("load", "a<b>", "heat"), x.T, strict=True))
    return pl.DataFrame({"time": times, **named, "attack": truth})


@pytest.fixture(scope="module")
def model() -> ALoRa:
    return ALoRa(**QUICK).fit(rows(600), label="attack", progress=False)


@pytest.fixture(scope="module")
def found(model: ALoRa) -> Any:
    return model.diagnose(rows(2000, seed=1, broken=True), progress=False)


def check(page: str, most: int = 12_000) -> str:
    """A few kilobytes that are well nested, need nothing from elsewhere, and escape names."""
    assert len(page) < most, len(page)
    assert "a<b>" not in page
    open_: list[str] = []
    for closing, name, alone in re.findall(r"<(/?)([a-z]+)[^>]*?(/?)>", page):
        if closing:
            assert open_.pop() == name
        elif not alone:
            open_.append(name)
    assert not open_
    assert "http" not in page
    assert "<script" not in page
    return page


def test_a_diagnosis(found: Any) -> None:
    assert len(repr(found)) < 200
    assert "incident" in repr(found)
    page = check(found._repr_html_())
    assert "a&lt;b&gt;" in page
    assert page.count("<svg") == 1
    assert re.search('class="(high|medium)"', page)
    assert "2026-01-01 00:00:00" in page


def test_an_incident_a_model_and_an_evaluation(model: ALoRa, found: Any) -> None:
    assert "expected" in check(found.incidents[0]._repr_html_())
    page = check(model._repr_html_())
    assert "600 rows, 2026-01-01 00:00:00" in page
    assert "load" in page
    assert check(ALoRa(window=5)._repr_html_()) == "<code>ALoRa(window=5)</code>"
    judged = found.evaluate()
    assert "affiliation F1" in check(judged._repr_html_())
    assert len(repr(judged)) < 200


def test_a_backtest() -> None:
    result = backtest(
        rows(900, broken=True), model=ALoRa(**QUICK), label="attack", train=300, progress=False
    )
    assert len(repr(result)) < 300
    assert check(result._repr_html_()).count("<table") == 2


def test_many_incidents_stay_few_kilobytes(model: ALoRa) -> None:
    moved = pl.when(pl.int_range(20_000) % 200 < 10).then(pl.col("load") + 9).otherwise("load")
    many = model.diagnose(rows(20_000, seed=2).with_columns(load=moved), progress=False)
    assert len(many.incidents) > 40
    assert "more, less severe" in check(many._repr_html_(), 30_000)


def test_a_plot_shows_itself_in_a_notebook(found: Any) -> None:
    pytest.importorskip("matplotlib")
    assert found.plot()._repr_png_().startswith(b"\x89PNG")


def test_nothing_judged_is_said(model: ALoRa) -> None:
    few = model.diagnose(rows(5), progress=False)
    assert "nothing could be judged" in repr(few)
    assert "nothing could be judged" in few._repr_html_()
    assert "none could be judged" in str(few)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A notebook's kernel, as far as progress sees of it: its shell and its display."""
    shown: list[str] = []

    class Handle:
        def update(self, page: Any) -> None:
            shown.append(page.data)

    shell = type("Shell", (), {"__module__": "ipykernel.zmqshell"})()
    display: Any = types.ModuleType("IPython.display")
    display.HTML = lambda text: types.SimpleNamespace(data=text)
    display.display = lambda *_, **__: Handle()
    ipython: Any = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    ipython.display = display
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def test_progress_is_shown_in_a_notebook_and_gone_at_the_end(kernel: list[str]) -> None:
    with reporting(None) as report:
        report(Step("fitting", 1, 4, {"loss": 0.5}))
    assert "fitting <progress" in kernel[0]
    assert 'max="4" value="1"' in kernel[0]
    assert kernel[-1] == ""
    kernel.clear()
    with reporting(False) as report:
        report(Step("fitting", 1, 4))
    assert kernel == []
