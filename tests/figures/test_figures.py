"""Figures from a database to files: what they show, say and leave out."""

import json
import re
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl
import pytest
from figure_inputs import DRAWN_FILES, declare, list_layers, make_database, make_tables, plot, texts_of
from PIL import Image

from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation, resolve_evaluation
from ccreport.figures.exhibits import Exhibit, find_number, list_exhibits
from ccreport.figures.kinds import BUILDERS
from ccreport.figures.select.declaration import FigureError, read_declaration
from ccreport.figures.select.recording_database import Database
from ccreport.figures.write import FILES

BOTH = "experiment-both/1, experiment-both/2, experiment-both/3"
HOSTILE = '<script>alert("x")</script> & $(touch pwned)\n2nd line'


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_database(tmp_path_factory.mktemp("tables"), make_tables("10.201.1.2", "nersc-tbn-1"))


@pytest.fixture(scope="module")
def overlapped(database: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return plot(tmp_path_factory.mktemp("overlapped"), database, where="path_class = 'testbed' -- all of them")


def test_overlapped_figure_has_its_files(overlapped: Path) -> None:
    assert {path.name for path in overlapped.iterdir()} == DRAWN_FILES
    assert all(path.stat().st_size < 1_000_000 for path in overlapped.iterdir())
    with Image.open(overlapped / "figure.png") as picture:
        # A byte a pixel: a report has a hundred of them.
        assert (picture.format, picture.mode) == ("PNG", "P")
    svg = (overlapped / "figure.svg").read_text(encoding="utf-8")
    assert set(re.findall(r"https?://[^\"'\s<]+", svg)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    # Without an axis at the right.
    assert 720 <= float(re.findall(r'<svg[^>]* width="([\d.]+)"', svg)[0]) <= 780


def test_overlapped_figure_draws_the_representative_run(overlapped: Path) -> None:
    # Iteration 2: CUBIC 2 × 5 × 1.1 = 11 Mbit/s, BBR 2 × 20 × 1.1 = 44; retransmits 2 × 1 and 2 × 5 per half second.
    drawn = pl.read_csv(overlapped / "figure.csv", infer_schema_length=None)
    lines = drawn.filter(drawn_as="line")
    assert lines["run_id"].unique().to_list() == ["experiment-both/2"]
    assert lines.group_by("cc").agg(pl.col("rate_bps").unique()).sort("cc").rows() == [
        ("bbr", [44e6]),
        ("cubic", [11e6]),
    ]
    assert lines.filter(cc="bbr")["time_s"].to_list() == [0.25, 0.75, 1.25, 1.75, 2.25, 2.75, 3.25, 3.75]
    points = drawn.filter(drawn_as="point").group_by("cc").agg(pl.col("retransmits_count").unique()).sort("cc")
    assert points.rows() == [("bbr", [10]), ("cubic", [2])]
    # In the bins of the lines.
    assert drawn.filter(drawn_as="point", cc="cubic")["time_s"].equals(lines.filter(cc="cubic")["time_s"])
    # The others: CUBIC 2 × 4 × 1.1 = 8.8 and 13.2, BBR 46.2 and 41.8.
    band = drawn.filter(drawn_as="band").select("cc", "rate_min_bps", "rate_max_bps").unique().sort("cc")
    assert band.rows() == [("bbr", 41.8e6, 46.2e6), ("cubic", 8.8e6, 13.2e6)]


def test_overlapped_figure_says_what_it_shows(overlapped: Path) -> None:
    texts = texts_of((overlapped / "figure.svg").read_text(encoding="utf-8"))
    # Retransmit ratios: CUBIC 9/1000, BBR 45/1000.
    for text in (
        "Two flows each",
        "CUBIC and BBR, 4 flows, both — nersc-tbn-1 to 10.201.1.2, RTT 80 ms",
        "CUBIC: mean goodput 10.0 Mbit/s, retransmits 0.90 %",
        "BBR: mean goodput 40.0 Mbit/s, retransmits 4.5 %",
        "range of the other 2 iterations",
        "line: the run closest to the mean",
        "netem: delay 40 ms each way, loss 0.01 %, limit 10,000 packets",
        "Throughput (Mbit/s)",
        "Retransmitted segments per 0.5 s",
    ):
        assert text in texts
    caption = (overlapped / "caption.txt").read_text(encoding="utf-8")
    assert "Run shown: experiment-both/2 (iteration 2), representative of 3 iterations." in caption
    assert "the medoid of its iterations in the rate of each algorithm and the retransmit ratio" in caption
    assert "typical in its means, so its line may leave the range of the others at times." in caption
    assert caption.count("\n") == 2
    assert (overlapped / "alt.txt").read_text(encoding="utf-8") == (
        "Line chart of throughput over time: CUBIC and BBR, 4 flows, both — nersc-tbn-1 to 10.201.1.2, "
        "RTT 80 ms. "
        "Mean goodput: BBR 40.0 Mbit/s and CUBIC 10.0 Mbit/s. "
        "BBR had 4.00 times the goodput of CUBIC in the run shown. "
        "Retransmitted segments: BBR 4.5 % and CUBIC 0.90 % of the data segments sent.\n"
    )


def test_axes_start_at_zero_and_retransmits_have_a_strip_of_their_own_below_the_lines(overlapped: Path) -> None:
    specification = json.loads((overlapped / "figure.vl.json").read_text(encoding="utf-8"))
    encodings = [
        layer["encoding"]["y"]
        for layer in list_layers(specification)
        if "scale" in layer.get("encoding", {}).get("y", {})
    ]
    domains = {encoding["field"]: encoding["scale"]["domain"] for encoding in encodings}
    # The largest rate is 46.2 Mbit/s, the largest count 10: two intervals of 5.
    assert domains == {"rate_bps": [0, 50], "rate_max_bps": [0, 50], "retransmits_count": [0, 10]}
    counts = next(encoding for encoding in encodings if encoding["field"] == "retransmits_count")
    assert counts["axis"]["orient"] == "left"
    assert counts["axis"]["values"] == [0, 5, 10]
    # In px from the top: where the lines end the strip has not begun, and it ends at the time axis.
    (foot, strip_top), (lines_foot, top) = counts["scale"]["range"], encodings[0]["scale"]["range"]
    assert 0 == top < lines_foot < strip_top < foot == specification["height"]
    assert specification["resolve"] == {"scale": {"y": "independent"}}


def test_same_input_gives_the_same_bytes(overlapped: Path, database: Path, tmp_path: Path) -> None:
    again = plot(tmp_path, database, where="path_class = 'testbed' -- all of them")
    for name in DRAWN_FILES:
        assert (again / name).read_bytes() == (overlapped / name).read_bytes(), name


def test_what_is_put_together_by_reference_is_what_altair_copies_and_checks(
    overlapped: Path, database: Path, tmp_path: Path
) -> None:
    declaration = read_declaration(declare(tmp_path, where="path_class = 'testbed' -- all of them"), "f")
    with Database(database) as opened:
        chart = BUILDERS[declaration.kind](declaration, opened).chart
    assert json.loads(chart.to_json()) == json.loads((overlapped / "figure.vl.json").read_text())
    assert not hasattr(alt.Chart, "__deepcopy__")


def test_separate_runs_are_overlaid(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, overlapped=False, rate="throughput", run="experiment-bbr/2", title="")
    lines = pl.read_csv(output / "figure.csv", infer_schema_length=None).filter(drawn_as="line")
    # BBR's run is the declared one (not the first of two, which are tied), CUBIC's the only one.
    assert lines.select("run_id", "cc").unique().sort("cc").rows() == [
        ("experiment-bbr/2", "bbr"),
        ("experiment-cubic/1", "cubic"),
    ]
    texts = texts_of((output / "figure.svg").read_text(encoding="utf-8"))
    assert "CUBIC and BBR, 2 flows, alone — nersc-tbn-1 to 10.201.1.2, RTT 80 ms" in texts
    assert "the other iteration" in texts
    # 2 × 22 × 1.1 = 48.4 Mbit/s
    assert "BBR: mean throughput 48.4 Mbit/s, retransmits 0 %" in texts


def test_names_from_the_archive_come_out_literally(tmp_path: Path) -> None:
    tables = make_tables(HOSTILE, "{{< include x >}} ${x}")
    output = plot(tmp_path, make_database(tmp_path, tables), overlapped=True, title="Names")
    svg = (output / "figure.svg").read_text(encoding="utf-8")
    assert "<script" not in svg
    shown = '{{< include x >}} ${x} to <script>alert("x")</script> & $(touch pwned)\\n2nd line, RTT 80 ms'
    # The picture may cut a long title short; caption and alternative have all of it.
    assert any(text and shown.startswith(text.rstrip("…")) and "<script>" in text for text in texts_of(svg))
    for name in ("caption.txt", "alt.txt"):
        assert shown in (output / name).read_text(encoding="utf-8")
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (
            {"where": "job = 'none'", "needs": "runs of none"},
            "The archive has no runs of none. The condition: job = 'none'\n",
        ),
        ({"where": "job = 'bbr'"}, "Of 2 runs that match, none ran both algorithms at the same time with intervals"),
        ({"overlapped": False, "where": "mode = 'both'"}, "Of 3 runs that match, none ran one algorithm alone"),
        (
            {"run": "gone"},
            f"Run gone is none of the 3 runs that match: {BOTH}.\n",
        ),
        (
            {"run": "both/"},
            f"Run both/ is part of the names of 3 of the 3 runs that match: {BOTH}.\n",
        ),
    ],
)
def test_figure_without_data_is_never_drawn(
    changes: dict[str, Any], reason: str, database: Path, tmp_path: Path
) -> None:
    (tmp_path / "out").mkdir()
    for name in FILES:
        (tmp_path / "out" / name).write_text("of an earlier build", encoding="utf-8")
    output = plot(tmp_path, database, **changes)
    assert [path.name for path in output.iterdir()] == ["missing.txt"]
    line = (output / "missing.txt").read_text(encoding="utf-8")
    assert line.startswith(reason)
    assert line.count("\n") == 1


def test_runs_that_do_not_count_are_not_drawn(tmp_path: Path) -> None:
    tables = make_tables("h", "s")
    tables["runs"] = tables["runs"].with_columns(is_counted=pl.lit(False))
    output = plot(tmp_path, make_database(tmp_path, tables))
    assert (output / "missing.txt").read_text(encoding="utf-8") == (
        "Of 6 runs that match, none counts (interrupted, or without a bulk transfer).\n"
    )


def test_run_without_samples_is_drawn_from_iperf3(tmp_path: Path) -> None:
    tables = make_tables("h", "s")
    tables["samples"] = tables["samples"].clear()
    tables["intervals"] = tables["intervals"].with_columns(retransmits_iperf3_count=pl.lit(3))
    output = plot(tmp_path, make_database(tmp_path, tables))
    points = pl.read_csv(output / "figure.csv", infer_schema_length=None).filter(drawn_as="point", cc="bbr")
    assert points.select("time_s", "retransmits_count", "source").head(2).rows() == [
        (0.25, 6, "iperf3"),
        (0.75, 6, "iperf3"),
    ]
    assert "counted by iperf3." in (output / "caption.txt").read_text(encoding="utf-8")


def test_run_without_any_retransmits_recorded_has_no_second_axis(tmp_path: Path) -> None:
    tables = make_tables("h", "s")
    tables["samples"] = tables["samples"].clear()
    output = plot(tmp_path, make_database(tmp_path, tables))
    assert "No retransmits were recorded." in (output / "caption.txt").read_text(encoding="utf-8")
    assert "Retransmitted segments per 0.5 s" not in (output / "figure.svg").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "pie"}, "figures.f.kind: `pie` is not one of"),
        ({"rate": "speed"}, "figures.f.rate: `speed` is not one of"),
        ({"colour": "red"}, "figures.f: `colour` is not a key"),
        ({"where": "no_such_column = 1"}, "the database refuses its `where`"),
    ],
)
def test_declaration_that_cannot_be_used(changes: dict[str, Any], message: str, database: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        plot(tmp_path, database, **changes)


@pytest.mark.parametrize(
    ("figure", "said"), [("g", "no figure `g`; there are f"), ("f1", "no figure `f1`; did you mean `f`?")]
)
def test_figure_that_is_not_declared(figure: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(FigureError, match=f"^{re.escape(said)}$"):
        read_declaration(declare(tmp_path), figure)


def test_a_figure_goes_by_its_number_in_the_report(tmp_path: Path) -> None:
    declared = load_evaluation(resolve_evaluation("esnet-dtn"))["figures"]
    exhibits = list_exhibits(declared)
    for wanted, name in {"4": "figure_4", "Figure 10": "figure_10", "fig. 2": "figure_2", "s1": "topology"}.items():
        assert find_number(exhibits, wanted) == name
    assert find_number(exhibits, "S99") is None
    # A table is not a figure of the same number.
    assert find_number(exhibits, "Table 10") is None
    assert find_number(exhibits, "table_10") is None
    tables = [Exhibit("first", "Table I: a", number="I"), Exhibit("third", "Table III: b", number="III")]
    assert [find_number(tables, wanted) for wanted in ("Table 3", "table iii", "III")] == ["third"] * 3
    assert find_number(tables, "Table 2") is None
    # Those without data come last.
    (tmp_path / "topology").mkdir()
    (tmp_path / "topology/missing.txt").touch()
    assert find_number(list_exhibits(declared, tmp_path), "Figure S1") == "one_flow_whole_test"


@pytest.mark.parametrize(("nic_bps", "is_drawn"), [(None, False), (60e6, True), (100e9, False)])
def test_the_caption_explains_a_dotted_line_only_where_there_is_one(
    nic_bps: float | None, is_drawn: bool, tmp_path: Path
) -> None:
    tables = make_tables("10.201.1.2", "nersc-tbn-1")
    line_rates = {"nic_bps": pl.lit(nic_bps, pl.Float64), "bottleneck_bps": pl.lit(None, pl.Float64)}
    tables["runs"] = tables["runs"].with_columns(**line_rates)
    output = plot(tmp_path, make_database(tmp_path, tables), where="mode <> 'both'", overlapped=False)
    caption = (output / "caption.txt").read_text(encoding="utf-8")
    assert ("Dotted: rate of the bottleneck" in caption) is is_drawn
    # Each line is of a run of its own.
    assert caption.count("BBR run shown: experiment-bbr/") == caption.count("CUBIC run shown: experiment-cubic/") == 1
