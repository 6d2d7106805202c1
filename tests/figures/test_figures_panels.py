"""Figures of several panels: the same scales, letters, and panels without data."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest
import yaml
from archives import write_yaml
from figure_inputs import DRAWN_FILES, declare, list_layers, make_database, make_tables, plot, texts_of

from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.figures.kit import theme
from ccreport.figures.kit.text import draw_notes
from ccreport.figures.select.declaration import ALIKE, FigureError, list_panels, read_declaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.select.throughput_series import Bins, FigureTables, choose_bins, place_rows
from ccreport.figures.throughput.assemble import _stretch_single
from ccreport.figures.throughput.panels_by_condition import split_by_condition
from ccreport.figures.wording.captions import _write_panel
from ccreport.figures.wording.runs import DrawnAlgorithm, DrawnRun, name_run
from ccreport.figures.write import plot_declaration, plot_figures

EVALUATION = Path(__file__).resolve().parents[2] / "evaluations" / "esnet-dtn.yaml"
ALONE = {"title": "Alone", "overlapped": False, "where": "mode <> 'both' -- each", "run": "experiment-bbr/2"}
TOGETHER = {"title": "Together", "where": "mode = 'both'"}
NOWHERE = {"title": "No where", "where": "job = 'none'"}


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("tables"), make_tables("10.201.1.2", "nersc-tbn-1"))


@pytest.fixture(scope="module")
def pair(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plot(tmp_path_factory.mktemp("pair"), database, title="A pair", panels=[ALONE, TOGETHER])


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_panels_have_the_same_scales(pair: Path) -> None:
    # Largest rate: BBR alone, 2 × 24 × 1.1 = 52.8 Mbit/s, hence six intervals of 10; together it is 46.2, which has
    # five. Largest count: BBR together, 2 × 5 = 10 in 0.5 s, hence two intervals of 5; alone it is CUBIC's 2 × 2 = 4.
    specification = json.loads(read(pair / "figure.vl.json"))
    for panel in specification["vconcat"]:
        encodings = [layer["encoding"] for layer in list_layers(panel)]
        domains = {
            encoding["y"]["field"]: encoding["y"]["scale"]["domain"]
            for encoding in encodings
            if "scale" in encoding["y"]
        }
        assert domains == {"rate_bps": [0, 60], "rate_max_bps": [0, 60], "retransmits_count": [0, 10]}
        times = [encoding["x"]["scale"]["domain"] for encoding in encodings if "scale" in encoding["x"]]
        assert times == [[0, 4.0]] * 3
        assert (panel["width"], panel["height"]) == (670, 250)
    assert len(specification["vconcat"]) == 2


def test_panels_have_letters_and_runs_of_their_own(pair: Path) -> None:
    texts = texts_of(read(pair / "figure.svg"))
    for text in (
        "A pair",
        "(a) Alone",
        "(b) Together",
        "CUBIC and BBR, 2 flows, alone — nersc-tbn-1 to 10.201.1.2, RTT 80 ms",
        "CUBIC and BBR, 4 flows, both — nersc-tbn-1 to 10.201.1.2, RTT 80 ms",
    ):
        assert text in texts
    drawn = pl.read_csv(pair / "figure.csv", infer_schema_length=None).filter(drawn_as="line")
    assert drawn.select("panel", "run_id").unique().sort("panel", "run_id").rows() == [
        ("a", "experiment-bbr/2"),
        ("a", "experiment-cubic/1"),
        ("b", "experiment-both/2"),
    ]


def test_caption_names_runs_by_panel_and_says_common_things_once(pair: Path) -> None:
    caption = read(pair / "caption.txt")
    shown, details = caption.splitlines()
    # What both have in common, then of each what the title does not say, and what it shows.
    assert shown == (
        "CUBIC and BBR — nersc-tbn-1 to 10.201.1.2, RTT 80 ms. "
        "(a) Alone, 2 flows: BBR had 1.10 times the goodput of CUBIC in the single runs shown; "
        "(b) Together, 4 flows, both: BBR had 4.00 times the goodput of CUBIC in the run shown."
    )
    first, second = details.index("(a) "), details.index("(b) ")
    assert first < details.index("experiment-bbr/2 (iteration 2), chosen by name from ") < second
    assert second < details.index("experiment-both/2 (iteration 2), representative of 3 iterations.")
    for once in ("The panels have the same scales.", "Lines: bytes", "Path: netem", "Points: retransmitted"):
        assert details.count(once) == 1


def test_first_seconds_are_drawn_with_means_of_the_whole_test(pair: Path, database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, panels=[ALONE, TOGETHER], until_s=1.5)
    whole, shown = (pl.read_csv(folder / "figure.csv") for folder in (pair, output))
    assert whole["time_s"].max() == 3.75
    assert shown.equals(whole.filter(pl.col("time_s") < 1.5))
    assert "over the whole test; only the first 1.5 s are drawn." in read(output / "caption.txt")
    legends = [
        [line for line in texts_of(read(folder / "figure.svg")) if line.startswith("CUBIC") and "mean" in line]
        for folder in (pair, output)
    ]
    assert legends[1] == [line.replace("CUBIC:", "CUBIC, whole test:") for line in legends[0]]


def test_a_time_before_the_first_value_is_no_figure(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, panels=[ALONE, TOGETHER], until_s=0.1)
    assert [path.name for path in output.iterdir()] == ["missing.txt"]
    told = "until_s: 0.1 is before all that panel (a) draws: the first value is at 0.25 s, of 0.5 s around it; "
    assert read(output / "missing.txt") == f"{told}write until_s: 0.5 or more.\n"
    shutil.rmtree(output)
    assert (plot(tmp_path, database, panels=[ALONE, TOGETHER], until_s=0.5) / "figure.svg").exists()


def test_conditions_stand_in_each_panel_and_once_in_the_caption(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, panels=[TOGETHER, TOGETHER | {"title": "Again"}])
    conditions = "CUBIC and BBR, 4 flows, both — nersc-tbn-1 to 10.201.1.2, RTT 80 ms"
    assert texts_of(read(output / "figure.svg")).count(conditions) == 2
    caption = read(output / "caption.txt")
    assert caption.startswith(f"{conditions}. (a) Together: BBR had 4.00 times")
    assert "; (b) Again: BBR had 4.00 times" in caption
    assert caption.count("CUBIC and BBR, 4 flows") == 1


@pytest.mark.parametrize(
    ("title", "shown"),
    [
        ("Shortest RTT", "Shortest RTT (10 ms), CUBIC and BBR, 1 flow, alone"),
        ("One flow, alone", "One flow, alone, CUBIC and BBR, RTT 10 ms"),
        ("BBR with CUBIC", "BBR with CUBIC, 1 flow, alone, RTT 10 ms"),
    ],
)
def test_what_the_title_of_a_panel_says_is_not_repeated(title: str, shown: str) -> None:
    facts: Any = SimpleNamespace(
        declaration=SimpleNamespace(title=title, until_s=None),
        parts=(["CUBIC and BBR", "1 flow", "alone"], ["RTT 10 ms"]),
        algorithms=[DrawnAlgorithm("bbr", 1.0, None)],
    )
    assert _write_panel(facts, []) == shown


def test_alternative_states_the_message_of_each_panel(pair: Path) -> None:
    # Together: CUBIC 2 × 5, BBR 2 × 20 Mbit/s. Alone: CUBIC 2 × 20, BBR 2 × 22, 1.10 times as much.
    alternative = read(pair / "alt.txt")
    assert alternative.startswith(
        "Line charts of throughput over time in 2 panels with the same scales: A pair. (a) Alone"
    )
    assert (
        "BBR 44.0 Mbit/s and CUBIC 40.0 Mbit/s. BBR had 1.10 times the goodput of CUBIC in the single runs shown."
        in alternative
    )
    assert "(b) Together: " in alternative
    assert (
        "BBR 40.0 Mbit/s and CUBIC 10.0 Mbit/s. BBR had 4.00 times the goodput of CUBIC in the run shown."
        in alternative
    )


def test_same_panels_give_the_same_bytes(pair: Path, database: Path, tmp_path: Path) -> None:
    again = plot(tmp_path, database, title="A pair", panels=[ALONE, TOGETHER])
    for name in DRAWN_FILES:
        assert (again / name).read_bytes() == (pair / name).read_bytes(), name


@pytest.mark.parametrize(
    ("absent", "reason"),
    [
        (NOWHERE, "Panel (a), No where, is left out: no run matches its condition."),
        (ALONE | {"run": "gone"}, "Panel (a), Alone, is left out: run gone is none of the 3 runs that match"),
        (TOGETHER | {"overlapped": False}, "Panel (a), Together, is left out: of 3 runs that match, none ran one"),
    ],
)
def test_panel_without_data_is_left_out_with_its_reason(
    absent: dict[str, Any], reason: str, database: Path, tmp_path: Path
) -> None:
    output = plot(tmp_path, database, panels=[absent, TOGETHER])
    assert {path.name for path in output.iterdir()} == DRAWN_FILES
    for name in ("caption.txt", "alt.txt"):
        assert reason in read(output / name)
    # The other keeps its letter, so that it can be compared with what it stands for.
    texts = texts_of(read(output / "figure.svg"))
    assert "(b) Together" in texts
    assert not any(text.startswith("(a)") for text in texts)
    assert "same scales" not in read(output / "caption.txt")


def test_figure_without_any_panel_is_missing(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, panels=[NOWHERE, NOWHERE | {"title": "Nor here"}])
    assert [path.name for path in output.iterdir()] == ["missing.txt"]
    assert read(output / "missing.txt") == (
        "Panel (a), No where, is left out: no run matches its condition. "
        "Panel (b), Nor here, is left out: no run matches its condition.\n"
    )


def test_condition_of_a_panel_is_over_the_runs_of_its_figure(database: Path, tmp_path: Path) -> None:
    # The last iteration of BBR alone is its 2nd; of all runs it is the 3rd, of both.
    last = {"title": "Last", "where": "iteration = (SELECT max(iteration) FROM figure_runs)"}
    output = plot(tmp_path, database, overlapped=False, where="mode = 'bbr' -- alone", panels=[last])
    lines = pl.read_csv(output / "figure.csv", infer_schema_length=None).filter(drawn_as="line")
    assert lines["run_id"].unique().to_list() == ["experiment-bbr/2"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"panels": [TOGETHER], "run": "r"}, "figure 'f': `run` belongs to one of its panels"),
        ({"panels": [TOGETHER], "kind": "time_sequence"}, "figure 'f': the kind 'time_sequence' has no `panels`, only"),
        ({"panels": [TOGETHER] * 27}, "figure 'f' has more panels than there are letters"),
        ({"panels": []}, "figures.f.panels: is empty"),
        ({"panels": [{"title": "x"}]}, "figures.f.panels.0: `where` is missing"),
        ({"panels": [TOGETHER, NOWHERE | {"where": "x = 1"}]}, "figure 'f (b)': the database refuses its `where`"),
    ],
)
def test_panels_that_cannot_be_used(changes: dict[str, Any], message: str, database: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        plot(tmp_path, database, **changes)


def test_versions_of_bbr_keep_their_own_colours(tmp_path: Path) -> None:
    tables = make_tables("h", "s")
    second = {
        name: frame.with_columns(
            pl.col("^(run_id|flow_id|condition_id|experiment_id)$").str.replace("^", "2nd-"),
            pl.col("^cc$").str.replace("bbr", "bbr2"),
        )
        for name, frame in tables.items()
    }
    database = make_database(tmp_path, {name: pl.concat([tables[name], second[name]]) for name in tables})
    panels = [
        {"title": "BBRv1", "where": "NOT starts_with(run_id, '2nd')"},
        {"title": "BBRv2", "where": "starts_with(run_id, '2nd')"},
    ]
    output = plot(tmp_path, database, where="mode = 'both'", panels=panels)
    scales = [
        next(
            layer["encoding"]["color"]["scale"]
            for layer in list_layers(panel)
            if "scale" in layer["encoding"].get("color", {})
        )
        for panel in json.loads(read(output / "figure.vl.json"))["vconcat"]
    ]
    colours = {cc: theme.STYLES[cc].colour for cc in ("cubic", "bbr", "bbr2")}
    assert scales == [
        {"domain": ["cubic", "bbr"], "range": [colours["cubic"], colours["bbr"]]},
        {"domain": ["cubic", "bbr2"], "range": [colours["cubic"], colours["bbr2"]]},
    ]
    svg = read(output / "figure.svg")
    # A line of each is drawn: the stroke of a line, not only of its entry in the legend.
    for colour in colours.values():
        assert len(re.findall(f'<path[^>]*d="M[^"]*L[^"]*"[^>]*stroke="{colour}"[^>]*stroke-width="2"', svg)) >= 1
    assert "BBRv2: mean goodput 40.0 Mbit/s, retransmits 4.5 %" in texts_of(svg)


def test_counts_of_all_panels_are_in_bins_of_the_same_width() -> None:
    flows = pl.DataFrame({"run_id": "r", "flow_id": "0", "cc": "bbr", "client_number": 1, "start_offset_s": 0.0})
    samples = pl.DataFrame(
        schema={
            "run_id": pl.String,
            "flow_id": pl.String,
            "connection_number": pl.Int64,
            "time_utc": pl.Datetime("us", "UTC"),
            "retransmits_ss_count": pl.Int64,
            "acked_bytes": pl.Int64,
        }
    )

    def place(step_s: float, count: int) -> Any:
        starts = [number * step_s for number in range(count)]
        intervals = pl.DataFrame({"run_id": "r", "flow_id": "0", "start_s": starts, "is_omitted": False}).with_columns(
            end_s=pl.col("start_s") + step_s, interval_bps=pl.lit(8.0), retransmits_iperf3_count=pl.lit(1)
        )
        return place_rows(FigureTables(pl.DataFrame(), flows, intervals, samples, pl.DataFrame()), ["r"])

    # iperf3 reported every 0.5 s in one panel and every second in the other.
    assert choose_bins([place(0.5, 30)]) == [Bins(0.5, 0.5)]
    assert choose_bins([place(0.5, 30), place(1.0, 30)]) == [Bins(1.0, 1.0)] * 2
    # A minute of one panel is longer than the whole test of the other.
    assert choose_bins([place(0.5, 60), place(60, 2)]) == [Bins(0.5, 0.5), Bins(50.0, 50.0)]


@pytest.mark.slow
def test_figures_of_two_processes_are_those_of_one(
    database: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    evaluation = declare(tmp_path, panels=[TOGETHER])
    monkeypatch.setattr("ccreport.figures.write.WORTH_PROCESSES", 4)
    declared = yaml.safe_load(read(evaluation))
    names = [f"f{number}" for number in range(4)]
    declared["figures"] = dict.fromkeys(names, declared["figures"]["f"])
    write_yaml(evaluation, declared)
    plot_figures(names, evaluation, database, tmp_path / "drawn/figures.json", tmp_path / "many")
    plot_declaration(read_declaration(evaluation, "f0"), database, tmp_path / "one")
    for figure in names:
        for name in DRAWN_FILES:
            assert (tmp_path / "many" / figure / name).read_bytes() == (tmp_path / "one" / name).read_bytes()
    with pytest.raises(FigureError, match="no figure `g`"):
        plot_figures([*names, "g"], evaluation, database, tmp_path / "drawn/figures.json", tmp_path / "broken")
    declared["figures"]["f3"] = declared["figures"]["f3"] | {"where": "no_such_column = 1"}
    write_yaml(evaluation, declared)
    with pytest.raises(FigureError, match=re.escape("figure 'f3': the database refuses its `where`")):
        plot_figures(names, evaluation, database, tmp_path / "drawn/figures.json", tmp_path / "broken")


def test_evaluation_declares_the_papers_figures_in_order() -> None:
    declared = load_evaluation(EVALUATION)["figures"]
    names = [name for name in declared if re.fullmatch(r"figure_\d+", name)]
    assert names[:13] == [f"figure_{number}" for number in range(2, 15)]
    assert list(list_panels(read_declaration(EVALUATION, "figure_6"))) == ["a", "b"]
    assert [panel.overlapped for panel in list_panels(read_declaration(EVALUATION, "figure_6")).values()] == [
        False,
        True,
    ]


@pytest.mark.slow
def test_each_condition_of_the_archive_is_a_panel(database: Path, tmp_path: Path) -> None:
    for name in ("alone", "both"):
        (tmp_path / name).mkdir()
    alone = plot(tmp_path / "alone", database, title="Alone", overlapped=False, where="TRUE", panels_by=["mode"])
    assert read(alone / "caption.txt").startswith(
        "2 flows, alone — nersc-tbn-1 to 10.201.1.2, RTT 80 ms. (a) bbr; (b) cubic.\n"
    )
    # The value of a parameter goes by its name.
    tables = make_tables("10.201.1.2", "nersc-tbn-1")
    is_bbr = pl.col("run_id").str.starts_with("experiment-bbr")
    told = {
        "parameter_name": pl.lit("build"),
        "parameter_value": pl.when(is_bbr).then(pl.lit("after")).otherwise(pl.lit("before")),
    }
    tables["runs"] = tables["runs"].with_columns(**told)
    (tmp_path / "named").mkdir()
    built = make_database(tmp_path / "named", tables)
    named = plot(
        tmp_path / "named", built, title="Alone", overlapped=False, where="TRUE", panels_by=["parameter_value"]
    )
    assert "(a) build after" in read(named / "caption.txt")
    # Versions are counted, not spelt.
    versions = pl.when(is_bbr).then(pl.lit("6.12")).otherwise(pl.lit("6.2"))
    tables["runs"] = tables["runs"].with_columns(parameter_value=versions)
    (tmp_path / "counted").mkdir()
    built = make_database(tmp_path / "counted", tables)
    counted = plot(
        tmp_path / "counted", built, title="Alone", overlapped=False, where="TRUE", panels_by=["parameter_value"]
    )
    assert "(a) build 6.2, CUBIC; (b) build 6.12, BBR." in read(counted / "caption.txt")
    # As they are declared; paths by their RTT, not by their names.
    by_path = tables["runs"].with_columns(
        loss_pct=pl.when(is_bbr).then(0.1).otherwise(1.0), rtt_ms=pl.when(is_bbr).then(80.0).otherwise(10.0)
    )
    for columns, first in ((["loss_pct", "rtt_ms"], "(a) 0.1 % loss"), (["rtt_ms", "loss_pct"], "(a) RTT 10 ms")):
        (tmp_path / columns[0]).mkdir()
        built = make_database(tmp_path / columns[0], tables | {"runs": by_path})
        placed = plot(tmp_path / columns[0], built, title="Alone", overlapped=False, where="TRUE", panels_by=columns)
        assert first in read(placed / "caption.txt")
    # One condition needs no letter.
    together = plot(tmp_path / "both", database, title="Both", where="TRUE", panels_by=["mode", "flows_count"])
    assert "(a)" not in read(together / "caption.txt")


@pytest.mark.parametrize(
    ("column", "values", "told"),
    [
        ("pacing_bps", (120e6, 20e6), "CUBIC (paced to 20 Mbit/s) and BBR (paced to 120 Mbit/s)"),
        ("flows_count", (2, 4), "CUBIC (4 flows) and BBR (2 flows)"),
        ("volume_bytes", (None, 2**20), "CUBIC (1 MiB in all) and BBR (no given volume)"),
        ("duration_s", (10.0, 30.0), "CUBIC (duration 30 s) and BBR (duration 10 s)"),
        (
            "stages_json",
            ('[{"at_s": 5, "loss": 1}]', None),
            "CUBIC (no change of the path) and BBR (changes at 5 s: loss 1 %)",
        ),
        ("parameter_value", ("download", "upload"), "CUBIC (value upload) and BBR (value download)"),
    ],
)
def test_runs_that_differ_otherwise_have_panels_of_their_own_and_no_ratio(
    column: str, values: tuple[Any, Any], told: str, tmp_path: Path
) -> None:
    generic = load_evaluation(EVALUATION.with_name("generic.yaml"))
    panels_by = generic["figures"]["throughput_alone"]["panels_by"]
    assert {*generic["tables"]["means"]["rows"]} - {"algorithm", "beside"} == {*panels_by}
    assert {*ALIKE} - {"queue"} == {*panels_by} - {"queue_discipline", "has_queue_ecn"}
    tables = make_tables("10.201.1.2", "nersc-tbn-1")
    is_bbr = pl.col("run_id").str.starts_with("experiment-bbr")
    own = pl.when(is_bbr).then(pl.lit(values[0])).otherwise(pl.lit(values[1]))
    tables["runs"] = tables["runs"].with_columns(own.alias(column))
    built = make_database(tmp_path, tables)
    for name, divided in (("apart", {"panels_by": panels_by}), ("together", {})):
        (tmp_path / name).mkdir()
        shown = plot(tmp_path / name, built, title="Alone", overlapped=False, where="TRUE", **divided)
        caption, alternative = read(shown / "caption.txt"), read(shown / "alt.txt")
        assert " times the goodput" not in caption + alternative
        assert ("(b)" in caption) == (name == "apart")
        said = f"The runs differ in more than their algorithms: {told}."
        assert [said in text for text in (caption.partition("\n")[0], alternative)] == [name == "together"] * 2


def test_panels_go_by_what_labels_are_shown_as(database: Path, tmp_path: Path) -> None:
    facts = {"overlapped": False, "where": "TRUE", "panels_by": ["mode"]}
    declaration = read_declaration(declare(tmp_path, **facts), "f")
    shown = replace(declaration, shown={"mode": {"bbr": "Bottleneck"}})
    with Database(database) as opened:
        titles = [
            [panel["title"] for panel in split_by_condition(one, opened)[0].panels] for one in (declaration, shown)
        ]
    assert titles == [["bbr", "cubic"], ["Bottleneck", "cubic"]]


def test_the_queue_is_named_where_queues_differ_in_the_archive(tmp_path: Path) -> None:
    tables = make_tables("10.201.1.2", "nersc-tbn-1")
    marks = pl.col("run_id").str.starts_with("experiment-bbr")
    captions = []
    for name, ecn in (("apart", marks), ("alike", pl.lit(value=True))):
        tables["runs"] = tables["runs"].with_columns(queue_discipline=pl.lit("fq_codel"), has_queue_ecn=ecn)
        (tmp_path / name).mkdir()
        built = make_database(tmp_path / name, tables)
        columns = ["queue_discipline", "has_queue_ecn"]
        shown = plot(tmp_path / name, built, title="Alone", overlapped=False, where="TRUE", panels_by=columns)
        captions.append(read(shown / "caption.txt"))
    assert "(a) queue without ECN, CUBIC; (b) queue with ECN, BBR." in captions[0]
    assert "queue fq_codel with ECN." in captions[0]
    assert "queue" not in captions[1]


def test_a_column_that_is_not_there_is_a_fault_of_the_evaluation(database: Path, tmp_path: Path) -> None:
    with pytest.raises(FigureError, match="refuses its `where` or `panels_by`"):
        plot(tmp_path, database, title="None", where="TRUE", panels_by=["no_such"])


def test_panels_of_short_and_long_tests_have_bins_and_axes_of_their_own(tmp_path: Path) -> None:
    tables = make_tables("10.201.1.2", "nersc-tbn-1")
    # Each run's interval is a minute in one panel, as of a tool without --interval; that of the other stays 0.5 s.
    is_long = pl.col("run_id").str.starts_with("experiment-both")
    scaled = [
        pl.when(is_long).then(pl.col(name) * 120).otherwise(pl.col(name)).alias(name) for name in ("start_s", "end_s")
    ]
    tables["intervals"] = tables["intervals"].with_columns(scaled)
    tables["samples"] = tables["samples"].filter(~is_long)
    output = plot(tmp_path, make_database(tmp_path, tables), panels=[ALONE, TOGETHER])
    drawn = pl.read_csv(output / "figure.csv", infer_schema_length=None).filter(drawn_as="line")
    assert drawn.filter(panel="a")["time_s"].unique().sort().to_list()[:2] == [0.25, 0.75]
    assert drawn.filter(panel="b")["time_s"].min() == 25
    specification = json.loads(read(output / "figure.vl.json"))
    ends = [
        {
            layer["encoding"]["x"]["scale"]["domain"][1]
            for layer in list_layers(panel)
            if "scale" in layer["encoding"]["x"]
        }
        for panel in specification["vconcat"]
    ]
    assert [len(own) for own in ends] == [1, 1]
    assert max(ends[0]) == 4
    assert max(ends[1]) > 400
    assert "The panels have the same scale of rates, and those of time and retransmits each its own." in (
        read(output / "caption.txt")
    )


@pytest.mark.parametrize(
    ("run_id", "name"),
    [
        ("results-c099142bc3.run1-34e9aedeff", "run1"),
        ("lab-2.0-c099142bc3.10.0.0.2-3-34e9aedeff", "10.0.0.2-3"),
        ("experiment-bbr/2", "experiment-bbr/2"),
    ],
)
def test_a_run_without_an_iteration_goes_by_its_own_name(run_id: str, name: str) -> None:
    drawn = DrawnRun({"iteration": None, "run_id": run_id, "mode": "bbr"}, 1, is_declared=False)
    assert name_run(drawn, overlapped=True) == f"{name}, the only iteration with data"


def test_a_run_goes_by_its_session_where_an_archive_has_several() -> None:
    run = {"iteration": 1, "run_id": "x", "mode": "bbr", "session": "2026-11-25:17:56"}
    expected = "BBR: session 2026-11-25:17:56, iteration 1, the most typical of 5 in mean rate and retransmits"
    assert name_run(DrawnRun(run, 5, is_declared=False), overlapped=False) == expected
    assert name_run(DrawnRun(run | {"session": None}, 1, is_declared=True), overlapped=True).startswith("iteration 1,")


def test_a_line_of_one_bin_is_as_long_as_the_bin() -> None:
    rates = pl.DataFrame(
        {"run_id": ["a", "b", "b"], "cc": "bbr", "time_s": [25.0, 0.25, 0.75], "rate_bps": [1.0, 2, 3]}
    )
    assert _stretch_single(rates, ["run_id", "cc"], 50).select("run_id", "time_s", "rate_bps").rows() == [
        *(("a", 0.0, 1.0), ("a", 50.0, 1.0)),
        *(("b", 0.25, 2.0), ("b", 0.75, 3.0)),
    ]


def test_long_notes_leave_room_for_the_title_of_the_time_axis() -> None:
    (chart,) = draw_notes(["netem: delays 5 ms, 20 ms and 50 ms, loss 0.1 and 0.5 %, limit 10,000 packets"])
    assert len(chart.to_dict()["mark"]["text"]) == 2
