from __future__ import annotations

from dataclasses import replace

import numpy as np

from alora_ts.report.moments import Clock
from alora_ts.report.story import sentence, summary, tell
from tests.report.example import diagnosis_of, plant_diagnosis, quiet_diagnosis


def spreading(rows=120, lag=3):
    """A jump in x1 at row 60 that x0 follows three rows later, more weakly."""
    expected = 0.001 * np.random.default_rng(0).standard_normal((rows, 3))
    values = np.zeros((rows, 3))
    values[60:80, 1] += 6.0
    values[60 + lag : 80, 0] += 3.0
    return values, expected


def test_the_summary_names_origin_strength_and_spread():
    stamps = np.datetime64("2026-01-05T10:00", "us") + np.arange(120) * np.timedelta64(1, "m")
    names = ("tank1_level", "pump2_flow", "idle")
    found = diagnosis_of(*spreading(), variables=names, timestamps=stamps)
    clock, stories = Clock.of(found), tell(found)
    assert summary(found, stories, clock) == (
        "1 incident; it began at 2026-01-05 11:00 in pump2_flow (above normal), "
        "5 times the alarm level, and reached tank1_level 3 min later."
    )


def test_the_first_to_leave_normal_is_told_before_the_strongest_signal():
    values, expected = spreading()
    values[57:60, 2] = -4.0  # a little earlier, and weaker
    found = diagnosis_of(values, expected)
    story = tell(found)[0]
    said = sentence(story, Clock.of(found))
    assert said.startswith("began at row 57 in x2 (below normal), ")
    assert ", strongest in x1, and reached x1 3 rows later" in said
    assert story.culprit == "x1"


def test_what_was_away_from_the_first_row_on_had_begun_by_then():
    values, expected = spreading()
    found = diagnosis_of(values, expected)
    story = tell(found)[0]
    earlier = replace(story, reached=(replace(story.reached[0], before=True), *story.reached[1:]))
    assert sentence(earlier, Clock.of(found)).startswith("had begun by row 60 in x1 (above normal)")


def test_a_diffuse_incident_is_said_to_be_one():
    values = np.zeros((120, 12))
    values[60:80] += 4.0
    found = diagnosis_of(values, np.zeros((120, 12)))
    assert found.incidents[0].diffuse
    story = tell(found)[0]
    assert story.culprit == "diffuse"
    assert "no clear culprit" in sentence(story, Clock.of(found))
    bare = replace(story, reached=())
    assert "in no single signal" in sentence(bare, Clock.of(found))


def test_simultaneous_signals_are_not_said_to_be_reached():
    found = diagnosis_of(*spreading(lag=0))
    assert "reached" not in sentence(tell(found)[0], Clock.of(found))


def test_several_incidents_tell_the_worst():
    values, expected = spreading()
    values[100:103, 2] = 30.0
    found = diagnosis_of(values, expected)
    said = summary(found, tell(found), Clock.of(found))
    assert said == (
        "2 incidents (1 high, 1 medium); the worst began at row 100 in x2 (above normal), "
        "100 times the alarm level."
    )


def test_no_incident_says_how_near_it_was():
    found = quiet_diagnosis()
    assert tell(found) == ()
    said = summary(found, (), Clock.of(found))
    assert said.startswith("No incident: the score stayed below the alarm level throughout")
    alone = diagnosis_of(np.zeros((2, 1)), np.zeros((2, 1)), warm_up=np.ones(2, dtype=np.bool_))
    assert (
        summary(alone, (), Clock.of(alone))
        == "Nothing could be judged: all rows belong to the warm-up."
    )


def test_an_incident_that_fills_everything_is_told():
    found = diagnosis_of(np.full((20, 2), 9.0), np.zeros((20, 2)))
    assert tell(found)[0].reached[0].row == 0  # before the alarm: warm-up rows are known


def test_the_plant_has_six_stories_with_their_origins_first():
    stories = tell(plant_diagnosis())
    assert len(stories) == 6
    assert stories[0].culprit == "tank1_level"
    assert stories[3].culprit == "tank2_temperature"
    assert stories[4].culprit == "pump2_vibration"
    later = [one.variable for one in stories[0].reached[1:]]
    assert {"valve1_position", "pump1_flow"} <= set(later)
