"""What signals would have been over a whole period, judging by those that behaved."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from alora_ts.report.counterfactual import counterfactual, nearest_incidents
from tests.diagnosis.judges import random_judge
from tests.report.example import diagnosis_of


def made(rows: int = 60):
    values = 0.5 * np.random.default_rng(4).standard_normal((rows, 4))
    for start in (10, 40):
        values[start : start + 4, start // 20] += 20.0
    return diagnosis_of(values, np.zeros_like(values), merge=2)


def test_each_row_is_judged_as_at_the_nearest_incident():
    found = dataclasses.replace(made(), judge=random_judge(0, 4))
    assert len(found.incidents) == 2
    judged = counterfactual(found)
    for row in range(len(found)):
        apart = [max(one.start - row, row - one.end + 1, 0) for one in found.incidents]
        if apart[0] == apart[1]:
            continue
        nearest = found.incidents[int(np.argmin(apart))]
        naive = found.implied(nearest, row, row + 1)[0]
        np.testing.assert_allclose(judged.expected[row], naive, rtol=1e-4, atol=1e-5)


def test_the_blamed_signals_come_first_and_deviate():
    found = made()
    judged = counterfactual(found)
    assert {found.variables[at] for at in judged.order[:2]} == {"x0", "x2"}
    assert (judged.deviation[10:14, 0] > 15).all()


def test_without_incidents_and_without_a_judge():
    found = dataclasses.replace(made(), incidents=())
    assert counterfactual(found).expected.shape == found.values.shape
    alone = counterfactual(dataclasses.replace(found, judge=None))
    np.testing.assert_array_equal(alone.expected, found.expected)


@pytest.mark.parametrize("rows", [1, 60])
def test_every_row_is_nearest_to_one_incident(rows):
    parts = list(nearest_incidents(rows, made().incidents if rows == 60 else ()))
    assert [part[0] for part in parts] == [0, *(part[1] for part in parts[:-1])]
    assert parts[-1][1] == rows
