"""Every loader on small files of the official layout."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from alora_ts.datasets import data_root, entities, family, load, names
from alora_ts.datasets.dataset import Segment
from alora_ts.errors import DataError
from alora_ts.progress import Step
from tests.datasets import naive_rows, official


def test_smd(tmp_path: Path) -> None:
    folder = official.smd(tmp_path)
    for root in (tmp_path, folder):
        dataset = load("SMD", root, "machine-3-11")
        assert dataset.train.shape == dataset.test.shape == (6, 38)
        assert dataset.label.tolist() == [False, False, True, True, False, False]
        assert dataset.interpretation == (Segment(2, 4, (0, 37)),)
        assert dataset.test_timestamps is None
    with pytest.raises(DataError, match=r"machine-1-1\.txt does not exist"):
        load("SMD", tmp_path, "machine-1-1")
    (folder / "test_label" / "machine-3-11.txt").write_text("0\n1\n")
    with pytest.raises(DataError, match="label has 2 rows where the data have 6"):
        load("SMD", tmp_path, "machine-3-11")


def test_asd_pickles(tmp_path: Path) -> None:
    official.asd(tmp_path)
    dataset = load("ASD", tmp_path, "omi-12")
    assert dataset.train.shape == (8, 19)
    assert dataset.train.dtype == np.float32
    assert dataset.interpretation == (Segment(2, 4, (0, 18)), Segment(7, 8, (3,)))
    assert np.array_equal(dataset.truth().any(axis=1), dataset.label)


def test_jumpstarter(tmp_path: Path) -> None:
    path = tmp_path / "JumpStarter" / "D3" / "service4.npz"
    path.parent.mkdir(parents=True)
    values = np.zeros((4, 19))
    np.savez(path, train=values, test=values, test_label=[0, 1, 1, 0])
    dataset = load("JumpStarter-D3", tmp_path, "service4")
    assert dataset.label.tolist() == [False, True, True, False]
    assert dataset.test.dtype == np.float32
    assert dataset.interpretation == ()
    with pytest.raises(DataError, match="no copy of JumpStarter-D2"):
        load("JumpStarter-D2", tmp_path, "service4")
    with pytest.raises(DataError, match=r"service5\.npz does not exist"):
        load("JumpStarter-D3", tmp_path, "service5")
    np.savez(path, train=values[0], test=values, test_label=[0] * 4)
    with pytest.raises(DataError, match="train has shape"):
        load("JumpStarter-D3", tmp_path, "service4")
    np.savez(path, train=values)
    with pytest.raises(DataError, match="not an archive of JumpStarter-D3"):
        load("JumpStarter-D3", tmp_path, "service4")


def test_asd_archive(tmp_path: Path) -> None:
    path = tmp_path / "omi-1.npz"
    values = np.zeros((4, 19), np.float32)
    np.savez(
        path, train=values, test=values, test_label=[0, 1, 1, 0], interpretation="[[1, 2, [3]]]"
    )
    dataset = load("ASD", tmp_path, "omi-1")
    assert dataset.interpretation == (Segment(1, 3, (2,)),)
    np.savez(path, train=values, test=values, test_label=[0, 1, 1, 0], interpretation="[1]")
    with pytest.raises(DataError, match="not a list of"):
        load("ASD", tmp_path, "omi-1")
    np.savez(path, train=values[0], test=values, test_label=[0] * 4, interpretation="[]")
    with pytest.raises(DataError, match="train of omi-1 has shape"):
        load("ASD", tmp_path, "omi-1")
    np.savez(path, train=values)
    with pytest.raises(DataError, match="not an ASD archive"):
        load("ASD", tmp_path, "omi-1")
    path.write_bytes(b"PK")
    with pytest.raises(DataError, match="not an ASD archive"):
        load("ASD", tmp_path, "omi-1")


def test_telemanom_channels_and_whole(tmp_path: Path) -> None:
    folder = official.telemanom(tmp_path)
    one = load("SMAP", tmp_path, "P-1")
    assert one.test.shape == (15, 25)
    assert np.flatnonzero(one.label).tolist() == [2, 3, 4, 14]
    # P-2 stands twice in the list and gets both stretches.
    assert np.flatnonzero(load("SMAP", tmp_path, "P-2").label).tolist() == [1, 2, 3, 4, 5]
    whole = load("SMAP", tmp_path)
    assert whole.train.shape == (10 + 12, 25)
    assert whole.test.shape == (15 + 17, 25)
    assert whole.test_segments.tolist() == [0] * 15 + [1] * 17
    assert whole.variables[:2] == ("telemetry", "command-1")
    assert np.flatnonzero(whole.label).tolist() == [2, 3, 4, 14, 15]
    (folder / "test" / "E-1.npy").unlink()
    with pytest.raises(DataError, match=r"E-1\.npy does not exist"):
        load("SMAP", tmp_path)
    with pytest.raises(DataError, match="no row for the SMAP channel A-1"):
        load("SMAP", tmp_path, "A-1")


def test_telemanom_refuses_labels_that_do_not_fit(tmp_path: Path) -> None:
    folder = official.telemanom(tmp_path)
    path = folder / "labeled_anomalies.csv"
    text = path.read_text()
    path.write_text(text.replace("[14, 14]", "[14, 15]"))
    with pytest.raises(DataError, match="labelled from row 14 to 15 but its test has 15 rows"):
        load("SMAP", tmp_path, "P-1")
    path.write_text(text.replace("SMAP", "MARS"))
    with pytest.raises(DataError, match="has no rows for SMAP"):
        load("SMAP", tmp_path, "P-1")
    path.write_text(text.replace("[14, 14]", "os.remove"))
    with pytest.raises(DataError, match="line 2"):
        load("SMAP", tmp_path, "P-1")
    np.save(folder / "train" / "E-1.npy", np.zeros((5, 24)))
    path.write_text(text)
    with pytest.raises(DataError, match="channel E-1 has 24 columns"):
        load("SMAP", tmp_path)


def test_psm(tmp_path: Path) -> None:
    folder = official.psm(tmp_path)
    dataset = load("PSM", tmp_path)
    assert dataset.train.shape == (4, 25)
    assert dataset.train[:, 0].tolist() == [1, 1, 1, 3]
    assert dataset.label.tolist() == [False, True, True]
    assert dataset.test_segments.tolist() == [0, 0, 1]
    assert np.isnan(load("PSM", tmp_path, raw=True).train[:, 0]).tolist() == [1, 0, 1, 0]
    label = folder / "test_label.csv"
    label.write_text("timestamp_(min),label\n4.0,0\n5.0,1\n")
    with pytest.raises(DataError, match=r"has 2 rows that do not have the same"):
        load("PSM", tmp_path)
    label.write_text("timestamp_(min),label\n4.0,0\n5.0,1\n5.0,1\n")
    with pytest.raises(DataError, match="line 4, column timestamp"):
        load("PSM", tmp_path)


@pytest.mark.parametrize(("headings", "separator"), [(True, ","), (False, ","), (False, ";")])
def test_swat(tmp_path: Path, headings: bool, separator: str) -> None:
    official.swat(tmp_path, headings=headings, separator=separator)
    raw = load("SWaT", tmp_path, raw=True)
    assert raw.variables == tuple(official.SWAT_COLUMNS)
    assert raw.train.shape == (150, 51)
    assert raw.test.shape == (1560, 51)
    assert np.flatnonzero(raw.label)[[0, -1]].tolist() == [134, 1073]
    # Attack 1 on MV101 from 10:29:14 to 10:44:53, attack 2 on P102 from 10:51:08.
    assert raw.interpretation == (
        Segment(134, 1074, (raw.variables.index("MV101"),)),
        Segment(1448, 1560, (raw.variables.index("P102"),)),
    )
    minutes = load("SWaT", tmp_path)
    assert minutes.train.shape == (3, 51)
    assert minutes.test.shape == (26, 51)
    np.testing.assert_allclose(minutes.test[:, 0], np.arange(26) * 60 + 29.5)
    assert minutes.label.tolist() == [2 <= t <= 17 for t in range(26)]
    assert [(s.start, s.end) for s in minutes.interpretation] == [(2, 18), (24, 26)]
    assert minutes.test_timestamps is not None
    assert str(minutes.test_timestamps[0]) == "2015-12-28T10:27:00.000000"
    assert set(minutes.test_segments.tolist()) == {0}


def test_swat_refusals(tmp_path: Path) -> None:
    folder = official.swat(tmp_path)
    attack = folder / "SWaT_Dataset_Attack_v0.csv"
    text = attack.read_text()
    attack.write_text(text.replace("A ttack", "Atack"))
    with pytest.raises(DataError, match=r"line 143, column Normal/Attack: 'Atack' is neither"):
        load("SWaT", tmp_path)
    attack.write_text(text.replace("Normal/Attack", "Class"))
    with pytest.raises(DataError, match="column Class: 'Normal' is not a number"):
        load("SWaT", tmp_path)
    attack.write_text("\n".join(line.rsplit(",", 1)[0] for line in text.splitlines()))
    with pytest.raises(DataError, match="has no column Normal/Attack"):
        load("SWaT", tmp_path)
    attack.rename(attack.with_suffix(".xlsx"))
    with pytest.raises(DataError, match=r"only the workbooks .*soffice"):
        load("SWaT", tmp_path)


def test_swat_splits_at_a_gap(tmp_path: Path) -> None:
    folder = official.swat(tmp_path)
    normal = folder / "SWaT_Dataset_Normal_v1.csv"
    lines = normal.read_text().splitlines()
    tail = [line.replace("22/12/2015", "23/12/2015") for line in lines[2:]]
    normal.write_text("\n".join([*lines, *tail]) + "\n")
    assert load("SWaT", tmp_path).train_segments.tolist() == [0, 0, 0, 1, 1, 1]
    assert load("SWaT", tmp_path, raw=True).train_segments.tolist() == [0] * 150 + [1] * 150


@pytest.mark.parametrize("release", ["20.07", "21.03", "22.04", "23.05"])
def test_hai(tmp_path: Path, release: str) -> None:
    official.hai(tmp_path, release)
    name = "HAI" if release == "21.03" else f"HAI-{release}"
    raw = load(name, tmp_path, raw=True)
    assert raw.train.shape == raw.test.shape == (260, len(raw.variables))
    assert raw.variables[:2] == ("P1_B2004", "P1_B2016")
    assert np.flatnonzero(raw.label).tolist() == list(range(200, 230))
    assert raw.test_segments.tolist() == [0] * 130 + [1] * 130
    # Only release 21.03 has a published table; A101 began at 15:35 on P1_B2016.
    expected = (Segment(200, 230, (1,)),) if release == "21.03" else ()
    assert raw.interpretation == expected
    minutes = load(name, tmp_path)
    assert minutes.test.shape[0] == 6
    assert minutes.label.tolist() == [False] * 4 + [True, False]
    assert minutes.test_segments.tolist() == [0, 0, 0, 1, 1, 1]
    np.testing.assert_allclose(minutes.test[:3, 0], [29.5, 89.5, 124.5])


def test_hai_prefers_plain_files_and_refuses_a_mixture(tmp_path: Path) -> None:
    folder = official.hai(tmp_path, "22.04")
    official.write(folder / "test1.csv.gz", "damaged")
    assert load("HAI-22.04", tmp_path).test.shape[0] == 6
    (folder / "train2.csv").write_text(
        "timestamp,P1_B2004,OTHER,Attack\n2020-07-02 10:00:00,1,2,0\n"
    )
    with pytest.raises(DataError, match=r"train2\.csv .* differ in columns \(OTHER"):
        load("HAI-22.04", tmp_path)


def test_long_readings_report_each_file(tmp_path: Path) -> None:
    official.hai(tmp_path, "22.04")
    official.swat(tmp_path)
    seen: list[Step] = []
    load("HAI-22.04", tmp_path, progress=seen.append)
    load("SWaT", tmp_path, progress=seen.append)
    assert [(step.done, step.total) for step in seen] == [
        *((done, 4) for done in range(5)),
        *((done, 2) for done in range(3)),
    ]


def test_hai_needs_tests_and_labels(tmp_path: Path) -> None:
    folder = official.hai(tmp_path, "22.04")
    for path in folder.glob("test*"):
        path.write_text(path.read_text().replace("Attack", "P9_X"))
    with pytest.raises(DataError, match=r"differ in columns \(P9_X\)"):
        load("HAI-22.04", tmp_path)
    for path in folder.glob("train*"):
        path.write_text(path.read_text().replace("Attack", "P9_X"))
    with pytest.raises(DataError, match="has no column attack"):
        load("HAI-22.04", tmp_path)
    for path in folder.glob("train*"):
        path.unlink()
    with pytest.raises(DataError, match=r"has no train1\.csv"):
        load("HAI-22.04", tmp_path)


def test_hai_labels_must_fit(tmp_path: Path) -> None:
    folder = official.hai(tmp_path, "23.05")
    path = folder / "label-test1.csv"
    text = path.read_text()
    path.write_text(text.rsplit("\n", 2)[0] + "\n")
    with pytest.raises(DataError, match="has 129 labels for the 130 rows"):
        load("HAI-23.05", tmp_path)
    path.write_text(text.replace(",0\n", ",2\n", 1))
    with pytest.raises(DataError, match=r"row 0: the label is 2\.0"):
        load("HAI-23.05", tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"label-test1\.csv does not exist"):
        load("HAI-23.05", tmp_path)


def test_msds_from_raw_metrics(tmp_path: Path) -> None:
    rows = naive_rows.msds_rows(official.msds_nodes())
    start = round(0.1 * len(rows))
    half = start + round(0.5 * (len(rows) - start))
    test = rows[half:]
    official.msds(tmp_path, label_rows=len(test[::5]))
    dataset = load("MSDS", tmp_path)
    # In the file mem.used stands before cpu.user; the label matrix has them the other way.
    np.testing.assert_allclose(dataset.test, [values for _, values in test[::5]], rtol=1e-6)
    np.testing.assert_allclose(
        dataset.train, [values for _, values in rows[start:half][::5]], rtol=1e-6
    )
    assert dataset.variables[0] == "wally122 cpu.user"
    assert dataset.interpretation == (Segment(3, 4, (9,)),)
    assert np.flatnonzero(dataset.label).tolist() == [3]
    assert dataset.test_timestamps is not None
    assert str(dataset.test_timestamps[0]).startswith(test[0][0][:10])
    full = load("MSDS", tmp_path, raw=True)
    assert len(full.test) == len(test)
    assert np.flatnonzero(full.label).tolist() == [15, 16, 17, 18, 19]
    official.msds(tmp_path, label_rows=7)
    with pytest.raises(DataError, match="the label matrix has 7 rows"):
        load("MSDS", tmp_path)


def test_msds_refuses_nodes_that_do_not_fit(tmp_path: Path) -> None:
    folder = official.msds(tmp_path, label_rows=1) / "concurrent data" / "metrics"
    path = folder / "wally113_metrics_concurrent.csv"
    text = path.read_text()
    path.write_text(text.replace("mem.used", "mem.free"))
    with pytest.raises(DataError, match=r"has no column mem\.used"):
        load("MSDS", tmp_path)
    path.write_text(text.replace("2019-11-19 18:38:00 CEST", "", 1))
    with pytest.raises(DataError, match="line 3: the time is empty"):
        load("MSDS", tmp_path)
    path.write_text(text.replace("2019-", "2018-"))
    with pytest.raises(DataError, match="share 0 seconds"):
        load("MSDS", tmp_path)
    path.unlink()
    with pytest.raises(DataError, match=r"wally113_metrics_concurrent\.csv does not exist"):
        load("MSDS", tmp_path)


def test_msds_prepared(tmp_path: Path) -> None:
    folder = tmp_path / "MSDS"
    folder.mkdir()
    values = np.arange(60.0).reshape(6, 10)
    labels = np.zeros((6, 10))
    labels[2:4, 1] = 1
    for name, array in (("train", values), ("test", values), ("labels", labels)):
        np.save(folder / f"{name}.npy", array)
    dataset = load("MSDS", tmp_path)
    assert dataset.interpretation == (Segment(2, 4, (1,)),)
    assert dataset.test_timestamps is None
    np.save(folder / "labels.npy", labels * 2)
    with pytest.raises(DataError, match=r"row 2, column 1: the label is 2\.0"):
        load("MSDS", tmp_path)
    np.save(folder / "labels.npy", labels[:, :9])
    with pytest.raises(DataError, match="has 9 columns"):
        load("MSDS", tmp_path)
    shutil.rmtree(folder)
    folder.mkdir()
    # As pandas writes them: row names, and headings that stand twice.
    header = "now," + ",".join(["cpu.user_x,mem.used_x"] * 5) + "\n"
    text = header + "".join(f"{t}," + ",".join(["1.5"] * 10) + "\n" for t in range(10))
    for name in ("train", "test"):
        (folder / f"{name}.csv").write_text(text)
    rows = [",".join(["0"] * 10), ",".join(["1"] + ["0"] * 9)]
    (folder / "labels.csv").write_text(",".join("abcdefghij") + "\n" + "\n".join(rows) + "\n")
    dataset = load("MSDS", tmp_path)
    assert dataset.test.shape == (2, 10)
    assert dataset.label.tolist() == [False, True]
    (folder / "labels.csv").write_text(",".join("abcdefghij") + "\n" + "x," * 9 + "x\n")
    with pytest.raises(DataError, match="not a table of numbers"):
        load("MSDS", tmp_path)


def test_names_and_entities() -> None:
    assert set(names()) >= {"SMD", "PSM", "MSL", "SMAP", "SWaT", "HAI", "MSDS", "ASD"}
    assert len(entities("SMD")) == 28
    assert len(entities("msl")) == 27
    assert len(entities("SMAP")) == 54
    assert len(entities("ASD")) == 12
    assert entities("PSM") == ()
    for name in names():
        found = family(name)
        assert found.files or found.ask
        assert found.licence
        assert found.citation


def test_unknown_and_needed_entities(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you mean 'machine-1-6'"):
        load("SMD", tmp_path, "machine-1-66")
    with pytest.raises(DataError, match=r"name one as entity: machine-1-1, .*machine-3-11"):
        load("SMD", tmp_path)
    with pytest.raises(DataError, match="omi-1, omi-2"):
        load("ASD", tmp_path)
    with pytest.raises(DataError, match="PSM is one series"):
        load("PSM", tmp_path, "a")
    with pytest.raises(DataError, match="no copy of PSM"):
        load("PSM", tmp_path)


def test_where_data_are_looked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ALORA_TS_DATA", raising=False)
    assert data_root() == tmp_path / "cache" / "alora-ts"
    monkeypatch.setenv("ALORA_TS_DATA", str(tmp_path / "mine"))
    assert data_root() == tmp_path / "mine"
    assert data_root(tmp_path) == tmp_path
    official.psm(tmp_path / "mine")
    assert load("PSM").test.shape == (3, 25)
