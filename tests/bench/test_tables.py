"""Tables from invented records: means, gaps, yardsticks, published numbers, marks."""

from __future__ import annotations

from dataclasses import replace
from statistics import fmean, stdev

import pytest

from alora_ts.bench.record import Measurement, Record
from alora_ts.bench.tables.by_method import place_of
from alora_ts.bench.tables.catalogue import TABLES, build_tables
from alora_ts.bench.tables.contenders import Arena, arenas
from alora_ts.bench.tables.table import Cell, ResultTable, Row, mark_best
from alora_ts.errors import AloraError
from tests.bench.records import HONEST, MACHINES, invented, tournament

F1 = "best threshold / affiliation F1"


def one_table(records: list[Record], name: str) -> ResultTable:
    (table,) = build_tables(records, name)
    return table


def row(table: ResultTable, name: str) -> Row:
    return next(one for one in table.rows if one.name == name)


def cell(table: ResultTable, name: str, column: str) -> Cell:
    return row(table, name).cells[table.columns.index(column) - 1]


def without(records: list[Record], method: str, entity: str) -> list[Record]:
    return [one for one in records if (one.method, one.entity) != (method, entity)]


def failed(records: list[Record], method: str, entity: str) -> list[Record]:
    return [
        replace(one, status="failed", error="too long", detection={}, localization={})
        if (one.method, one.entity) == (method, entity)
        else one
        for one in records
    ]


def test_a_value_is_the_mean_over_entities_of_the_mean_over_seeds() -> None:
    records = tournament()
    table = one_table(records, "detection")
    knn = [one for one in records if one.method == "knn"]
    values = {(one.entity, one.seed): one.detection[F1].value or 0.0 for one in knn}
    by_entity = [fmean(values[entity, seed] for seed in (0, 1)) for entity in MACHINES]
    by_seed = [fmean(values[entity, seed] for entity in MACHINES) for seed in (0, 1)]
    found = cell(table, "KNN", "F1")
    assert found.value == pytest.approx(fmean(by_entity))
    assert found.deviation == pytest.approx(stdev(by_seed))
    assert cell(table, "KNN", "P").value == pytest.approx(fmean(by_entity) - 0.01)
    assert table.title == "Detection on SMD, 3 entities"


def judged(record: Record) -> Record:
    """The same run, its incidents judged."""
    detection = dict(record.detection)
    for choice in ("given threshold", "best threshold"):
        f1 = record.detection[F1].value or 0.0
        detection[f"{choice} / incident F1"] = Measurement(f1 - 0.1, f1 - 0.2, f1)
        detection[f"{choice} / false incidents per 1,000 rows"] = Measurement(0.5)
        detection[f"{choice} / incident delay (rows)"] = Measurement(4.0)
        detection[f"{choice} / normal rows in incidents"] = Measurement(0.01)
    return replace(record, detection=detection)


def test_incidents_come_first_label_free_beside_the_best_level() -> None:
    table = one_table([judged(one) for one in tournament()], "detection")
    assert table.columns[1:3] == ("incident F1 label-free", "incident F1")
    assert table.columns[3:6] == (
        "precision label-free",
        "events found label-free",
        "false per 1,000 rows label-free",
    )
    found = cell(table, "KNN", "incident F1 label-free").value
    assert found == pytest.approx((cell(table, "KNN", "F1").value or 0.0) - 0.1)
    assert any("at most 10 rows apart are one incident" in note for note in table.notes)
    waited = one_table([judged(one) for one in tournament()], "waiting")
    assert waited.columns[1] == "incident delay, label-free"
    ranks = build_tables([judged(one) for one in tournament()], "significance")
    assert ranks[0].title == "Ranks by incident F1 (label-free)"


def test_runs_from_before_incidents_were_judged_have_dashes() -> None:
    records = [judged(one) if one.method == "alora" else one for one in tournament()]
    table = one_table(records, "detection")
    assert cell(table, "KNN", "incident F1 label-free").text == "–"
    assert cell(table, "ALoRa", "incident F1 label-free").value is not None
    assert cell(table, "KNN", "F1").value is not None
    old = one_table(tournament(), "detection")
    assert not any("incident" in name.lower() for name in (*old.columns, *old.notes))


def test_unequal_numbers_of_seeds_do_not_weigh_entities() -> None:
    records = [
        invented(entity="machine-1-1", seed=0, level=0.2),
        invented(entity="machine-1-2", seed=0, level=0.6),
        invented(entity="machine-1-2", seed=1, level=0.8),
    ]
    found = cell(one_table(records, "detection"), "KNN", "F1")
    assert found.value == pytest.approx((0.2 + 0.7) / 2)
    assert found.deviation is None  # only one seed has every entity


def test_one_seed_has_no_deviation() -> None:
    found = cell(one_table(tournament(seeds=[0]), "detection"), "ALoRa", "F1")
    assert found.deviation is None
    assert "±" not in found.text


@pytest.mark.parametrize("name", ["detection", "range", "localization", "waiting"])
def test_yardsticks_stand_first_and_apart(name: str) -> None:
    table = one_table(tournament(), name)
    apart = [one.apart for one in table.rows]
    assert apart == sorted(apart, reverse=True)
    assert [one.name for one in table.rows if one.apart][-3:] == ["random", "always alarm", "‖x‖"]
    assert table.rows[-1].name == "ALoRa"
    assert not any("lack the yardsticks" in note for note in table.notes)


@pytest.mark.parametrize("name", ["detection", "range", "localization", "waiting"])
def test_missing_yardsticks_are_said(name: str) -> None:
    table = one_table(tournament(["norm", "knn", "alora"]), name)
    assert any("lack the yardsticks random, always alarm:" in note for note in table.notes)


@pytest.mark.parametrize("lose", [without, failed])
def test_fewer_entities_are_shown_and_do_not_compete(lose) -> None:  # type: ignore[no-untyped-def]
    records = [
        invented(method, entity=entity, level=0.99 if method == "pca" else None)
        for method in (*HONEST, "knn", "pca", "alora")
        for entity in MACHINES
    ]
    table = one_table(lose(records, "pca", MACHINES[1]), "detection")
    lacking = row(table, "PCA (2/3 entities)")
    assert lacking.cells[2].value == pytest.approx(0.99)
    assert all(one.mark is None for one in lacking.cells)
    assert cell(table, "ALoRa", "F1").mark == "best"
    said = any("PCA: 1 of 3 runs failed (machine-1-9)" in note for note in table.notes)
    assert said == (lose is failed)


def test_a_metric_that_some_entities_lack_says_so_in_its_cell() -> None:
    records = tournament(seeds=[0])
    delay = "best threshold / mean delay (rows)"
    changed = [
        replace(one, detection={**one.detection, delay: Measurement(None)})
        if (one.method, one.entity) == ("knn", MACHINES[0])
        else one
        for one in records
    ]
    table = one_table(changed, "waiting")
    assert cell(table, "KNN", "rows waited, oracle").text.endswith("(2/3 entities)")
    assert cell(table, "KNN", "events caught, oracle").part is None


def test_a_method_that_failed_everywhere_stays_in_the_table() -> None:
    records = tournament(seeds=[0])
    for entity in MACHINES:
        records = failed(records, "knn", entity)
    for name in ("detection", "range", "waiting", "cost"):
        table = one_table(records, name)
        assert {one.text for one in row(table, "KNN").cells if one.value is None} >= {"failed"}
        assert row(table, "KNN").cells[0].mark is None


def test_what_is_left_out_says_why() -> None:
    records = [
        *tournament([*HONEST, "alora"], seeds=[0]),
        *(
            invented("pca", entity=entity, status="left out", error="38 variables have 703 pairs")
            for entity in MACHINES
        ),
    ]
    table = one_table(records, "detection")
    assert cell(table, "PCA", "F1").text == "left out"
    assert "PCA left out: 38 variables have 703 pairs." in table.notes


def test_published_numbers_stand_beside_ours_where_they_exist() -> None:
    table = one_table(tournament(), "detection")
    assert cell(table, "ALoRa", "F1, published").text == "0.97"
    assert cell(table, "‖x‖", "F1, published").text == "–"
    assert any("28 machines" in note for note in table.notes)
    asd = one_table(tournament(dataset="ASD"), "detection")
    assert "F1, published" not in asd.columns
    assert not any("Published" in note for note in asd.notes)


def test_interfusion_has_ips_only() -> None:
    records = tournament([*HONEST, "interfusion", "alora"])
    by_segment = [
        replace(
            one,
            localization={k: v for k, v in one.localization.items() if k.startswith("IPS")},
        )
        if one.method == "interfusion"
        else one
        for one in records
    ]
    table = one_table(by_segment, "localization")
    assert cell(table, "InterFusion", "HR@100").text == "–"
    assert cell(table, "InterFusion", "IPS@100").value is not None
    assert any("InterFusion names variables for whole segments" in note for note in table.notes)
    assert cell(table, "chance, exact", "HR@100").value == pytest.approx(0.4)


def test_the_forms_of_algorithm_2_are_rows_from_the_same_fit() -> None:
    records = [
        replace(
            one,
            localization={
                **one.localization,
                **{
                    f"LAS* / {key}": replace(value, value=0.123)
                    for key, value in one.localization.items()
                },
            },
        )
        if one.method == "alora"
        else one
        for one in tournament()
    ]
    table = one_table(records, "localization")
    names = [one.name for one in table.rows]
    assert names[names.index("ALoRa") + 1] == "ALoRa, LAS*"
    assert cell(table, "ALoRa, LAS*", "HR@100").value == pytest.approx(0.123)
    assert cell(table, "ALoRa, LAS*", "HR@100, published").value is None
    assert cell(table, "ALoRa", "HR@100").value != pytest.approx(0.123)
    assert any("Algorithm 2" in note for note in table.notes)
    assert not any("Algorithm 2" in n for n in one_table(tournament(), "localization").notes)


def test_size_windows_and_seconds_stand_beside_detection() -> None:
    records = [replace(one, facts={**one.facts, "windows": 6400.0}) for one in tournament()]
    table = one_table(records, "detection")
    assert table.columns[-3:] == ("weights", "windows seen", "fit s")
    assert cell(table, "ALoRa", "weights").value == 1234
    assert cell(table, "ALoRa", "windows seen").value == 6400
    older = one_table(tournament(), "cost")
    assert any("timed with localization" in note for note in older.notes)
    assert not any("timed with" in note for note in one_table(records, "cost").notes)


def test_a_method_that_does_not_score_rows_takes_no_time_for_it() -> None:
    """AERCA was shown with 0.000 ms for a row."""
    records = [*tournament(), *(replace(one, detection={}) for one in tournament(["aerca"]))]
    table = one_table(records, "cost")
    assert cell(table, "AERCA", "score ms/row").text == "–"
    assert cell(table, "AERCA", "weights").value == 1234
    assert "AERCA" not in [one.name for one in one_table(records, "detection").rows]


def test_methods_that_name_no_variables_are_listed() -> None:
    records = [*tournament([*HONEST, "alora"]), *tournament(["knn"], localizes=False)]
    table = one_table(records, "localization")
    assert "KNN" not in [one.name for one in table.rows]
    assert "These name no variables: KNN." in table.notes
    assert build_tables(tournament(["knn"], localizes=False), "localization") == []


def test_entities_without_variable_labels_are_not_counted_as_gaps() -> None:
    records = [
        replace(one, localization={}) if one.entity == MACHINES[0] else one for one in tournament()
    ]
    table = one_table(records, "localization")
    assert table.title == "Localization on SMD, 2 entities"
    assert "Without such labels: machine-1-2." in table.notes
    assert all(one.part is None for line in table.rows for one in line.cells)


def test_ablations_have_a_table_for_each_study() -> None:
    base = {"K": "512", "loss and score": "loss and score"}
    records = [
        *tournament(HONEST, seeds=[0], plan="ablation"),
        *tournament(["alora"], label="base", studies=base, plan="ablation"),
        *tournament(
            ["alora"], label="no-loss", studies={"loss and score": "score only"}, plan="ablation"
        ),
        *tournament(["alora"], label="top-64", studies={"K": "64"}, plan="ablation"),
        *(
            invented(
                "alora",
                entity=entity,
                label="top-128",
                studies={"K": "128"},
                plan="ablation",
                status="left out",
                error="too few pairs",
            )
            for entity in MACHINES
        ),
    ]
    loss, pairs = build_tables(records, "ablations")
    assert loss.title == "ALoRa loss and ALoRa score on SMD, 3 entities"
    assert [one.name for one in loss.rows][3:] == ["loss and score", "score only"]
    assert cell(loss, "score only", "F1, published").value == 0.95
    assert [one.name for one in pairs.rows][3:] == ["64", "128", "512"]
    assert cell(pairs, "128", "F1").text == "left out"
    assert cell(pairs, "128", "F1, published").text == "0.950 ±0.012"
    assert "128 left out: too few pairs." in pairs.notes
    assert build_tables(records, "detection") == []  # nothing else competes in this plan
    both = build_tables([*records, *tournament(plan="cpu")], "detection")
    assert [len(table.rows) for table in both] == [6]


def test_misprints_show_the_print_and_what_is_meant() -> None:
    records = tournament(
        ["alora"],
        dataset="SWaT",
        entities=[None],
        plan="ablation",
        label="base",
        studies={"placement": "mean of heads"},
    )
    table = one_table(records, "ablations")
    assert cell(table, "mean of heads", "fit s, published").text == "0.45†"
    assert any("0.45 is printed, 45 is meant" in note for note in table.notes)


def test_variants_of_a_method_are_rows_of_their_own() -> None:
    records = [*tournament(), *tournament(["alora"], label="alora-paper")]
    names = [one.name for one in one_table(records, "detection").rows]
    assert names[-2:] == ["ALoRa", "ALoRa (paper)"]


def test_a_users_own_method_and_dataset_are_shown() -> None:
    records = tournament([*HONEST, "my-method", "alora"], dataset="mycsvs", entities=[None])
    table = one_table(records, "detection")
    assert table.title == "Detection on mycsvs"
    assert [one.name for one in table.rows][3:] == ["my-method", "ALoRa"]


def test_entities_are_in_natural_order_with_the_best_of_each_row_marked() -> None:
    first = build_tables(tournament(), "entities")[0]
    assert [one.name for one in first.rows] == list(MACHINES)
    assert all([one.mark for one in line.cells].count("best") >= 1 for line in first.rows)


def test_datasets_and_costs() -> None:
    whole, apart = build_tables(tournament(), "datasets")
    assert cell(whole, "SMD", "test rows").value == 6000
    assert cell(whole, "SMD", "anomalous").value == pytest.approx(0.1)
    assert cell(whole, "SMD", "anomalous, published").value == 0.156
    assert len(apart.rows) == 3
    costs = one_table(tournament(), "cost")
    assert cell(costs, "ALoRa", "score ms/row").value == pytest.approx(0.5)
    assert cell(costs, "ALoRa", "weights, published").value == 3.2e6


def test_deviations_leave_out_methods_with_one_seed() -> None:
    records = [*tournament(["alora"]), *tournament([*HONEST, "knn"], seeds=[0])]
    table = one_table(records, "deviations")
    assert [one.name for one in table.rows] == ["ALoRa"]
    assert cell(table, "ALoRa", "F1, published").value == 0.012
    assert any("Run with one seed: random, always alarm, ‖x‖, KNN." in note for note in table.notes)


def test_embedding_weights_are_the_published_ones() -> None:
    table = one_table([], "embedding")
    for line in table.rows:
        assert line.cells[0].value == line.cells[1].value
        assert line.cells[2].value == line.cells[3].value


def test_significance_knows_its_table() -> None:
    records = [
        invented(method, entity=f"machine-{number}", level=level)
        for number in range(1, 9)
        for method, level in (
            ("random", 0.5),
            ("knn", 0.6 + 0.01 * (number % 2)),
            ("alora", 0.8 + 0.01 * number),
        )
    ]
    table = build_tables(records, "significance")[0]
    assert [one.name for one in table.rows] == ["ALoRa", "KNN", "random"]
    assert cell(table, "KNN", "ALoRa is").text == "ahead"
    assert cell(table, "KNN", "average rank").value == 2
    assert cell(table, "KNN", "p").value == pytest.approx(2 * 2 / 2**8)
    assert any("Friedman" in note for note in table.notes)


def test_no_records_make_no_tables() -> None:
    assert [table.name for table in build_tables([])] == ["embedding"]
    with pytest.raises(AloraError, match="did you mean 'localization'"):
        build_tables([], "localisation")
    assert set(TABLES) >= {"detection", "range", "localization", "waiting", "cost", "ablations"}


def test_equal_looking_numbers_share_a_mark() -> None:
    cells = [Cell(value=value) for value in (0.9, 0.90004, 0.5)] + [Cell()]
    assert [one.mark for one in mark_best(cells, [True] * 4, "more")] == [
        "best",
        "best",
        None,
        None,
    ]
    less = mark_best(cells, [True, False, True, True], "less")
    assert [one.mark for one in less] == ["second", None, "best", None]
    assert mark_best(cells[:1], [True], "more")[0].mark is None


def test_arenas_name_their_place() -> None:
    assert place_of(Arena("p", "SMD", ("a",), ())) == "SMD, 1 entity"
    assert [one.dataset for one in arenas(tournament(dataset="ASD"))] == ["ASD"]
