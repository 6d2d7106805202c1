"""The whole workflow on a fixed cut of the sample archive: 17 runs of 9 experiments."""

import itertools
import json
import re
import shutil
import zipfile
from collections import Counter
from pathlib import Path

import altair as alt
import polars as pl
import pytest
from altair.utils.schemapi import validate_jsonschema
from archives import ROOT
from builds import CUT, GOLDEN, SUMMARIES, TABLES, Build, as_text, build, find_own, read_results

from ccreport.core.tables import load_schema

pytestmark = pytest.mark.slow

# The cut has flows that join one after another, and nothing of an edge network.
SECTIONS = ["mininet-bbr2", "edge-bbr2"]


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Build:
    done = build("report", CUT, tmp_path_factory.mktemp("cut"), sections=SECTIONS)
    assert done.returncode == 0, done.output
    return done


@pytest.mark.parametrize("name", [*TABLES, *SUMMARIES])
def test_tables_equal_the_golden_ones(cut: Build, name: str, request: pytest.FixtureRequest) -> None:
    published = find_own(cut.results) / "summaries" / f"{name}.parquet"
    table = pl.read_parquet(published) if name in SUMMARIES else read_results(cut.results, name)
    text = as_text(table, load_schema(name).key)
    golden = GOLDEN / f"{name}.csv"
    if request.config.getoption("--refresh-golden"):
        golden.write_text(text)
    assert text.splitlines() == golden.read_text().splitlines()


def test_drawing_instructions_are_valid_by_the_schema_of_vega_lite(cut: Build) -> None:
    drawn = sorted(cut.results.glob("*/figures/*/figure.vl.json"))
    assert len(drawn) > 10
    schema = alt.load_schema()
    for path in drawn:
        # Raises what does not fit.
        validate_jsonschema(json.loads(path.read_text()), schema)


def test_the_ledger_sums_to_the_files_on_disk(cut: Build, raw: Path) -> None:
    files = read_results(cut.results, "raw_files")
    assert files.height == sum(path.is_file() for path in raw.rglob("*"))
    assert dict(files["state"].value_counts().iter_rows()) == {"ingested": 92, "ignored": 2}
    assert set(files.filter(state="ignored")["rule"]) == {"background_traffic_not_read"}
    assert read_results(cut.results, "rejects").is_empty()


def test_rates_equal_the_tool_s_own_summary(cut: Build, raw: Path) -> None:
    """The sums of a run's flows against iperf3's `sum_sent` and `sum_received`, read by plain json."""
    runs = read_results(cut.results, "runs")
    checked = 0
    for row in runs.filter(clients_count=1).iter_rows(named=True):
        suffix = f"{row['host']}:{row['iteration']}:{row['rtt_nominal_ms']}ms"
        document = json.loads((raw / row["session"] / row["job"] / f"src-cmd:{suffix}").read_text())
        sent, received = document["end"]["sum_sent"], document["end"]["sum_received"]
        assert row["throughput_bps"] == pytest.approx(sent["bits_per_second"], rel=1e-3)
        assert row["goodput_bps"] == pytest.approx(received["bits_per_second"], rel=1e-3)
        assert row["flows_count"] == document["start"]["test_start"]["num_streams"]
        checked += 1
    assert checked == 16


def count_by_plain_text(path: Path, ports: set[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, int, int]]:
    """Return algorithm, retransmits and data segments of each connection, by lines that know nothing of ccreport."""
    last = {}
    lines = path.read_text().splitlines()
    for address, info in itertools.pairwise(lines):
        ends = re.findall(r"\d+\.\d+\.\d+\.\d+:(\d+)", address)
        if len(ends) == 2 and info.startswith("\t") and tuple(ends) in ports:
            sent = re.search(r"data_segs_out:(\d+)", info)
            again = re.search(r" retrans:\d+/(\d+)", info)
            cc = "bbr" if " bbr " in info else "cubic"
            if sent:
                last[ends[0], ends[1]] = (cc, int(again[1]) if again else 0, int(sent[1]))
    return last


def test_retransmits_equal_an_independent_count(cut: Build, raw: Path) -> None:
    """All 17 runs, among them the one in which a local port is at once a data flow and another client's control."""
    flows = read_results(cut.results, "flows").join(
        read_results(cut.results, "runs").select("run_id", "session", "job", "host", "iteration", "rtt_nominal_ms"),
        on="run_id",
    )
    for (session, job, host, iteration, rtt), of_run in flows.group_by(
        "session", "job", "host", "iteration", "rtt_nominal_ms"
    ):
        ports = {(str(row["local_port"]), str(row["remote_port"])) for row in of_run.iter_rows(named=True)}
        assert len(ports) == of_run.height
        counted = count_by_plain_text(raw / str(session) / str(job) / f"ss:{host}:{iteration}:{rtt}ms", ports)
        found = {
            (str(row["local_port"]), str(row["remote_port"])): (
                row["cc"],
                row["retransmits_ss_count"],
                row["data_segments_out_count"],
            )
            for row in of_run.iter_rows(named=True)
        }
        assert found == counted


def test_the_port_that_is_data_and_control_at_once(cut: Build) -> None:
    runs = read_results(cut.results, "runs").filter(job="buffer_250KB_both_p16")
    flows = read_results(cut.results, "flows").filter(pl.col("run_id").is_in(runs["run_id"].to_list()))
    samples = read_results(cut.results, "samples").filter(pl.col("run_id").is_in(runs["run_id"].to_list()))
    rivals = samples.filter(pl.col("local_port").is_in(flows["local_port"].to_list()) & (pl.col("remote_port") != 5201))
    assert rivals.height > 0  # that port was used towards the background client's server too
    assert set(flows["remote_port"]) == {5201}
    assert dict(flows["cc"].value_counts().iter_rows()) == {"bbr": 8, "cubic": 8}


def test_clients_that_join_later_have_their_offsets(cut: Build) -> None:
    run = read_results(cut.results, "runs").filter(job="staggered_cubic_then_bbr").row(0, named=True)
    offsets = read_results(cut.results, "flows").filter(run_id=run["run_id"]).sort("client_number")["start_offset_s"]
    assert run["clients_count"] == 6
    # A flow joins every 4 s; ss looks every 0.5 s.
    assert offsets.to_list() == pytest.approx([0, 4, 8, 12, 16, 20], abs=1.1)


def test_a_second_build_does_nothing(cut: Build) -> None:
    again = build("report", CUT, cut.results.parent, sections=SECTIONS)
    assert "Nothing to be done" in again.output


def test_snakemake_s_own_report_shows_tables_figures_and_comparisons(cut: Build, tmp_path: Path) -> None:
    packed = tmp_path / "report.zip"
    done = build("report", CUT, cut.results.parent, "--report", str(packed), sections=SECTIONS)
    assert done.returncode == 0, done.output
    own = find_own(cut.results)
    shown = [
        *(own / "summaries" / f"{table}.csv" for table in SUMMARIES),
        *own.glob("figures/*/figure.svg"),
        own / "reproduction.csv",
        own / "claims.csv",
    ]
    with zipfile.ZipFile(packed) as archive:
        held = Counter(archive.read(name) for name in archive.namelist() if not name.endswith("report.html"))
    assert len(shown) > len(SUMMARIES) + 10
    for path in shown:
        assert held[path.read_bytes()], path


def test_the_report_has_every_page_and_no_request_elsewhere(cut: Build) -> None:
    pages = {path.name for path in (cut.results / "report").glob("*.html")}
    written = {path.with_suffix(".html").name for path in (ROOT / "reports").glob("*.qmd")}
    of_figures = {name for name in pages if name.startswith("figures_")}
    assert {"figures_testbed.html", "figures_throughput.html"} <= of_figures
    # A long table has several: cells_jobs-2.html.
    of_tables = {re.sub(r"-\d+", "", name) for name in pages - of_figures - {"ledger_files.html"}}
    assert of_tables == written | {f"cells_{table}.html" for table in SUMMARIES}
    for page in pages:
        text = (cut.results / "report" / page).read_text()
        assert not re.search(
            r"""(?:src|href)=["']?(?:https?:)?//(?!doi\.org|github\.com|datapackage\.org|datatracker\.ietf\.org|www\.researchobject\.org)""",
            text,
        ), page


def test_an_evaluation_is_a_section_where_the_archive_has_data_for_it(cut: Build) -> None:
    report = cut.results / "report"
    assert {path.parent.name for path in report.glob("*/index.html")} == {"mininet-bbr2"}
    assert "mininet-bbr2/index.html" in (report / "index.html").read_text()
    assert "edge-bbr2" not in (report / "index.html").read_text()
    events = pl.read_parquet(cut.results / "mininet-bbr2/summaries/convergence.parquet")
    assert set(events["job"]) >= {"staggered_cubic_then_bbr"}


def list_products(results: Path) -> set[Path]:
    """Return what a build publishes, by its name below the results: tables, their files, figures, site and PDF."""
    patterns = ("tables/**/*", "*/summaries/*", "*/figures/*/*", "explorer/**/*", "report/**/*", "*/report.pdf")
    return {path.relative_to(results) for pattern in patterns for path in results.glob(pattern) if path.is_file()} - {
        path.relative_to(results) for path in results.rglob(".snakemake_timestamp")
    }


def test_two_builds_give_the_same_bytes(cut: Build, tmp_path: Path) -> None:
    """From two copies of the archive, into two folders; only the database holds its tables' paths."""
    copy = tmp_path / "another place" / CUT.name
    copy.parent.mkdir()
    shutil.copyfile(CUT, copy)
    second = build("report", copy, tmp_path, sections=SECTIONS)
    assert second.returncode == 0, second.output
    names = list_products(cut.results)
    assert {name.suffix for name in names} >= {".parquet", ".csv", ".tex", ".svg", ".png", ".html", ".js", ".pdf"}
    assert names == list_products(second.results)
    differing = {
        str(name) for name in names if (cut.results / name).read_bytes() != (second.results / name).read_bytes()
    }
    assert differing == set()


def test_no_product_names_a_place_of_the_machine(cut: Build) -> None:
    places = [str(place).encode() for place in (cut.results.parent, CUT.parent, ROOT, Path.home()) if place.parts[2:]]
    naming = {
        str(name)
        for name in list_products(cut.results)
        if any(place in (cut.results / name).read_bytes() for place in places)
    }
    assert naming == set()
