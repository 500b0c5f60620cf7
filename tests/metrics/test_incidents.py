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
        count, true, met, normal, delay = naive.judged_incidents(label, alarm, gap, widening)
        assert found.false[at] == count - true
        assert found.precision[at] == pytest.approx(true / count)
        assert found.recall[at] == pytest.approx(met / events)
        once = judge_incidents(label, alarm, gap=gap, widening=widening)
        assert (once.incidents, once.true, once.found) == (count, true, met)
        assert once.alarmed_rows == normal
        assert once.f1 == pytest.approx(found.f1[at])
        assert once.delay == (None if delay is None else pytest.approx(delay))
    worth = found.front()
    for false in range(int(found.false.max()) + 1):
        most = max(found.recall[found.false <= false], default=0.0)
        assert max(worth.recall[worth.false <= false], default=0.0) == most
    assert (np.diff(worth.recall) > 0).all()
    assert (np.diff(worth.false) > 0).all()


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
    first = [(one.choice, one.name) for one in found.measures[:5]]
    assert first[0] == ("given threshold", "incident F1")
    assert first[4] == ("best threshold", "incident F1")
    assert (found.gap, found.widening) == (10, 20)
    assert "at most 10 rows apart" in found.said_of_incidents
    assert found["given threshold", "incident F1"].value == 1
    assert found["given threshold", "false incidents per 1,000 rows"].value == 0
    assert found["best threshold", "events found at 0.2 false per 1,000 rows"].value == 1


def test_alarms_stand_for_a_threshold() -> None:
    rng = np.random.default_rng(0)
    label = np.repeat([0, 1, 0], [400, 40, 160])
    score = rng.normal(size=600) + label
    options = {"window": 10, "repeats": 2, "seconds_per_row": 60.0}
    by_level = evaluate(label, score, threshold=1.5, **options)
    by_alarm = evaluate(label, score, alarm=score > 1.5, **options)
    assert by_level.measures == by_alarm.measures
    alone = evaluate(label, score, alarm=score > 1.5, incidents_only=True, **options)
    assert alone.measures == by_alarm.measures[: len(alone.measures)]
    assert all("incident" in one.name or "found" in one.name for one in alone.measures)
    with pytest.raises(AloraError, match="a threshold or alarms, not both"):
        evaluate(label, score, threshold=1.5, alarm=score > 1.5)
    with pytest.raises(DataError, match="alarm"):
        evaluate(label, score, alarm=[0, 1])


def test_a_judgement_says_what_it_counted() -> None:
    label = np.repeat([0, 1, 0], [100, 10, 90])
    alarm = np.repeat([0, 1, 0, 1, 0], [20, 5, 77, 3, 95])
    told = str(judge_incidents(label, alarm, widening=5, seconds_per_row=60))
    assert told.startswith(
        "1 of 1 events found, 120 s after their start on average, by 2 incidents"
    )
    assert "1 are false (5.26 per 1,000 normal rows, 7.58 a day); incident F1 0.67" in told
    assert told.endswith("within 5 rows of one.")
    assert "a day" not in str(judge_incidents(label, alarm))
