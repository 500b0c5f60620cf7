"""Pictures of docs/quality-origins.md: ``python benchmarks/origin_figures.py``.

The first shows one fault of one of the systems of benchmarks/origins.py, chosen because the
largest error is not at its origin; the second draws results/origins.jsonl.
"""

from __future__ import annotations

import json
from pathlib import Path

import matplotlib as mpl
import numpy as np
import torch
from matplotlib.figure import Figure

from alora_ts import ALoRa
from alora_ts.data import window_view
from origin_systems import KINDS, record
from origins import residuals

IMAGES = Path(__file__).parents[1] / "docs" / "images"
RESULTS = Path(__file__).parents[1] / "results" / "origins.jsonl"
BLUE, HOT, SOFT, INK = "#2563a8", "#c2410c", "#8a94a3", "#1f2937"
FAMILY, SYSTEM, FAULT, SHOWN = "linear", 1000, 4, 4

mpl.rcParams |= {"font.size": 11, "axes.spines.top": False, "axes.spines.right": False}


def save(figure: Figure, name: str) -> None:
    """Write a picture on white, which both themes of the site show alike."""
    figure.savefig(IMAGES / name, facecolor="white", dpi=110, metadata={"Software": None})


def draw_one_fault() -> None:
    """Signals, errors and surprises of an origin and of what it reached."""
    data = record(FAMILY, SYSTEM)
    model = ALoRa().fit(data.train, progress=False).model_
    values, residual, _ = residuals(model, data.test)
    error = model.calibration.rule.error(residual)
    assert model.mechanisms is not None
    lags = model.mechanisms.lags
    surprise = np.full_like(values, np.nan)
    surprise[lags:] = model.mechanisms.residuals(window_view(values, lags + 1))[:, 0]
    fault = data.faults[FAULT]
    rows = np.arange(fault.start - 40, fault.end + 40)
    inside = slice(fault.start, fault.end)
    worst = sorted(data.reached[FAULT], key=lambda v: -error[inside, v].mean())
    shown = [fault.origin, *worst[: SHOWN - 1]]
    figure = Figure(figsize=(11, 7), layout="constrained")
    panels = figure.subplots(len(shown), 3, sharex=True, sharey="col")
    at = rows - fault.start
    for line, variable in zip(panels, shown, strict=True):
        colour = HOT if variable == fault.origin else BLUE
        line[0].plot(at, values[rows, variable], color=colour, lw=1.2)
        line[1].plot(at, np.sqrt(error[rows, variable]), color=colour, lw=1.2)
        line[2].plot(at, surprise[rows, variable], color=colour, lw=1.2)
        role = "origin" if variable == fault.origin else "reached"
        line[0].set_ylabel(f"signal {variable}\n({role})", color=colour)
        for panel in line:
            panel.axvspan(0, fault.end - fault.start, color=SOFT, alpha=0.15, lw=0)
    for panel, title in zip(
        panels[0],
        (
            "measured (scaled)",
            "error of the network\n(in normal sizes)",
            "surprise given the rows before",
        ),
        strict=True,
    ):
        panel.set_title(title, fontsize=11, color=INK)
    for panel in panels[-1]:
        panel.set_xlabel("rows after the fault began")
    save(figure, "origins-one-fault.png")


def draw_kinds() -> None:
    """HR@1 by kind of fault."""
    named, *faults = map(json.loads, RESULTS.read_text().splitlines())
    outcomes = [fault for fault in faults if fault["family"] != "library"]
    forms = {
        "paper": ("LAS of the paper", SOFT),
        "squared input, remembered": ("squared input, remembered", "#b8c4d6"),
        "error, remembered": ("error, remembered", BLUE),
        "origin": ("origin", HOT),
    }
    figure = Figure(figsize=(10, 4), layout="constrained")
    axes = figure.subplots()
    for place, (form, (label, colour)) in enumerate(forms.items()):
        heights = [
            np.mean(
                [o["hits"][named["forms"].index(form)][1] for o in outcomes if o["kind"] == kind]
            )
            for kind in KINDS
        ]
        axes.bar(
            np.arange(len(KINDS)) + 0.2 * place - 0.3, heights, 0.19, color=colour, label=label
        )
    axes.set_xticks(range(len(KINDS)), KINDS)
    axes.set_ylim(0, 1)
    axes.set_ylabel("faults whose origin ranks first")
    figure.legend(loc="outside upper center", ncols=4, frameon=False)
    save(figure, "origins-kinds.png")


if __name__ == "__main__":
    torch.set_num_threads(1)
    draw_one_fault()
    draw_kinds()
