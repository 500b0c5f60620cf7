from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alora_ts.errors import AloraError, DataError
from alora_ts.metrics import evaluate, incident_curve, judge_incidents
from tests.metrics import naive_metrics as naive

rows = st.integers(2, 40)


@st.composite
def cases(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    n = draw(rows)
    label = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    label[draw(st.integers(0, n - 2))] = True
    label[-1] = False
    score = draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.5]), min_size=n, max_size=n))
    return label, np.array(score)


@settings(max_examples=150, deadline=None)
@given(cases(), st.integers(0, 4), st.integers(0, 3))
def test_every_threshold_equals_the_twin(
    case: tuple[np.ndarray, np.ndarray], gap: int, widening: int
) -> None:
    label, score = case
    found = incident_curve(label, score, gap=gap, widening=widening)
    assert len(found.threshold) == len(np.unique(score))
    events = len(naive.incidents(label, 0))
    for at, threshold in enumerate(found.threshold):
        alarm = score > threshold
        count, true, met, normal = naive.judged_incidents(label, alarm, gap, widening)
        assert found.false[at] == count - true
        assert found.precision[at] == pytest.approx(true / count)
        assert found.recall[at] == pytest.approx(met / events)
        once = judge_incidents(label, alarm, gap=gap, widening=widening)
        assert (once.incidents, once.true, once.found) == (count, true, met)
        assert once.alarmed_rows == normal
        assert once.f1 == pytest.approx(found.f1[at])


def test_no_alarm_finds_nothing() -> None:
    judged = judge_incidents([0, 1, 0], [0, 0, 0])
    assert (judged.f1, judged.precision, judged.recall, judged.false) == (0, 0, 0, 0)
    assert judged.per_day is None


def test_an_endless_alarm_is_one_false_incident() -> None:
    label = np.zeros(1000, dtype=bool)
    label[500:510] = True
    judged = judge_incidents(label, np.ones(1000), seconds_per_row=86.4)
    assert (judged.false, judged.recall, judged.normal_share) == (1, 0.0, 1.0)
    assert judged.per_day == pytest.approx(1000 / 990)


def test_bad_input_is_refused() -> None:
    with pytest.raises(DataError, match="marks no event"):
        judge_incidents([0, 0], [0, 1])
    with pytest.raises(AloraError, match="gap must be 0 or more"):
        judge_incidents([0, 1], [0, 1], gap=-1)
    with pytest.raises(AloraError, match="widening must be 0 or more"):
        incident_curve([0, 1], [0.0, 1.0], widening=-1)


def test_an_evaluation_tells_them_first() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 0], [400, 40, 160])
    found = evaluate(label, rng.normal(size=600) + 9 * label, threshold=5.0, window=10, repeats=2)
    assert (found.measures[0].choice, found.measures[0].name) == ("best threshold", "incident F1")
    assert found["given threshold", "incident F1"].value == 1
    assert found["given threshold", "false incidents per 1,000 rows"].value == 0
    assert found["best threshold", "events found at 0.2 false per 1,000 rows"].value == 1
