from __future__ import annotations

import numpy as np
import pytest

from alora_ts import ALoRa
from alora_ts.diagnosis.builder import Block, IncidentBuilder
from alora_ts.diagnosis.fields import describe, facts
from alora_ts.diagnosis.returns import ReturnPeriod
from tests.diagnosis.judges import plain_details, plain_judge
from tests.model.test_estimator import QUICK, plant


@pytest.mark.parametrize(
    ("period", "said"),
    [
        (ReturnPeriod(1.0), "once in 1 row"),
        (ReturnPeriod(1234.6), "once in 1,235 rows"),
        (ReturnPeriod(9.0, 45.0), "once in 45 seconds"),
        (ReturnPeriod(9.0, 600.0), "once in 10 minutes"),
        (ReturnPeriod(9.0, 86_400.0), "once in 24 hours"),
        (ReturnPeriod(9.0, 200 * 86_400.0, more=True), "less than once in 200 days"),
    ],
)
def test_periods_in_words(period: ReturnPeriod, said: str) -> None:
    assert str(period) == said


def block(score: np.ndarray, shift: np.ndarray) -> Block:
    values, judge = np.full((len(score), 1), 9.0), plain_judge(1)
    return Block(
        score,
        score,
        np.zeros(len(score), dtype=bool),
        lambda rows: plain_details(values, rows, judge),
        shift=shift,
    )


@pytest.mark.parametrize("cut", [1, 4, 9, 11, 12, 13, 20])
def test_a_lasting_change_is_told_wherever_blocks_are_cut(cut: int) -> None:
    score = np.r_[np.zeros(2), np.full(8, 3.0), np.zeros(10)]
    shift = np.r_[np.zeros(10), np.full(10, 2.5)]
    builder = IncidentBuilder(["flow"], merge=1, minimum=1)
    last = {}
    for start in (0, cut):
        end = cut if start == 0 else len(score)
        for one in builder.push(block(score[start:end], shift[start:end])).incidents:
            last[one.start] = one
    [incident] = last.values()
    assert incident.changed
    said = facts(describe(incident))
    assert said[0].label == "the system has changed"
    assert said[0].text == "flow above by 9"


def test_an_incident_during_which_nothing_moved_is_no_change() -> None:
    score = np.r_[np.zeros(2), np.full(8, 3.0), np.zeros(10)]
    for shift in (np.zeros(20), np.full(20, 4.0)):
        [incident] = (
            IncidentBuilder(["flow"], merge=1, minimum=1).push(block(score, shift)).incidents
        )
        assert not incident.changed
        labels = [fact.label for fact in facts(describe(incident))]
        assert "the system has changed" not in labels


def test_incidents_and_readings_say_how_unusual_they_are() -> None:
    model = ALoRa(**QUICK).fit(plant(600))
    today = plant(100)
    today[60:70, 1] += 50
    found = model.diagnose(today)
    worst = max(found.incidents, key=lambda incident: incident.score)
    assert worst.returns is not None
    assert worst.returns.more
    tail = model.model_.calibration.threshold.tail
    assert tail is not None
    assert worst.returns.rows == tail.longest
    assert "less than once in" in str(found)
    readings = model.stream().push_many(today)
    assert readings[65].returns is not None
    assert readings[65].returns.rows >= readings[20].returns.rows  # type: ignore[union-attr]


def test_a_lasting_shift_is_one_incident_called_changed() -> None:
    model = ALoRa(**QUICK, drift_memory=200, merge=20).fit(plant(1500))
    later = plant(900)
    later[300:, 1] += 6
    changed = [incident for incident in model.diagnose(later).incidents if incident.changed]
    assert len(changed) == 1
    assert 300 <= changed[0].start < 320
    assert changed[0].end < 900
    assert changed[0].culprits[0].variable == "x1"
