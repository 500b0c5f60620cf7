"""README's numbers are those of the committed results."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from benchmarks.readme_measured import BEGIN, END, README, RESULTS, block, rewritten


def test_the_block_is_what_the_results_say() -> None:
    """Otherwise: python -m benchmarks.readme_measured."""
    text = README.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
    assert rewritten(text) == text


def test_another_result_gives_another_block(tmp_path: Path) -> None:
    for folder in ("cpu", "tsb-ad"):
        (tmp_path / folder).symlink_to(RESULTS / folder)
    shutil.copy(RESULTS / "rootcause.jsonl", tmp_path)
    lines = [json.loads(line) for line in (RESULTS / "alarms.jsonl").read_text().splitlines()]
    for one in lines:
        if (one["method"], one["family"]) == ("default", "ASD"):
            one["f1"] = 0.125
    (tmp_path / "alarms.jsonl").write_text("\n".join(map(json.dumps, lines)))
    assert "/ 0.12** |" in block(tmp_path)
    assert block(tmp_path) != block()


def test_a_score_without_skill_that_is_ahead_is_named() -> None:
    said = block()
    assert "A score without skill is ahead" in said
    msl = next(line for line in said.split("\n\n") if "without skill" in line)
    assert "label-free F1 on MSL" in " ".join(msl.split())


@pytest.mark.parametrize("marker", [BEGIN, END])
def test_a_readme_without_its_markers_is_refused(marker: str) -> None:
    with pytest.raises(ValueError, match="unpack"):
        rewritten(README.read_text(encoding="utf-8").replace(marker, ""))
