"""What the explorer's page loads: the list of all runs and the series of each."""

import base64
import json
from pathlib import Path

import polars as pl
import pytest
from archives import EPOCH
from explorer_site import (
    FIRST,
    HOSTILE,
    HOSTILE_ID,
    PLAIN_COUNT,
    SECOND,
    empty_database,
    export_database,
    read_script,
    write_claims,
    write_database,
)
from polars.testing import assert_frame_equal

from ccreport.core.tables import write_table
from ccreport.explorer.export import FLOWS_AT_MOST, bundle_vega, iterate_batches, write_vega
from ccreport.explorer.palette import DARK_PAPER, describe_algorithms, find_contrast, lighten
from ccreport.explorer.run_list import explain_state, measure_deviation
from ccreport.explorer.run_series import describe_runs
from ccreport.explorer.script import name_script, round_number, write_call
from ccreport.figures.kit.theme import STYLES
from ccreport.rebuild.batches import IGNORE_CACHES
from ccreport.summarise.database import connect
from ccreport.trace.rows.candidates import explain_uncounted


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    export_database(write_database(folder), folder / "explorer")
    return folder / "explorer"


def read_run(export: Path, run_id: str) -> dict:
    written_id, series = json.loads(read_script(export / "runs" / f"{name_script(run_id)}.js"))
    assert written_id == run_id
    return series


def read_list(export: Path) -> dict:
    (packed,) = json.loads(read_script(export / "runs.js"))
    return packed


def unpack(part: dict) -> list[str | None]:
    return [None if number < 0 else part["texts"][number] for number in part["index"]]


def test_a_run_has_the_series_of_each_flow(export: Path) -> None:
    # Intervals of 0.5 s from 0 to 2 s: rates in the middle of 4 bins. Samples at 0, 0.5, 1 and 1.5 s whose counter
    # reads 1, 2, 3, 4: one more each time, and the first contributes its count.
    cubic, bbr = read_run(export, FIRST)["flows"]
    assert read_run(export, FIRST)["bin_s"] == 0.5
    assert (cubic["cc"], cubic["name"]) == ("cubic", "flow 1 (port 4001)")
    # Mbit/s, Mbit/s, segments, %, ms, segments; the mean window is unknown.
    assert cubic["totals"] == [4, 3.5, 1234567, 0.25, 12.35, None]
    assert cubic["rate"] == [0.25, [4, 4, 4, 4]]
    assert bbr["rate"] == [0.25, [20, 20, 20, 20]]
    assert cubic["retransmits"] == [0.25, [1, 1, 1, 1]]
    assert cubic["cwnd"] == [0.0, [10, 20, 30, 40]]
    assert cubic["rtt"] == [0.0, [12.5] * 4]


def test_a_flow_that_ss_never_saw_is_described_by_iperf3(export: Path) -> None:
    (flow,) = read_run(export, HOSTILE_ID)["flows"]
    # 3 in each interval; 14480 B are 10 segments of 1448 B; windows and RTTs are those at an interval's end.
    assert flow["retransmits"] == [0.25, [3, 3, 3, 3]]
    assert flow["cwnd"] == [0.5, [10, 10, 10, 10]]
    assert flow["rtt"] == [0.5, [33, 33, 33, 33]]


def test_a_run_that_was_not_observed_has_a_script_without_flows(export: Path) -> None:
    assert read_run(export, "e2.h1-1-20ms-cc")["flows"] == []


def test_every_run_is_listed_and_can_be_named_from_its_parts(export: Path) -> None:
    packed = read_list(export)
    ids = [
        a + b + c for a, b, c in zip(unpack(packed["heads"]), unpack(packed["middles"]), packed["tails"], strict=True)
    ]
    assert packed["count"] == len(ids) == PLAIN_COUNT + 3
    assert ids[0] == FIRST
    assert ids[-1] == HOSTILE_ID
    names = {packed["scripts"].get(str(number), run_id) for number, run_id in enumerate(ids)}
    assert names == {path.stem for path in (export / "runs").glob("*.js")}


def test_runs_that_do_not_count_are_listed_and_flagged(export: Path) -> None:
    states = unpack(read_list(export)["states"])
    assert (states[0], states[1], states[-1]) == ("counted", "suspect", "interrupted")
    (rules,) = (column for column in read_list(export)["columns"] if column["key"] == "suspect_rules")
    assert unpack(rules)[:3] == [None, "kernel_drops, sample_gap", None]


def test_a_run_leads_to_the_raw_files_of_its_job_where_any_was_read(export: Path) -> None:
    files = unpack(read_list(export)["files"])
    assert files[:2] == ["ledger_files.html#job-e1"] * 2
    assert set(files[2:]) == {None}


def test_a_run_is_listed_with_the_exhibits_of_the_publication_that_it_is_for(export: Path) -> None:
    packed = read_list(export)
    assert packed["exhibits"] == ["Table I", "Figure 2"]
    (exhibits,) = (column for column in packed["columns"] if column["key"] == "exhibits")
    assert unpack(exhibits)[:3] == ["Table I", "Table I, Figure 2", None]


def test_measures_are_in_the_units_they_are_labelled_with(export: Path) -> None:
    columns = {column["key"]: column for column in read_list(export)["columns"]}
    assert columns["rate_bps"]["unit"] == "Mbit/s"
    assert columns["rate_bps"]["values"][0] == 24
    assert columns["rate_bps"]["values"][-1] is None
    assert columns["rtt_ms"]["values"][:3] == [10, 80, 20]
    assert unpack(columns["job"])[-1] == HOSTILE
    assert all(column["description"] for column in columns.values())


@pytest.mark.slow
def test_rates_have_the_unit_that_fits_the_archive(export: Path, tmp_path: Path) -> None:
    assert read_list(export)["rate"] == {"unit": "Mbit/s", "divisor": 1}
    database = write_database(tmp_path)
    runs = pl.read_parquet(tmp_path / "runs.parquet").with_columns(pl.col("goodput_bps", "throughput_bps") * 1000)
    write_table(runs, "runs", tmp_path / "runs.parquet")
    export_database(database, tmp_path / "explorer")
    # 60 Gbit/s is the largest; the series keep their Mbit/s.
    packed = read_list(tmp_path / "explorer")
    columns = {column["key"]: column for column in packed["columns"]}
    assert packed["rate"] == {"unit": "Gbit/s", "divisor": 1000}
    assert {columns[key]["unit"] for key in ("rate_bps", "throughput_bps")} == {"Gbit/s"}
    assert columns["rate_bps"]["values"][0] == 24
    assert read_run(tmp_path / "explorer", FIRST)["flows"] == read_run(export, FIRST)["flows"]


def test_an_id_that_is_no_file_name_gets_a_digest_for_a_name() -> None:
    assert name_script("2026-11-20.h1-1-10.0ms-aa") == "2026-11-20.h1-1-10.0ms-aa"
    for odd in ("", ".", "..", ".hidden", "a/b", "a b", "é", "x" * 201):
        name = name_script(odd)
        assert len(name) == 33
        assert name[1:].isalnum()
    assert name_script("a/b") != name_script("a b")


@pytest.mark.parametrize(
    ("value", "rounded"),
    [
        (49530675.9, 49530000),
        (0.000123446, 0.0001234),
        (3.0, 3),
        (0.0, 0),
        (None, None),
        (float("nan"), None),
        (float("inf"), None),
    ],
)
def test_numbers_keep_four_significant_digits(value: float | None, rounded: float | None) -> None:
    assert round_number(value) == rounded


def test_a_script_is_one_call_in_ascii(tmp_path: Path) -> None:
    write_call(tmp_path / "x.js", "loadRun", "é\u2028</script>", {"a": None})
    assert (tmp_path / "x.js").read_bytes() == b'ccreportExplorer.loadRun("\\u00e9\\u2028</script>",{"a":null});\n'


def test_colours_are_those_of_the_figures_and_stand_out_on_dark_paper() -> None:
    cubic, other = describe_algorithms(["zzz", "cubic"])
    assert (cubic["name"], cubic["light"], cubic["dash"]) == ("CUBIC", STYLES["cubic"].colour, [1, 0])
    assert other["name"] == "zzz"
    for style in STYLES.values():
        assert find_contrast(lighten(style.colour), DARK_PAPER) >= 4.5


def test_contrast_is_that_of_wcag() -> None:
    # White has luminance 1, black 0: (1 + 0.05) / (0 + 0.05) = 21. #767676 on white is WCAG's known 4.54.
    assert find_contrast("#000000", "#ffffff") == pytest.approx(21)
    assert find_contrast("#ffffff", "#767676") == pytest.approx(4.54, abs=0.01)
    assert lighten("#ffffff") == "#ffffff"


def test_batches_are_whole_experiments_of_bounded_size() -> None:
    runs = pl.DataFrame({"run_id": list("abcde"), "experiment_id": list("xxyyz"), "flows_count": [3, 3, 2, 2, 9]})
    assert list(iterate_batches(runs, 10)) == [["a", "b", "c", "d"], ["e"]]
    assert list(iterate_batches(runs, 1)) == [["a", "b"], ["c", "d"], ["e"]]
    assert list(iterate_batches(runs.clear(), 1)) == []


@pytest.mark.slow
def test_two_exports_are_the_same_bytes_whatever_lay_there_before(export: Path, tmp_path: Path) -> None:
    (tmp_path / "explorer/runs").mkdir(parents=True)
    (tmp_path / "explorer/runs/gone.js").write_text("old")
    export_database(write_database(tmp_path), tmp_path / "explorer")
    contents = [
        {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        for folder in (export, tmp_path / "explorer")
    ]
    assert contents[0] == contents[1]


@pytest.mark.slow
def test_only_what_was_made_of_something_else_is_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    database, explorer = write_database(tmp_path), tmp_path / "explorer"
    scripts = explorer / "runs"

    def export_and_tell(**made_of: str) -> set[str]:
        """Mark all scripts, export, and return those that lost their mark."""
        for path in scripts.glob("*.js"):
            path.write_text("marked")
        export_database(database, explorer, made_of)
        return {path.stem for path in scripts.glob("*.js") if path.read_text() != "marked"}

    everything = len(export_and_tell(e1="a", e2="b", e3="c"))
    assert export_and_tell(e1="a", e2="b", e3="c") == set()
    assert capsys.readouterr().out.endswith(f"wrote 0 of {everything} runs, kept {everything}\n")
    assert export_and_tell(e1="other", e2="b", e3="c") == {FIRST, SECOND}
    # Of e3 nothing is known any more, so its run is not kept.
    assert export_and_tell(e1="other", e2="b") == {name_script(HOSTILE_ID)}
    (scripts / f"{SECOND}.js").unlink()
    assert export_and_tell(e1="other", e2="b", e3="c") == {SECOND, name_script(HOSTILE_ID)}
    (scripts / "gone.js").write_text("of a run that was removed")
    assert "gone" not in export_and_tell(e1="other", e2="b", e3="c")
    assert not (scripts / "gone.js").exists()
    monkeypatch.setenv(IGNORE_CACHES, "1")
    assert len(export_and_tell(e1="other", e2="b", e3="c")) == everything


@pytest.mark.slow
def test_a_run_of_very_many_flows_has_their_number_in_place_of_series(tmp_path: Path) -> None:
    database = write_database(tmp_path)
    runs = pl.read_parquet(tmp_path / "runs.parquet")
    many = pl.when(pl.col("run_id") == FIRST).then(FLOWS_AT_MOST + 1).otherwise(FLOWS_AT_MOST)
    write_table(runs.with_columns(flows_count=many), "runs", tmp_path / "runs.parquet")
    export_database(database, tmp_path / "explorer")
    assert read_run(tmp_path / "explorer", FIRST) == {"bin_s": 0.5, "flows": [], "flows_count": 1001}
    assert len(read_run(tmp_path / "explorer", SECOND)["flows"]) == 2


@pytest.mark.slow
def test_an_export_that_was_killed_leaves_no_script_that_the_next_believes(
    export: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database, explorer, made_of = write_database(tmp_path), tmp_path / "explorer", {"e1": "a", "e2": "b", "e3": "c"}
    export_database(database, explorer, made_of)

    def write_half(path: Path, *_: object) -> None:
        if path.parent.name == "runs":
            path.write_text("ccreportExp")
            raise KeyboardInterrupt

    monkeypatch.setattr("ccreport.explorer.export.write_call", write_half)
    with pytest.raises(KeyboardInterrupt):
        export_database(database, explorer, made_of | {"e1": "changed"})
    monkeypatch.undo()
    export_database(database, explorer, made_of)
    assert {path.name: path.read_bytes() for path in explorer.glob("runs/*.js")} == {
        path.name: path.read_bytes() for path in export.glob("runs/*.js")
    }


def test_series_of_a_run_do_not_depend_on_the_runs_that_are_read_with_it(tmp_path: Path) -> None:
    # The second run is sampled every 0.5 s, the first is made to be sampled every 0.75 s.
    database = write_database(tmp_path)
    samples = pl.read_parquet(tmp_path / "samples.parquet")
    since = pl.col("time_utc") - EPOCH
    sparser = pl.when(pl.col("run_id") == FIRST).then(EPOCH + since * 1.5).otherwise(pl.col("time_utc"))
    write_table(
        samples.with_columns(time_utc=sparser.cast(samples.schema["time_utc"])), "samples", tmp_path / "samples.parquet"
    )
    with connect(database) as connection:
        together = dict(describe_runs(connection, [FIRST, SECOND]))
        alone = {run_id: dict(describe_runs(connection, [run_id]))[run_id] for run_id in (FIRST, SECOND)}
    assert together == alone
    # The bin that ends with the first sample, moved by half the time between two, -0.25 + 0.38 and -0.25 + 0.25, has
    # its middle in the first bin. The first count came in the 0.75 s before the first sample.
    sparse, regular = (together[run_id]["flows"][0]["retransmits"] for run_id in (FIRST, SECOND))
    assert (sparse[0], regular[0]) == (0.25, 0.25)
    assert sum(sparse[1]) == pytest.approx(4, rel=1e-3)


def test_a_run_deviates_from_its_condition_by_robust_standard_deviations() -> None:
    # Condition a: median 12, deviations 2, 1, 0, 1 and 28, of which the median is 1. Three runs are too few. In
    # condition c more than half are equal: 1 % of the median is 0.05.
    rates = {"a": [10.0, 11.0, 12.0, 13.0, 40.0], "b": [1.0, 2.0, 30.0], "c": [5.0, 5.0, 5.0, 9.0]}
    rows = [{"condition_id": name, "rate_bps": rate} for name, own in rates.items() for rate in own]
    deviations = pl.DataFrame(rows).select(z=measure_deviation())["z"].to_list()
    assert deviations[:5] == pytest.approx([-2 / 1.4826, -1 / 1.4826, 0, 1 / 1.4826, 28 / 1.4826])
    assert deviations[5:] == [None, None, None, 0, 0, 0, pytest.approx(4 / 0.05)]


def test_a_run_that_does_not_count_has_a_reason() -> None:
    run = {
        "is_counted": False,
        "is_interrupted": False,
        "throughput_bps": 1.0,
        "is_host_limited": None,
        "is_cpu_bound": None,
    }
    runs = pl.DataFrame(
        [
            run | {"is_counted": True},
            run | {"is_interrupted": True},
            run | {"throughput_bps": None},
            run | {"is_host_limited": True},
            run | {"is_cpu_bound": True},
            run,
        ],
        schema_overrides={"is_host_limited": pl.Boolean, "is_cpu_bound": pl.Boolean},
    )
    reasons = [None, "interrupted", "no rate", "limited by its hosts", "CPU-bound", "not TCP"]
    assert runs.select(explain_uncounted()).to_series().to_list() == reasons


def test_a_run_of_an_rpc_test_has_no_bulk_rate() -> None:
    run = {"is_counted": False, "is_interrupted": False, "throughput_bps": None}
    run |= {"is_host_limited": None, "is_cpu_bound": None, "rpc_tools": "netperf"}
    rows = [run, run | {"rpc_tools": None}, run | {"is_interrupted": True}, run | {"is_counted": True}]
    empty = {"throughput_bps": pl.Float64, "is_host_limited": pl.Boolean, "is_cpu_bound": pl.Boolean}
    reasons = pl.DataFrame(rows, schema_overrides=empty).select(explain_state()).to_series().to_list()
    assert reasons == ["RPC test (netperf): no bulk rate", "no rate", "interrupted", None]


@pytest.mark.slow
def test_tables_for_sql_are_parquet_files_in_scripts_where_there_is_an_engine(tmp_path: Path) -> None:
    engine = tmp_path / "engine.js"
    engine.write_text("window.ccreportSql = {};")
    database, explorer = write_database(tmp_path), tmp_path / "explorer"
    export_database(database, explorer, published=[write_claims(tmp_path)], engine=[engine])
    assert set(read_list(explorer)["tables"]) == {"runs", "flows", "claims"}
    assert (explorer / "sql.js").read_text() == engine.read_text()
    name, text = json.loads(read_script(explorer / "tables/runs.js"))
    written = pl.read_parquet(base64.b64decode(text))
    assert name == "runs"
    assert written.columns == read_list(explorer)["tables"]["runs"]
    assert_frame_equal(written, pl.read_parquet(tmp_path / "runs.parquet").sort("run_id"), check_dtypes=False)
    _, text = json.loads(read_script(explorer / "tables/claims.js"))
    published = pl.read_parquet(base64.b64decode(text))
    assert_frame_equal(published, pl.read_parquet(tmp_path / "claims.parquet"), check_dtypes=False)
    export_database(database, explorer)
    assert read_list(explorer)["tables"] == {}
    assert [path.name for path in (*explorer.glob("sql.js"), *explorer.glob("tables/*"))] == []


@pytest.mark.slow
def test_an_archive_without_runs_has_an_empty_list(tmp_path: Path) -> None:
    export_database(empty_database(tmp_path), tmp_path / "explorer")
    assert read_list(tmp_path / "explorer")["count"] == 0
    assert list((tmp_path / "explorer/runs").glob("*.js")) == []


def test_the_drawing_library_is_bundled_again_for_another_version_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, bundled = tmp_path / "vega.js", iter(("first", "second", "third"))
    monkeypatch.setattr("ccreport.explorer.export.bundle_vega", lambda: next(bundled))
    for version, afresh, expected in (("1", "", "first"), ("1", "", "first"), ("2", "", "second"), ("2", "1", "third")):
        monkeypatch.setattr("ccreport.explorer.export.version", lambda _, version=version: version)
        if afresh:
            monkeypatch.setenv(IGNORE_CACHES, afresh)
        write_vega(path)
        assert path.read_text().splitlines()[1:] == [expected]


def test_the_drawing_library_is_a_classic_script_that_leaves_the_page_its_names() -> None:
    bundle = bundle_vega()
    assert bundle.startswith("(() => {\n")
    assert bundle.endswith("})();\n")
    assert "window.vegaEmbed=" in bundle
    assert "\nexport " not in bundle
