"""Archives of strangers through the whole workflow, their files under the names that they had."""

import re
import shutil
from html import unescape
from pathlib import Path

import polars as pl
import pytest
from archives import iperf3_json, write_archive
from builds import CUT, build, find_own, read_results
from own_files import FLOWS_LAYOUT, RUNS_LAYOUT, START_S, client_output, write_flows, write_runs

from ccreport.archive.pack import pack_folder

pytestmark = pytest.mark.slow


def read_logs(folder: Path) -> set[str]:
    """Return what the jobs of batches said last."""
    return {path.read_text().strip() for path in (folder / "logs").glob("*_batch/*.txt")}


def test_files_of_runs_become_published_tables(tmp_path: Path) -> None:
    archive = write_archive(write_runs(tmp_path / "raw"), {"layout.yaml": RUNS_LAYOUT})
    done = build("tables", archive, tmp_path, packet_runs=[])
    assert done.returncode == 0, done.output
    assert pl.read_parquet(find_own(done.results) / "summaries/jobs.parquet")["job"].unique().to_list() == ["results"]
    runs = read_results(done.results, "runs").sort("start_utc")
    # 9 of 900 segments in each, as ss saw it; 8 Mbit/s.
    told = runs.select("cc_list", "flows_count", "rtt_ms", "retransmits_count", "retransmit_source", "goodput_bps")
    assert told.rows() == [(cc, 1, 20.0, 9, "ss", 8e6) for cc in ("cubic", "cubic", "bbr", "bbr")]
    # Two runs of each algorithm are repetitions of one condition, as the files tell algorithms and flows.
    assert runs["condition_id"].n_unique() == 2
    # What a layout says needs no metadata of the harness's.
    assert read_results(done.results, "rejects").is_empty()


def test_only_what_a_file_or_a_layout_changes_is_read_again(tmp_path: Path) -> None:
    raw, layout = write_flows(tmp_path / "raw"), tmp_path / "flows.yaml"
    layout.write_text(FLOWS_LAYOUT)
    archive: dict[str, object] = {"path": str(raw), "layout": str(layout)}
    first = build("ingest", archive, tmp_path)
    assert first.returncode == 0, first.output
    assert read_logs(tmp_path) == {"read 2 of 2 experiments, kept 0"}
    runs = read_results(first.results, "runs").sort("rtt_ms", "parameter_value")
    columns = ("rtt_ms", "loss_pct", "parameter_name", "parameter_value", "cc_list", "flows_count", "clients_count")
    assert runs.select(columns).rows() == [
        (rtt_ms, loss_pct, "bdp", bdp, "bbr,cubic", 3, 3)
        for rtt_ms, loss_pct in ((20, 0.01), (50, 0))
        for bdp in ("0.5", "2")
    ]
    flows = read_results(first.results, "flows")
    assert sorted(flows["cc"].value_counts().rows()) == [("bbr", 4), ("cubic", 8)]
    assert build("ingest", archive, tmp_path).jobs.total() == 0

    write_archive(raw, {"50ms_0pct/h1_bbr_4BDP_out.json": client_output(4001, None)})
    added = build("ingest", archive, tmp_path)
    assert added.returncode == 0, added.output
    assert read_logs(tmp_path) == {"read 1 of 2 experiments, kept 1"}
    assert read_results(added.results, "runs").height == 5

    # Another scale for what one of the folders says: only its runs are others.
    halved = FLOWS_LAYOUT.replace("files:\n", "files:\n  - pattern: '50ms.*/(?P<flow>h\\d+)_(?P<bdp>.+)BDP_out.json'\n")
    layout.write_text(halved)
    relisted = build("ingest", archive, tmp_path)
    assert relisted.returncode == 0, relisted.output
    assert read_logs(tmp_path) == {"read 1 of 2 experiments, kept 1"}

    # On a tree that is built as on a fresh one.
    layout.write_text(FLOWS_LAYOUT.replace("rtt_ms", "rtt"))
    wrong = build("ingest", archive, tmp_path)
    assert wrong.returncode != 0
    assert "flows.yaml:2: files.0.pattern: `rtt` is not a group; did you mean `rtt_ms`" in wrong.output


def test_parts_and_packed_files_have_the_names_that_their_folder_has(tmp_path: Path) -> None:
    write_flows(tmp_path / "raw")
    whole = build("ingest", {"path": str(tmp_path / "raw"), "layout": {"files": [find_pattern()]}}, tmp_path / "whole")
    assert whole.returncode == 0, whole.output
    parts = []
    for number, bdp in enumerate(("0.5", "2")):
        part = tmp_path / f"part{number}"
        for path in (tmp_path / "raw").glob(f"*/*_{bdp}BDP_out.json"):
            target = part / path.relative_to(tmp_path / "raw")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        pack_folder(part, tmp_path / f"part{number}.tar.zst", None)
        parts.append(str(tmp_path / f"part{number}.tar.zst"))
    packed = build("ingest", {"path": parts, "layout": {"files": [find_pattern()]}}, tmp_path / "packed")
    assert packed.returncode == 0, packed.output
    runs = [read_results(one.results, "runs").sort("run_id") for one in (whole, packed)]
    assert runs[0].height == 4
    assert runs[0].equals(runs[1])


def test_folders_of_one_name_in_two_places_are_two_jobs(tmp_path: Path) -> None:
    files = {
        f"{place}/x/r{number}.json": client_output(4000 + 10 * n + number, start_s=START_S + 600 * n + 60 * number)
        for n, place in enumerate("ab")
        for number in (1, 2)
    }
    done = build("tables", write_archive(tmp_path / "raw", files), tmp_path, packet_runs=[])
    assert done.returncode == 0, done.output
    jobs = pl.read_parquet(find_own(done.results) / "summaries/jobs.parquet")
    assert jobs.select("job", "runs_count").rows() == [("a/x", 2), ("b/x", 2)]


def find_pattern() -> dict[str, str]:
    """Return the one pattern of the second worked example, as config.yaml holds it."""
    (line,) = re.findall(r"^ {6}(.*)$", FLOWS_LAYOUT, re.MULTILINE)
    return {"pattern": line}


def read_page(results: Path, name: str) -> str:
    """Return the words of a page of the report."""
    html = (results / f"report/{name}.html").read_text()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html.partition("<main")[2])).split())


def test_one_bare_result_is_enough_for_a_report_that_says_something(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {"what I measured.txt": iperf3_json()})
    done = build("report", archive, tmp_path, evaluation="auto", packet_runs=[])
    assert done.returncode == 0, done.output
    runs = read_results(done.results, "runs")
    assert runs.select("cc_list", "flows_count", "goodput_bps", "mss_bytes").rows() == [("cubic", 1, 8e6, 1448)]
    assert "Evaluation: generic, chosen by the archive" in done.output
    # What to open, and what is in it.
    assert f"{done.results}/report/index.html\n  1 run measured\n" in done.output
    first = read_page(done.results, "index")
    # 3 of 1,250,000 B / 1448 B + 3 segments.
    assert "CUBIC (1 run): goodput of 8.00 Mbit/s, 0.346 % of segments retransmitted, an RTT of 10.0 ms." in first
    assert "It records 1 run with 1 flow." in first
    # Nothing is compared with a publication that there is not.
    pages = {path.stem for path in (done.results / "report").glob("*.html")}
    assert pages >= {"index", "tables", "figures", "methods"}
    assert not pages & {"reproduction", "claims"}
    assert not re.search("no session|no job|0 of 0|paper", first)
    assert "Reproduction" not in read_page(done.results, "methods")
    assert "5 figures need captures:" in read_page(done.results, "figures")
    assert re.search(r"\d+ tables have no rows in this archive:", read_page(done.results, "tables"))


def test_a_swept_parameter_tells_rows_of_means_apart(tmp_path: Path) -> None:
    archive = write_archive(write_flows(tmp_path / "raw"), {"layout.yaml": FLOWS_LAYOUT})
    done = build("tables", archive, tmp_path, evaluation="auto", packet_runs=[])
    assert done.returncode == 0, done.output
    means = pl.read_parquet(done.results / "generic/summaries/means.parquet")
    told = ("path_rtt", "loss_pct", "parameter_name", "parameter_value", "algorithm", "runs_count", "rate_mean_bps")
    # Three flows of 8 Mbit/s, two of them of CUBIC.
    assert means.select(told).rows() == [
        (f"RTT {rtt_ms} ms", loss_pct, "bdp", bdp, algorithm, 1, rate_bps)
        for rtt_ms, loss_pct in ((20, 0.01), (50, 0))
        for bdp in ("0.5", "2")
        for algorithm, rate_bps in (("BBR", 8e6), ("CUBIC", 16e6))
    ]


def test_the_samples_cut_has_means_of_its_own(tmp_path: Path) -> None:
    done = build("tables", CUT, tmp_path, evaluation="generic", packet_runs=[])
    assert done.returncode == 0, done.output
    means = pl.read_parquet(done.results / "generic/summaries/means.parquet")
    runs = read_results(done.results, "runs").filter("is_counted")
    # Each run counts once, or once for each of its algorithms.
    assert means["runs_count"].sum() == runs["cc_list"].str.split(",").list.len().sum()
    assert set(means["algorithm"]) >= {"BBR", "CUBIC"}
    assert means.filter(pl.col("runs_count") < 3)["rate_low_bps"].count() == 0
