"""Figures that need no results: fits of tiny networks on the simulated set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from alora_ts.bench.figures import (
    FIGURES,
    Drawn,
    LeftOut,
    MissingMaterialError,
    Workshop,
    adjustment,
    after_event,
    anomaly_types,
    contributions,
    draw_figures,
    parameters,
    rank_layers,
    rank_level,
    simulated,
)
from alora_ts.bench.figures.style import save
from alora_ts.bench.figures.workshop import spectra
from alora_ts.bench.simulation import run_simulation
from alora_ts.cli.main import app
from alora_ts.errors import AloraError
from alora_ts.metrics import point_adjusted

TINY = {
    "window": 6,
    "architecture__layers": 2,
    "architecture__heads": 2,
    "pairs": 12,
    "epochs": 1,
    "epoch_windows": 96,
}


@pytest.fixture(scope="module")
def workshop() -> Workshop:
    return Workshop(root=Path("nowhere"), place="synthetic/clear-faults", parameters=TINY)


def _saved(figure, folder: Path) -> None:
    # Vector formats draw the same; SVG is the quickest, and warnings are errors here.
    save(figure, folder / "one.svg")
    assert (folder / "one.svg").stat().st_size > 5000


def test_rank_per_layer_counts_what_an_svd_counts(workshop, tmp_path):
    found = rank_layers.measure(workshop)
    assert [one.shape[1] for one in found.normal] == [2, 2]
    own = [
        workshop.fitted(**changes).model_.calibration.rank_level
        for changes in ({"training__low_rank_weight": 0.0}, {})
    ]
    assert list(found.levels) == own
    assert own[0] != own[1]
    assert all((one >= 1).all() and (one <= 6).all() for one in found.normal + found.anomalous)
    assert "with it" in found.caption
    _saved(rank_layers.draw(found), tmp_path)


@pytest.mark.parametrize(
    ("without", "with_penalty", "said"),
    [
        ([1, 2], [3, 3], "separates more"),
        ([3, 3], [1, 2], "separates less"),
        ([1, 3], [1, 3], "differ by less than 0.02"),
    ],
)
def test_the_caption_of_ranks_concludes_from_what_was_measured(without, with_penalty, said):
    normal, bad = np.array([[1], [2]]), (np.array([without]).T, np.array([with_penalty]).T)
    found = rank_layers.RankLayers("a place", (0.1, 0.2), (normal, normal), bad)
    expected = [
        np.mean([(b > n) + 0.5 * (b == n) for b in one[:, 0] for n in normal[:, 0]]) for one in bad
    ]
    assert found.separation == pytest.approx(expected)
    assert said in found.caption
    assert "0.1 without the penalty, 0.2 with it" in found.caption


@pytest.mark.parametrize(("chosen", "said"), [(0.1, "needs another"), (0.011, "1.1 times")])
def test_the_caption_of_h1_concludes_from_what_was_measured(chosen, said):
    values = np.full(4, 0.02)
    found = rank_level.RankLevel("SMD x", values, values, chosen, "max-4th", 1e-2)
    assert said in found.caption
    assert ("needs another" in found.caption) == (said == "needs another")
    assert "100.0%" in found.caption


def test_spectra_are_those_of_each_window_alone(workshop):
    import torch

    model, data = workshop.fitted(), workshop.data
    ends = np.array([5, 100, 431])
    found = spectra(model, data.test, data.test_segments, ends)
    fitted = model.model_
    scaled = fitted.prepare(fitted.preparation.read(data.test), None)[1]
    for at, end in enumerate(ends):
        window = torch.from_numpy(scaled[end - 5 : end + 1].copy())[None]
        for layer, attention in enumerate(fitted.network(window).attention):
            expected = np.linalg.svd(attention[0].detach().double().numpy(), compute_uv=False)
            np.testing.assert_allclose(found[at, layer], expected, atol=1e-5)


def test_h1_shows_the_published_value_where_there_is_one(workshop, tmp_path):
    found = rank_level.measure(workshop)
    assert (found.fourth >= found.fifth).all()
    assert found.published is None
    assert found.chosen == pytest.approx(found.fourth.max(), rel=0.2)
    printed = rank_level.RankLevel("SMD x", found.fourth, found.fifth * 0, 0.1, "max-4th", 1e-2)
    assert "published 0.01" in printed.caption
    _saved(rank_level.draw(printed), tmp_path)


def test_h1_needs_a_fifth_singular_value():
    shop = Workshop(root=Path(), place="synthetic/clear-faults", parameters={**TINY, "window": 4})
    with pytest.raises(MissingMaterialError, match="fifth"):
        rank_level.measure(shop)


def test_contributions_show_the_models_weights(workshop, tmp_path):
    found = contributions.measure(workshop)
    np.testing.assert_array_equal(found.weights, workshop.fitted().contributions_.reconstruction)
    _saved(contributions.draw(found), tmp_path)


@pytest.mark.parametrize("d", [1, 2, 50])
def test_contributions_of_few_and_of_many_variables(d, tmp_path):
    weights = np.random.default_rng(0).normal(size=(d, d))
    names = tuple(f"a rather long name {at}" for at in range(d))
    _saved(contributions.draw(contributions.Contributions("x", names, weights)), tmp_path)


def test_after_event_follows_both_paddings(workshop, tmp_path):
    found = after_event.measure(workshop)
    assert list(found.falls) == ["circular", "reflect"]
    assert found.falls["circular"].ranks.shape[1] == 4 * 6
    assert "within T rows" in found.caption
    _saved(after_event.draw(found), tmp_path)


def test_falls_leave_out_events_without_room():
    label = np.zeros(100, dtype=bool)
    label[[20, 30, 31, 95]] = True
    rank = np.ones(100)
    rank[28:40] = 4.0
    one = after_event.follow_falls(rank, label, np.zeros(100, dtype=np.int64), 5)
    # The first event is followed by another too soon, the last by the end.
    assert one.ranks.shape == (1, 20)
    np.testing.assert_array_equal(one.ranks[0], rank[27:47])
    assert one.back.tolist() == [9.0]
    parts = np.repeat([0, 1], [33, 67]).astype(np.int64)
    assert len(after_event.follow_falls(rank, label, parts, 5).ranks) == 0


def test_a_rank_that_stays_up_is_reported():
    label = np.zeros(300, dtype=bool)
    label[30:35] = True
    rank = np.ones(300)
    rank[30:50] = 4.0
    fall = after_event.follow_falls(rank, label, np.zeros(300, dtype=np.int64), 4)
    assert np.isnan(fall.back).all()
    caption = after_event.AfterEvent("x", 4, {"circular": fall}).caption
    assert "after 0 of these 1" in caption


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40).filter(
        lambda rows: any(label for label, _ in rows)
    )
)
def test_adjusted_alarms_are_those_of_the_metric(rows):
    label, alarm = (np.array(one, dtype=bool) for one in zip(*rows, strict=True))
    adjusted = adjustment.point_adjusted_alarms(label, alarm)
    expected = point_adjusted(label, alarm, i_know_it_misleads=True)
    hit = int((adjusted & label).sum())
    assert expected.recall == pytest.approx(hit / label.sum())
    assert expected.precision == pytest.approx(hit / max(adjusted.sum(), 1))


def test_random_scores_do_well_under_point_adjustment(workshop, tmp_path):
    found = adjustment.measure(workshop)
    assert found.draws.shape == (20, 2)
    assert found.draws[0, 0] == found.random.adjusted
    assert 0 < found.draws.min() <= found.draws.max() <= 1
    _saved(adjustment.draw(found), tmp_path)


def test_every_kind_of_anomaly_has_its_panel(tmp_path):
    shop = Workshop(
        root=Path(),
        parameters={
            **TINY,
            "architecture__heads": 1,
            "architecture__layers": 1,
            "epoch_windows": 64,
        },
    )
    found = anomaly_types.measure(shop)
    assert len(found.kinds) == 17
    assert all(one.ranks.shape == (5, 180) for one in found.kinds)
    assert "of the 17 kinds" in found.caption
    figure = anomaly_types.draw(found)
    assert [axes.get_title(loc="left") for axes in figure.axes[:2]] == [
        "global point",
        "contextual point",
    ]
    _saved(figure, tmp_path)


def test_parameters_are_those_of_the_printed_table(tmp_path):
    found = parameters.measure(Workshop(root=Path()))
    at = {d: i for i, d in enumerate(found.variables.tolist())}
    for kind, printed in parameters._PUBLISHED_EMBEDDING.items():
        for d, count in printed.items():
            if d in at:
                assert found.embedding[kind][at[d]] == count
    for d, millions in parameters._PUBLISHED_ALL.items():
        assert found.total["pairs"][at[d]] == pytest.approx(millions, rel=0.05)
    _saved(parameters.draw(found), tmp_path)


def test_simulation_is_drawn(tmp_path):
    _saved(simulated.draw(run_simulation(runs=2, whole=False, progress=False)), tmp_path)


def test_fits_are_shared_and_reported():
    steps: list[str] = []
    shop = Workshop(
        root=Path(),
        place="synthetic/clear-faults",
        parameters=TINY,
        report=lambda step: steps.append(step.task),
    )
    assert shop.fitted() is shop.fitted(architecture__padding="circular")
    assert shop.fitted() is not shop.fitted(architecture__padding="reflect")
    assert any("architecture__padding=reflect" in task for task in steps)


def test_without_data_the_simulated_set_is_taken(tmp_path):
    assert Workshop(root=tmp_path).place == "synthetic clear-faults"


def test_default_is_an_smd_machine(real_data):
    assert Workshop(root=real_data).place == "SMD machine-1-6"


def test_what_is_missing_is_listed_and_left_out(tmp_path):
    shop = Workshop(root=tmp_path)
    seen: list[Drawn | LeftOut] = []
    done = draw_figures(
        shop,
        tmp_path / "new" / "out",
        only=["window-size", "parameters", "embedding", "scores"],
        formats=["svg"],
        tell=seen.append,
    )
    assert done == seen
    assert [one.name for one in done if isinstance(one, LeftOut)] == [
        "scores",
        "window-size",
        "embedding",
    ]
    written = sorted(path.name for path in (tmp_path / "new" / "out").iterdir())
    assert written == ["captions.md", "parameters.svg"]
    text = (tmp_path / "new" / "out" / "captions.md").read_text()
    assert "![Learned weights" in text
    assert "Left out: needs results of the study 'window'" in text


def test_captions_of_figures_drawn_before_stay(tmp_path):
    workshop = Workshop(root=tmp_path)
    draw_figures(workshop, tmp_path, only=["parameters", "window-size"], formats=["png"])
    before = (tmp_path / "captions.md").read_text()
    assert before.index("## Learned weights") < before.index("## F1 against the window size")
    draw_figures(workshop, tmp_path, only=["parameters"], formats=["png"])
    assert (tmp_path / "captions.md").read_text() == before
    draw_figures(workshop, tmp_path, only=["scores"], formats=["png"])
    text = (tmp_path / "captions.md").read_text()
    assert text.count("Left out: ") == before.count("Left out: ") + 1
    assert text.count("## ") == before.count("## ") + 1


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (["--only", "score"], "no figure 'score'; did you mean 'scores'"),
        (["--format", "pgn"], "no format 'pgn'; did you mean 'png'"),
        (["--preset", "papre"], "did you mean 'paper'"),
        (["--data", "nowhere"], "--data nowhere is not a folder"),
        (["--only", "h1", "--entity", "synthetic/typs"], "no preset 'typs'; did you mean 'types'"),
        (["no-results", "--only", "scores"], "there are no results in no-results"),
    ],
)
def test_mistakes_are_named(tmp_path, monkeypatch, asked, said):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["bench", "figures", "--out", "out", *asked])
    assert isinstance(done.exception, AloraError), done.output
    assert said in str(done.exception)


def test_command_needs_a_folder_and_lists_names():
    assert CliRunner().invoke(app, ["bench", "figures"]).exit_code == 2
    listed = CliRunner().invoke(app, ["bench", "figures", "--list"])
    assert listed.exit_code == 0
    assert all(name in listed.output for name in FIGURES)


def test_command_draws_and_says_where(tmp_path):
    asked = ["bench", "figures", "--only", "parameters,scores", "--out", str(tmp_path)]
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    assert "1 of 2 drawn" in done.output
    assert "scores left out" in done.output
    assert (tmp_path / "parameters.pdf").read_bytes()[:4] == b"%PDF"
    assert (tmp_path / "parameters.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
def test_equal_figures_give_equal_files(tmp_path, ending):
    found = parameters.measure(Workshop(root=tmp_path))
    for name in ("one", "two"):
        save(parameters.draw(found), tmp_path / f"{name}.{ending}")
    assert (tmp_path / f"one.{ending}").read_bytes() == (tmp_path / f"two.{ending}").read_bytes()


def test_a_folder_that_cannot_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AloraError, match="cannot write figures"):
        draw_figures(Workshop(root=tmp_path), tmp_path / "file", only=["parameters"])
