from __future__ import annotations

import io
import sys

import numpy as np
import pytest

from alora_ts.errors import AloraError, DataError
from alora_ts.report.plot import plot_diagnosis
from alora_ts.report.sampling import sample_rows
from tests.report.example import diagnosis_of, plant_diagnosis, quiet_diagnosis


def drawn(figure):
    figure.savefig(io.BytesIO(), format="png", dpi=40)
    return figure.axes


def test_the_whole_period_shows_score_and_the_worst_culprits():
    axes = drawn(plot_diagnosis(plant_diagnosis()))
    titles = [ax.get_title(loc="left") for ax in axes]
    assert titles[:2] == ["score, in times of the alarm level", "tank1_level"]
    assert len(titles) == len(set(titles)) == 5
    assert "pump2_vibration" in titles
    assert all(len(ax.patches) == 6 for ax in axes)
    levels = [line for line in axes[0].lines if line.get_linestyle() == "--"]
    assert levels[0].get_ydata() == [1.0, 1.0]


def test_one_incident_shows_its_own_rows_and_culprits():
    found = plant_diagnosis()
    axes = drawn(plot_diagnosis(found, incident=3))
    assert axes[1].get_title(loc="left") == "tank2_temperature"
    incident = found.incidents[3]
    moments = axes[0].lines[0].get_xdata()
    assert moments[0] < np.datetime64(incident.start_time)
    assert moments[-1] > np.datetime64(incident.end_time)
    assert len(axes[0].patches) == 1


def test_odd_diagnoses_can_be_drawn():
    assert len(drawn(plot_diagnosis(quiet_diagnosis()))) == 1
    assert len(drawn(plot_diagnosis(diagnosis_of(np.full((30, 2), 9.0), np.zeros((30, 2)))))) == 2
    assert len(drawn(plot_diagnosis(diagnosis_of(np.full((2, 1), 9.0), np.zeros((2, 1)))))) == 2


def test_a_missing_incident_or_package_is_explained(monkeypatch):
    with pytest.raises(DataError, match="no incident 0; the diagnosis has none"):
        plot_diagnosis(quiet_diagnosis(), incident=0)
    with pytest.raises(DataError, match="choose 0 to 5"):
        plot_diagnosis(plant_diagnosis(), incident=6)
    monkeypatch.setitem(sys.modules, "tsdownsample", None)
    with pytest.raises(AloraError, match=r"alora-ts\[plot\]"):
        sample_rows(np.zeros(100), points=10)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(AloraError, match=r"alora-ts\[plot\]"):
        plot_diagnosis(quiet_diagnosis())
