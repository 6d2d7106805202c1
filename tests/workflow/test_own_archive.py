"""Archives of strangers through the whole workflow, their files under the names that they had."""

import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from archives import iperf3_json, write_archive
from builds import build, find_own, read_results
from own_files import FLOWS_LAYOUT, RUNS_LAYOUT, client_output, write_flows, write_runs

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


def find_pattern() -> dict[str, str]:
    """Return the one pattern of the second worked example, as config.yaml holds it."""
    (line,) = re.findall(r"^ {6}(.*)$", FLOWS_LAYOUT, re.MULTILINE)
    return {"pattern": line}


def test_one_bare_result_is_enough(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", {"what I measured.txt": iperf3_json()})
    done = build("ingest", archive, tmp_path)
    assert done.returncode == 0, done.output
    runs = read_results(done.results, "runs")
    assert runs.select("cc_list", "flows_count", "goodput_bps", "mss_bytes").rows() == [("cubic", 1, 8e6, 1448)]
