"""From a plan to runs: what is not there is listed, what does not exist is refused."""

from __future__ import annotations

import pytest

from alora_ts.bench.plan import read_plan
from alora_ts.bench.runs import expand
from alora_ts.datasets import add
from alora_ts.errors import AloraError
from tests.bench.own_data import method, write_plan, write_tables


@pytest.fixture
def root(tmp_path):
    add(write_tables(tmp_path / "tables"), name="servers", root=tmp_path / "data")
    return tmp_path / "data"


def test_one_run_for_each_method_entity_and_seed(tmp_path, root):
    methods = method("knn") + method("norm", seeds="[3, 4]", label='"size"')
    runs = expand(read_plan(write_plan(tmp_path / "p.toml", methods)), root).runs
    assert [run.key for run in runs] == [
        "servers/whole/knn-0",
        "servers/whole/size-3",
        "servers/whole/size-4",
    ]


def test_what_the_machine_lacks_is_listed_and_left_out(tmp_path, root):
    plan = write_plan(tmp_path / "p.toml", method("norm") + '[[datasets]]\nname = "SMD"\n')
    found = expand(read_plan(plan), root)
    assert len(found.runs) == 1
    assert len(found.missing) == 28
    assert "no copy of SMD" in found.missing["SMD machine-1-1"]


def test_settings_of_one_dataset_only(tmp_path, root):
    changed = method(
        "knn", parameters="{ neighbours = 2 }", **{"per_dataset.servers": "{ neighbours = 9 }"}
    )
    [run] = expand(read_plan(write_plan(tmp_path / "p.toml", changed)), root).runs
    assert run.parameters == {"neighbours": 9}


def test_the_digest_follows_what_decides_the_result(tmp_path, root):
    def digest(methods, settings=""):
        plan = read_plan(write_plan(tmp_path / "p.toml", methods, settings=settings))
        return expand(plan, root).runs[0].digest

    same = digest(method("knn"))
    assert digest(method("knn", label='"k"'), "threads = 2") == same
    assert digest(method("knn", parameters="{ neighbours = 2 }")) != same
    assert digest(method("knn"), "seeds = [1]") != same
    assert digest(method("knn"), "range_window = 5") != same
    assert digest(method("knn", covering="1")) == same != digest(method("knn", covering="5"))
    # Results made before a choice moved into a group stay valid.
    now, before = (
        f"{{ {name} = 0.5 }}" for name in ("training__low_rank_weight", "low_rank_weight")
    )
    assert digest(method("alora", parameters=now)) == digest(method("alora", parameters=before))


@pytest.mark.parametrize(
    ("methods", "words"),
    [
        (method("sarat"), "did you mean 'sarad'"),
        (method("aloro"), "did you mean 'alora'"),
        (method("knn", preset='"cpus"'), "did you mean 'cpu'"),
        (method("alora", parameters="{ windows = 3 }"), "did you mean 'window'"),
        (method("knn", parameters="{ neighbors = 3 }"), "did you mean 'neighbours'"),
        (method("knn", datasets='["SMD"]'), "does not have; it has servers"),
        (method("knn") + '[[datasets]]\nname = "SMDD"\n', "did you mean 'SMD'"),
        (method("knn") + '[[datasets]]\nname = "server"\n', "did you mean 'servers'"),
        (
            method("knn") + '[[datasets]]\nname = "SMD"\nentities = ["machine-1-9"]\n',
            "did you mean 'machine-",
        ),
        (
            method("knn") + '[[datasets]]\nname = "synthetic"\nentities = ["type"]\n',
            "did you mean 'types'",
        ),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(tmp_path, root, methods, words):
    plan = read_plan(write_plan(tmp_path / "p.toml", methods))
    with pytest.raises(AloraError, match=words):
        expand(plan, root)
