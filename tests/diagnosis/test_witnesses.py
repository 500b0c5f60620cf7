"""Which witness spoke: shares of a product, the same from tables, streams and old files."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from alora_ts import ALoRa
from alora_ts.data import as_table
from alora_ts.diagnosis.fields import describe, facts
from alora_ts.diagnosis.witnesses import Witnesses
from alora_ts.model.diagnose import diagnose_part
from alora_ts.model.surprise import surprise_of
from alora_ts.scoring.novelty import weigh


def plant(rows: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    at = np.arange(rows)
    load = np.sin(at / 9) + 0.3 * np.sin(at / 31)
    return np.column_stack([load, 1 - load, 0.5 * load]) + 0.1 * rng.normal(size=(rows, 3))


@pytest.fixture(scope="module")
def model() -> ALoRa:
    options = {"window": 8, "epochs": 2, "epoch_windows": 640, "drift_memory": 200}
    return ALoRa(false_alarms="1 per 500 rows", **options).fit(plant(3000, 0), progress=False)


@pytest.fixture(scope="module")
def faulty() -> np.ndarray:
    table = plant(1200, 1)
    table[300:303, 1] += 8  # a jump
    table[600:900, 0] = table[600, 0]  # a gauge that is stuck
    return table


def naive_shares(
    known: Witnesses, raw: float, lift: float, surprise: float, beyond: float
) -> dict[str, float]:
    """The parts of the logarithm, one by one, from S itself rather than from its variables."""
    usual_surprise = known.rule.weight.sum()
    parts = {
        "surprise": math.log(surprise / usual_surprise) / 3,
        "range": math.log(raw / max(raw - known.level * beyond, known.usual)),
        "novelty": math.log(lift),
    }
    parts["network"] = math.log(raw * lift / known.usual) - sum(parts.values())
    spoke = {name: part for name, part in parts.items() if part > 0}
    return {name: part / sum(spoke.values()) for name, part in spoke.items()}


def test_shares_are_those_of_the_twin(model: ALoRa, faulty: np.ndarray) -> None:
    fitted = model.model_
    known = fitted.witnesses
    assert known is not None
    _, block = diagnose_part(fitted, as_table(faulty), segments=None, report=lambda _: None)
    assert block.heard is not None
    prepared, values, _ = fitted.prepare(as_table(faulty), None)
    free = prepared.values
    assert fitted.bounds is not None
    surprise = surprise_of(fitted, values, block.warm_up)
    assert surprise is not None
    found = model.diagnose(faulty, progress=False).incidents
    assert len(found) >= 2
    for incident in found:
        at = incident.peak
        wanted = naive_shares(
            known,
            float(block.heard.raw[at]),
            float(block.heard.lift[at]),
            float(surprise[at]),
            float(fitted.bounds.each(free[at]).max()),
        )
        shares = {one.name: one.share for one in incident.witnesses}
        assert set(shares) == set(wanted)
        assert_allclose([shares[name] for name in wanted], list(wanted.values()), rtol=1e-6)
        assert math.isclose(sum(shares.values()), 1.0)
        # Without a witness a score falls by its part, or by more where what is usual is taken off.
        lift = float(block.heard.lift[at])
        for one in incident.witnesses:
            if one.name == "novelty":
                assert one.decisive == (incident.score / lift <= 1)
                if one.decisive:
                    assert block.shift is not None
                    alone = block.heard.raw[at] / known.level - block.shift[at]
                    assert alone <= 1 + 1e-9
        assert list(shares.values()) == sorted(shares.values(), reverse=True)


def test_a_lift_is_what_novelty_did_to_the_score(model: ALoRa, faulty: np.ndarray) -> None:
    """Followed row by row; where a storm lowers scores, the lift is never more than it was."""
    fitted = model.model_
    assert fitted.novelty is not None
    _, block = diagnose_part(fitted, as_table(faulty), segments=None, report=lambda _: None)
    assert block.heard is not None
    _, values, _ = fitted.prepare(as_table(faulty), None)
    novelty = fitted.novelty.of(values, None)
    level = fitted.calibration.level()
    lifts = []
    for raw, early, new in zip(
        block.heard.raw.tolist(), block.warm_up.tolist(), novelty.tolist(), strict=True
    ):
        lasting = max(level._novelties.now - level._novelties.usual, 0.0)  # type: ignore[union-attr]
        lifts.append(weigh(new - lasting))
        level.step(raw, early, new)
    exact = np.array(lifts)
    assert block.shift is not None
    # A row far below what is usual never alarms; its score is held at a hundredth.
    seen = block.heard.raw * exact / fitted.calibration.threshold.value
    told = seen - block.shift > 0.01 * seen
    assert told[block.score > 0.1].all()
    assert (block.heard.lift[told] <= exact[told] * (1 + 1e-9)).all()
    assert (block.heard.lift >= 1).all()
    calm = np.arange(len(exact)) < 300  # before the first incident there is no storm
    assert_allclose(block.heard.lift[calm], exact[calm], rtol=1e-6)
    assert (exact[calm] > 1).any()


def test_each_fault_is_seen_by_whom_it_concerns(model: ALoRa, faulty: np.ndarray) -> None:
    found = model.diagnose(faulty, progress=False).incidents
    jump = next(one for one in found if 300 <= one.start < 310)
    stuck = [one for one in found if 600 <= one.start < 900]
    assert "surprise" in [one.name for one in jump.witnesses]
    assert any(one.witnesses[0].name == "novelty" for one in stuck)
    new = next(one for one in stuck[0].witnesses if one.name == "novelty")
    assert new.text == "unlike any stretch of training over the last 4 to 256 rows"
    told = {fact.label: fact.text for fact in facts(describe(jump))}
    first = jump.witnesses[0]
    assert told["seen by"].startswith(f"{first.text} ({100 * first.share:.0f} %)")
    faint: list[dict[str, object]] = [
        {"name": "network", "share": 0.9, "text": "a", "decisive": True},
        {"name": "novelty", "share": 0.1, "text": "b", "decisive": True},
    ]
    [fact] = facts({"witnesses": faint})
    assert (fact.text, fact.note) == (
        "a (90 %); b (10 %)",
        "Without the novelty it would not have alarmed.",
    )
    faint[1]["decisive"] = False
    [fact] = facts({"witnesses": faint})
    assert (fact.text, fact.note) == ("a (90 %)", "")
    known = model.model_.witnesses
    assert known is not None
    alone = replace(known, stretches=(4, 4)).speak(
        known.usual, 3.0, np.zeros(3), score=2.0, row=np.zeros(3)
    )
    assert "over the last 4 rows" in next(one.text for one in alone if one.name == "novelty")
    # What a store kept before witnesses were known is told without them.
    assert not any(fact.label == "seen by" for fact in facts({"culprits": [], "changed": None}))


def test_a_stream_hears_what_a_table_says(model: ALoRa, faulty: np.ndarray) -> None:
    fitted = model.model_
    known = fitted.witnesses
    assert known is not None
    _, block = diagnose_part(fitted, as_table(faulty), segments=None, report=lambda _: None)
    assert block.heard is not None
    readings = model.stream().push_many(faulty)
    said = (
        np.array([getattr(reading, name) for reading in readings])
        for name in ("raw", "drift", "shift", "novelty")
    )
    heard = known.hear(*said)
    full = ~block.warm_up
    assert_allclose(heard.raw[full], block.heard.raw[full], rtol=1e-4)
    assert_allclose(heard.lift[full], block.heard.lift[full], rtol=1e-4)


def test_a_score_with_one_witness_names_none(faulty: np.ndarray) -> None:
    quick = {"window": 8, "epochs": 1, "epoch_windows": 64}
    for scoring in ("refined", "paper"):
        model = ALoRa(scoring=scoring, threshold="quantile", **quick)
        with pytest.warns(FutureWarning, match="count alarming rows"):
            model.fit(plant(600, 0), progress=False)
        found = model.diagnose(faulty, progress=False)
        assert found.incidents
        assert all(one.witnesses == () for one in found.incidents)
        assert describe(found.incidents[0])["witnesses"] is None


def test_rows_explained_on_demand_have_witnesses(model: ALoRa, faulty: np.ndarray) -> None:
    assert model.explain(faulty, 300, 303).witnesses
    bare = replace(model.diagnose(faulty, progress=False).incidents[0], witnesses=())
    assert describe(bare)["witnesses"] is None
