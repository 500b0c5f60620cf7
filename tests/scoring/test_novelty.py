import numpy as np
import pytest

from alora_ts import ALoRa
from alora_ts.scoring.novelty import Novelty, Recent, learn_novelty
from tests import naive


def _learned(rows=1500, variables=3, seed=0, **more):
    rng = np.random.default_rng(seed)
    normal = rng.normal(size=(rows, variables)).astype(np.float32)
    held = np.arange(rows) >= 0.8 * rows
    weight = more.pop("weight", np.ones(variables))
    return *learn_novelty(normal, None, held_back=held, weight=weight, **more), normal


@pytest.mark.parametrize("variables", [1, 3])
def test_equals_the_slow_twin_across_segments_and_blocks(variables, monkeypatch):
    monkeypatch.setattr("alora_ts.scoring.novelty._ROWS_AT_ONCE", 100)
    learned, _, normal = _learned(variables=variables)
    values = normal[:700].copy()
    values[300:400] *= 3
    values[450:500] = 2.0  # constant
    segments = np.repeat([0, 1, 2, 3], [20, 10, 600, 70])
    slow = naive.novelty(learned, values, segments)
    assert learned.of(values, segments) == pytest.approx(slow, abs=1e-4)


def test_rows_of_training_itself_are_told_as_new_rows_would_be():
    learned, own, normal = _learned()
    assert learned.of(normal, None).min() < -3  # a stretch that was kept
    new = np.random.default_rng(9).normal(size=(1500, 3)).astype(np.float32)
    assert np.median(learned.of(new, None)[255:]) == pytest.approx(np.median(own[255:]), abs=0.15)


def test_sees_a_spread_that_fell_and_a_level_that_creeps():
    learned, own, normal = _learned()
    high = np.quantile(own, 0.999)
    quiet, creeping = normal[:600].copy(), normal[:600].copy()
    quiet[300:] *= 0.2
    creeping[300:, 0] += np.linspace(0, 1.5, 300, dtype=np.float32)
    assert learned.of(quiet, None)[-1] > high
    assert learned.of(creeping, None)[-1] > high
    assert learned.of(normal[:600], None)[-1] < high


@pytest.mark.parametrize("rows", [1, 15, 16, 63, 64, 200, 1023, 1024, 1100])
def test_training_too_short_for_a_length_leaves_it_out(rows):
    normal = np.random.default_rng(0).normal(size=(rows, 2)).astype(np.float32)
    held = np.zeros(rows, dtype=bool)
    learned, own = learn_novelty(normal, None, held_back=held, weight=np.ones(2))
    assert np.isfinite(own).all()
    assert learned.fitting(2) is learned
    assert all(rows >= 4 * length for length in learned.lengths)
    assert np.isfinite(learned.of(normal, None)).all()


def test_constant_and_limited_rows_stay_finite():
    normal = np.zeros((400, 2), dtype=np.float32)
    held = np.arange(400) >= 300
    learned, own = learn_novelty(normal, None, held_back=held, weight=np.ones(2))
    assert (own == 0).all()
    far = np.full((100, 2), 10.0, dtype=np.float32)
    assert np.isfinite(learned.of(far, None)).all()
    assert learned.of(far, None)[-1] > 5


def test_a_stream_says_what_a_table_says_row_by_row_and_in_blocks():
    learned, _, normal = _learned()
    whole = learned.of(normal[:500], None)
    alone, blocks = Recent(learned, 3), Recent(learned, 3)
    one = [alone.push(row, seen) for seen, row in enumerate(normal[:500], start=1)]
    some = [blocks.extend(normal[:30], 1), blocks.extend(normal[30:31], 31)]
    some += [blocks.extend(normal[31:500], 32)]
    assert one == pytest.approx(whole, abs=1e-4)
    assert np.concatenate(some) == pytest.approx(whole, abs=1e-4)
    # After a gap nothing before it counts.
    assert alone.push(normal[0], 1) == 0.0
    assert blocks.extend(normal[:20], 1) == pytest.approx(learned.of(normal[:20], None), abs=1e-4)


def test_a_damaged_file_is_refused():
    learned, _, _ = _learned()
    with pytest.raises(ValueError, match=r"novelty\.center"):
        learned.fitting(4)
    odd = Novelty(
        learned.lengths + 1, learned.center, learned.unit, learned.stretches, learned.usual
    )
    with pytest.raises(ValueError, match="lengths"):
        odd.fitting(3)
    broken = learned.usual * np.nan
    with pytest.raises(ValueError, match="not finite"):
        Novelty(learned.lengths, learned.center, learned.unit, learned.stretches, broken).fitting(3)


def test_only_the_joint_score_hears_it():
    rows = np.random.default_rng(0).normal(size=(300, 2))
    small = {"window": 4, "epochs": 1, "epoch_windows": 64}
    assert ALoRa(**small).fit(rows).model_.novelty is not None
    assert ALoRa(**small, scoring="refined").fit(rows).model_.novelty is None
    with pytest.warns(FutureWarning):
        assert ALoRa(**small, alarm_share=0.02).fit(rows).model_.novelty is None
