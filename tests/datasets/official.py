"""Makes small files of the exact official layouts."""

from __future__ import annotations

import gzip
import pickle
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

SWAT_HEADER = """
FIT101 LIT101 MV101 P101 P102
AIT201 AIT202 AIT203 FIT201 MV201 P201 P202 P203 P204 P205 P206
DPIT301 FIT301 LIT301 MV301 MV302 MV303 MV304 P301 P302
AIT401 AIT402 FIT401 LIT401 P401 P402 P403 P404 UV401
AIT501 AIT502 AIT503 AIT504 FIT501 FIT502 FIT503 FIT504 P501 P502 PIT501 PIT502 PIT503
FIT601 P601 P602 P603
"""
SWAT_COLUMNS = SWAT_HEADER.split()
NODES = ("wally122", "wally113", "wally123", "wally117", "wally124")


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".gz":
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)


def smd(root: Path, machine: str = "machine-3-11") -> Path:
    folder = root / "ServerMachineDataset"
    rows = "".join(",".join(f"{t + v / 100:.6f}" for v in range(38)) + "\n" for t in range(6))
    write(folder / "train" / f"{machine}.txt", rows)
    write(folder / "test" / f"{machine}.txt", rows)
    write(folder / "test_label" / f"{machine}.txt", "0\n0\n1\n1\n0\n0\n")
    write(folder / "interpretation_label" / f"{machine}.txt", "2-4:1,38\n")
    return folder


def asd(root: Path, server: str = "omi-12") -> Path:
    folder = root / "ASD"
    (folder / "processed").mkdir(parents=True)
    values = np.arange(19 * 8, dtype=np.float64).reshape(8, 19)
    label = np.array([0, 0, 1, 1, 0, 0, 0, 1.0])
    for part, array in (("train", values), ("test", values), ("test_label", label)):
        (folder / "processed" / f"{server}_{part}.pkl").write_bytes(pickle.dumps(array, protocol=3))
    # No line end after the last line, as in the official files.
    write(folder / "interpretation_label" / f"{server}.txt", "2-3:1,19\n7-7:4")
    return folder


def telemanom(root: Path) -> Path:
    folder = root / "SMAP"
    for part, extra in (("train", 0), ("test", 5)):
        (folder / part).mkdir(parents=True)
        for number, channel in enumerate(("P-1", "P-2", "E-1")):
            values = np.full((10 + number + extra, 25), number, dtype=np.float64)
            np.save(folder / part / f"{channel}.npy", values)
    write(
        folder / "labeled_anomalies.csv",
        "chan_id,spacecraft,anomaly_sequences,class,num_values\n"
        'P-1,SMAP,"[[2, 4], [14, 14]]","[contextual, point]",15\n'
        'P-2,SMAP,"[[1, 2]]",[point],16\n'
        'E-1,SMAP,"[[0, 0]]",[point],17\n'
        'P-2,SMAP,"[[2, 5]]",[point],16\n'
        'M-6,MSL,"[[0, 1]]",[point],9\n',
    )
    return folder


def psm(root: Path) -> Path:
    folder = root / "PSM"
    header = "timestamp_(min)," + ",".join(f"feature_{v}" for v in range(25)) + "\n"

    def row(minute: int, first: str) -> str:
        return f"{minute}.0,{first}," + ",".join("0.5" for _ in range(24)) + "\n"

    write(folder / "train.csv", header + row(0, "") + row(1, "1.0") + row(2, "") + row(3, "3.0"))
    write(folder / "test.csv", header + row(4, "1.0") + row(5, "2.0") + row(9, "3.0"))
    write(folder / "test_label.csv", "timestamp_(min),label\n4.0,0\n5.0,1\n9.0,1\n")
    return folder


def swat(root: Path, *, headings: bool = True, separator: str = ",") -> Path:
    """Normal: 150 s before the first attack; attack: 10:27:00 to 10:52:59, with two attacks."""
    folder = root / "SWaT"

    def text(start: datetime, seconds: int, label: bool) -> str:
        # The official header has blanks before some names.
        names = [" Timestamp", *(f" {c}" if c in ("MV101", "P201") else c for c in SWAT_COLUMNS)]
        lines = [separator.join(["P1", *[""] * 52])] if headings else []
        lines.append(separator.join([*names, "Normal/Attack"]))
        for t in range(seconds):
            clock = start + timedelta(seconds=t)
            word = "Normal"
            if label and 134 <= t <= 1073:
                word = "A ttack" if t == 140 else "Attack"
            cells = [f" {clock.day}/{clock.month}/{clock.year} {clock:%I:%M:%S %p}"]
            cells += [
                f"{t + v / 8}".replace(".", "," if separator == ";" else ".") for v in range(51)
            ]
            lines.append(separator.join([*cells, word]))
        return "\n".join(lines) + "\n"

    normal = text(datetime(2015, 12, 22, 16, 30), 150, label=False)
    attack = text(datetime(2015, 12, 28, 10, 27), 1560, label=True)
    write(folder / "SWaT_Dataset_Normal_v1.csv", normal)
    write(folder / "SWaT_Dataset_Attack_v0.csv", attack)
    return folder


def hai(root: Path, release: str) -> Path:
    """Two train and two test files of 130 s, the second test around attack A101 (15:35)."""
    folder = root / "HAI" / f"hai-{release}"
    columns = {
        "20.07": "P1_B2004 P1_B2016 P2_SIT01",
        "21.03": "P1_B2004 P1_B2016 P2_ASD P2_CO_rpm",
        "22.04": "P1_B2004 P1_B2016 P2_AutoSD P2_SCO",
        "23.05": "P1_B2004 P1_B2016 x1001_05_SETPOINT_OUT",
    }[release].split()
    separator = ";" if release == "20.07" else ","
    time = "timestamp" if release in ("22.04", "23.05") else "time"
    labels = {
        "20.07": ["attack", "attack_P1", "attack_P2", "attack_P3"],
        "21.03": ["attack", "attack_P1", "attack_P2", "attack_P3"],
        "22.04": ["Attack"],
        "23.05": [],
    }[release]
    prefix = "hai-" if release == "23.05" else ""
    suffix = ".csv.gz" if release in ("20.07", "21.03") else ".csv"
    starts = {
        "train1": datetime(2020, 7, 1, 10, 0),
        "train2": datetime(2020, 7, 2, 10, 0),
        "test1": datetime(2020, 7, 7, 15, 0),
        "test2": datetime(2020, 7, 7, 15, 34),
    }
    for name, start in starts.items():
        header = separator.join([time, *columns, *labels])
        lines, marks = [header], ["timestamp,label"]
        for t in range(130):
            clock = f"{start + timedelta(seconds=t):%Y-%m-%d %H:%M:%S}"
            attack = str(int(name == "test2" and 70 <= t < 100))
            cells = [clock, *(str(t + v) for v in range(len(columns))), *[attack] * len(labels)]
            lines.append(separator.join(cells))
            marks.append(f"{clock},{attack}")
        write(folder / f"{prefix}{name}{suffix}", "\n".join(lines) + "\n")
        if release == "23.05" and "test" in name:
            write(folder / f"label-{name}.csv", "\n".join(marks) + "\n")
    return folder


def msds_nodes() -> list[list[tuple[str, float, float]]]:
    """Five nodes that begin and end at different seconds, with seconds that stand twice."""
    start = datetime(2019, 11, 19, 18, 38)
    nodes = []
    for number in range(5):
        rows = []
        for t in range(-number, 400 + 3 * number):
            clock = f"{start + timedelta(seconds=t):%Y-%m-%d %H:%M:%S} CEST"
            rows.append((clock, float(t), float(number)))
            if t % 7 == number:
                rows.append((clock, t + 0.5, float(number)))
        nodes.append(rows)
    return nodes


def msds(root: Path, label_rows: int) -> Path:
    folder = root / "MSDS"
    for node, rows in zip(NODES, msds_nodes(), strict=True):
        text = "now,load.cpucore,load.min1,load.min15,load.min5,mem.used,cpu.user\n"
        text += "".join(f"{now},16,0.5,0.5,0.5,{mem},{cpu}\n" for now, cpu, mem in rows)
        write(folder / "concurrent data" / "metrics" / f"{node}_metrics_concurrent.csv", text)
    header = ",".join(["", *(f"{m}_{x}" for x in "abcde" for m in ("cpu.user", "mem.used"))])
    lines = [
        f"{t}," + ",".join(["1" if t == 3 and v == 9 else "0" for v in range(10)])
        for t in range(label_rows)
    ]
    write(folder / "labels.csv", "\n".join([header, *lines]) + "\n")
    return folder
