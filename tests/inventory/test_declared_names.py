"""Files of any names, by a declared layout, through the inventory: their runs, flows, sides, and what is wrong."""

import gzip
import re
import shutil
from pathlib import Path

import pytest
from archives import JOB, SS, iperf3_json, list_archive, write_archive
from hypothesis import given, settings
from hypothesis import strategies as st
from own_files import FLOWS_LAYOUT, MPSTAT, RUNS_LAYOUT, client_output, socket_samples, write_flows, write_runs

from ccreport.archive.layout import Told
from ccreport.archive.manifest import ManifestRun, RawFile
from ccreport.archive.pack import pack_folder
from ccreport.inventory import experiment_listing
from ccreport.inventory.names import _name_files


def list_files(archive: Path, work: Path) -> dict[str, RawFile]:
    return {file.path: file for one in list_archive(archive, work).values() for file in one.files}


def list_runs(archive: Path, work: Path) -> list[ManifestRun]:
    return [run for one in list_archive(archive, work).values() for run in one.runs]


def test_files_with_a_common_name_are_one_run(tmp_path: Path) -> None:
    archive = write_archive(write_runs(tmp_path / "raw"), {"layout.yaml": RUNS_LAYOUT})
    manifests = list_archive(archive, tmp_path / "w")
    (of_results,) = (one for one in manifests.values() if one.job == "results")
    assert [(run.suffix, run.rtt_nominal_ms, run.conditions) for run in of_results.runs] == [
        (f"run{number}", 20.0, {}) for number in (1, 2, 3, 4)
    ]
    by_run = {run.run_id: run.suffix for run in of_results.runs}
    assert {(by_run[str(file.run_id)], file.kind, file.side, file.cc) for file in of_results.files} == {
        (f"run{number}", kind, side, algorithm)
        for number, cc in enumerate(("cubic", "cubic", "bbr", "bbr"), start=1)
        for kind, side, algorithm in (("src-cmd", None, cc), ("ss", None, None), ("mpstat", "sender", None))
    }
    (layout,) = (file for one in manifests.values() for file in one.files if file.path == "layout.yaml")
    assert (layout.kind, layout.action, layout.rule) == ("layout", "ignored", "layouts_read_first")


def test_files_of_the_flows_of_a_run_are_its_clients(tmp_path: Path) -> None:
    archive = write_archive(write_flows(tmp_path / "raw"), {"layout.yaml": FLOWS_LAYOUT})
    manifests = list_archive(archive, tmp_path / "w")
    runs = [run for one in manifests.values() for run in one.runs]
    point = [(run.rtt_nominal_ms, run.conditions, run.parameter_name, run.parameter_value) for run in runs]
    assert sorted(point, key=str) == [
        (rtt, {"loss_pct": loss}, "bdp", bdp) for rtt, loss in ((20.0, 0.01), (50.0, 0.0)) for bdp in ("0.5", "2")
    ]
    listed = {file.path: file for one in manifests.values() for file in one.files}
    run_id = listed["20ms_0.01pct/h2_cubic_2BDP_out.json"].run_id
    files = [file for file in listed.values() if file.run_id == run_id]
    # h10 after h2
    assert {(file.path.split("/")[1].split("_")[0], file.client_number, file.cc) for file in files} == {
        ("h1", 1, "bbr"),
        ("h2", 2, "cubic"),
        ("h10", 3, "cubic"),
    }


def test_an_archive_of_one_folder_keeps_what_its_name_says(tmp_path: Path) -> None:
    write_flows(tmp_path / "all")
    shutil.copytree(tmp_path / "all/20ms_0.01pct", tmp_path / "raw/20ms_0.01pct")
    (tmp_path / "flows.yaml").write_text(FLOWS_LAYOUT)
    pack_folder(tmp_path / "raw", tmp_path / "raw.tar.zst", None)
    for number, archive in enumerate((tmp_path / "raw", tmp_path / "raw.tar.zst")):
        listed = list_archive(archive, tmp_path / f"w{number}", str(tmp_path / "flows.yaml"))
        assert {run.rtt_nominal_ms for one in listed.values() for run in one.runs} == {20.0}


def test_a_row_a_run_tells_what_names_do_not(tmp_path: Path) -> None:
    files = {
        "layout.yaml": "files: [{pattern: '(?P<run>\\w+)\\.json'}]\ntable: runs.csv\n",
        "runs.csv": "run,rtt_ms,loss_pct,buffer_bytes,bottleneck_bps,aqm_target\na,20,0.1,250000,1e9,5ms\n",
        "a.json": iperf3_json(),
        "b.json": iperf3_json(),
    }
    listed = list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w")
    told = {run.suffix: run for one in listed.values() for run in one.runs}
    (table,) = (file for one in listed.values() for file in one.files if file.path == "runs.csv")
    assert (table.kind, table.rule) == ("layout", "layouts_read_first")
    assert told["a"].rtt_nominal_ms == 20
    assert told["a"].conditions == {"loss_pct": 0.1, "buffer_bytes": 250000, "bottleneck_bps": 1e9}
    assert (told["a"].parameter_name, told["a"].parameter_value) == ("aqm_target", "5ms")
    assert (told["b"].rtt_nominal_ms, told["b"].conditions) == (None, {})


def test_a_job_joins_files_of_several_folders(tmp_path: Path) -> None:
    layout = r"""
files:
  - {pattern: '(?P<job>[^/]+)/clients/(?P<iteration>\d+)\.json'}
  - {pattern: '(?P<job>[^/]+)/servers/(?P<iteration>\d+)\.json', set: {side: receiver}}
  - {pattern: '(?P<job>[^/]+)/cpu/(?P<side>client|server)(?P<iteration>\d+)\.txt'}
  - {pattern: '(?P<job>[^/]+)/ss/(?P<side>client|server)(?P<iteration>\d+)\.txt'}
"""
    files = {"layout.yaml": layout}
    for job in ("a", "b"):
        files |= {f"{job}/clients/1.json": iperf3_json(), f"{job}/servers/1.json": iperf3_json()}
        files |= {f"{job}/cpu/client1.txt": MPSTAT, f"{job}/cpu/server1.txt": MPSTAT}
        files |= {f"{job}/ss/client1.txt": socket_samples(4001), f"{job}/ss/server1.txt": socket_samples(4001)}
    manifests = list_archive(write_archive(tmp_path / "raw", files), tmp_path / "w")
    for job in ("a", "b"):
        (own,) = (one for one in manifests.values() if one.job == job)
        (run,) = own.runs
        assert run.iteration == 1
        assert {(file.path, file.kind, file.side, file.run_id == run.run_id) for file in own.files} == {
            (f"{job}/clients/1.json", "src-cmd", None, True),
            # The same test as its server saw it, which content alone does not tell.
            (f"{job}/servers/1.json", "dst-cmd", None, True),
            (f"{job}/ss/client1.txt", "ss", None, True),
            (f"{job}/ss/server1.txt", "side-file", None, True),
            (f"{job}/cpu/client1.txt", "mpstat", "sender", True),
            (f"{job}/cpu/server1.txt", "mpstat", "receiver", True),
        }


def test_two_files_that_a_layout_does_not_tell_apart_are_named(tmp_path: Path) -> None:
    files = {
        "layout.yaml": r"files: [{pattern: '(?P<cc>[a-z]+)_.*\.json'}]",
        "cubic_1.json": iperf3_json(),
        "cubic_2.json": iperf3_json(),
        "cubic_1.json.gz": gzip.compress(iperf3_json().encode()),
    }
    found = list_files(write_archive(tmp_path / "raw", files), tmp_path / "w")
    assert found["cubic_1.json"].action == "ingest"
    assert found["cubic_1.json.gz"].rule == "copies_not_read"
    # A second result in the harness's own folder is a copy; of a stranger's it would be lost in silence.
    second = found["cubic_2.json"]
    assert (second.action, second.reason) == ("rejected", "duplicate_run")
    assert "`iteration` or `run` for repetitions, `flow` for flows" in str(second.message)


def test_what_a_layout_ignores_names_its_pattern_whatever_it_holds(tmp_path: Path) -> None:
    files = {
        "layout.yaml": "ignore: ['old/.*']",
        "old/1.json": iperf3_json(),
        "old/ss.txt": SS,
        "2.json": iperf3_json(),
    }
    found = list_files(write_archive(tmp_path / "raw", files), tmp_path / "w")
    told = {path: (file.kind, file.action, file.rule) for path, file in found.items() if path.startswith("old/")}
    assert told == dict.fromkeys(("old/1.json", "old/ss.txt"), ("side-file", "ignored", "ignore: old/.*"))
    assert found["2.json"].action == "ingest"


def test_what_a_layout_makes_of_a_file_wrongly_is_a_reject(tmp_path: Path) -> None:
    files = {
        "layout.yaml": r"files: [{pattern: '(?P<run>\d)_(?P<rtt_ms>.+)\.(json|txt)'}]",
        "1_20.json": iperf3_json(),
        "1_30.txt": SS,
        "2_fast.json": iperf3_json(),
    }
    found = list_files(write_archive(tmp_path / "raw", files), tmp_path / "w")
    reasons = {path: (file.action, file.reason) for path, file in found.items() if path != "layout.yaml"}
    assert reasons == {
        "1_20.json": ("ingest", None),
        "1_30.txt": ("rejected", "unclear_name"),
        "2_fast.json": ("rejected", "unclear_name"),
    }
    message = str(found["1_30.txt"].message)
    assert "1_30.txt says that rtt_ms is 30.0, another file of the run 1 that it is 20" in message
    assert "(rename the group `run` to `session`, or add `runs_by: [run, rtt_ms]`)" in message
    assert found["2_fast.json"].size_bytes > 0


@pytest.mark.parametrize("layout", ["(?P<session>", "(?P<run>"])
def test_a_run_of_several_runs_is_mended_as_its_message_says(layout: str, tmp_path: Path) -> None:
    pattern = rf"files: [{{pattern: '{layout}\d)_(?P<rtt_ms>.+)\.(json|txt)'}}]"
    runs_by = "\nruns_by: [run, rtt_ms]" if "run" in layout else ""
    files = {"layout.yaml": pattern + runs_by, "1_20.json": iperf3_json(), "1_30.json": iperf3_json()}
    assert len(list_runs(write_archive(tmp_path / "raw", files), tmp_path / "w")) == 2


@pytest.mark.parametrize(("runs_by", "kept"), [("", "run, iteration"), ("runs_by: [run, rtt_ms]", "run, rtt_ms")])
def test_all_groups_that_tell_runs_apart_are_named_at_once(tmp_path: Path, runs_by: str, kept: str) -> None:
    pattern = r"(?P<run>\d)_(?P<cc>[a-z]+)_(?P<flows>\d)_(?P<rtt_ms>\d+)(_(?P<iteration>\d))?\.json"
    names = [f"{run}_{cc}_{flows}_9" for run in (1, 2) for cc in ("bbr", "cubic") for flows in (1, 2)]
    # Of the first run only, the RTTs differ too.
    files = dict.fromkeys([f"{name}.json" for name in [*names, "1_bbr_1_30"]], iperf3_json())
    layout = f"files: [{{pattern: '{pattern}'}}]\n"
    write_archive(tmp_path / "raw", files | {"layout.yaml": layout + runs_by})
    rejected = [file for file in list_files(tmp_path / "raw", tmp_path / "w").values() if file.action == "rejected"]
    (said,) = {
        re.findall("`(runs_by.*?)`", str(file.message))[0] for file in rejected if "says that" in str(file.message)
    }
    assert said.startswith(f"runs_by: [{kept}, ")
    write_archive(tmp_path / "raw", {"layout.yaml": layout + said})
    found = list_files(tmp_path / "raw", tmp_path / "again").values()
    assert "rejected" not in {file.action for file in found}


def test_what_no_pattern_fits_is_read_as_the_harness_would(tmp_path: Path) -> None:
    files = {"layout.yaml": RUNS_LAYOUT, f"{JOB}/src-cmd:h:1:10.0ms": iperf3_json(), "alone.out": iperf3_json()}
    runs = {run.suffix: run for run in list_runs(write_archive(tmp_path / "raw", files), tmp_path / "w")}
    assert runs["h:1:10.0ms"].rtt_nominal_ms == 10
    assert runs["h:1:10.0ms"].conditions is None
    # One bare result of any name is a run.
    assert "alone.out" in runs


def test_another_layout_reads_no_file_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ccreport.inventory.index.RACY_NS", -(10**12))
    archive = write_archive(write_runs(tmp_path / "raw"), {"layout.yaml": RUNS_LAYOUT})
    first = list_archive(archive, tmp_path / "w")
    read: list[str] = []
    read_bytes = experiment_listing._read_bytes
    monkeypatch.setattr(experiment_listing, "_read_bytes", lambda path: (read.append(path.name), read_bytes(path))[1])
    (archive / "layout.yaml").write_text(RUNS_LAYOUT.replace("run>run", "job>run"))
    again = list_archive(archive, tmp_path / "w")
    assert again != first
    assert read == ["layout.yaml"]
    assert again == list_archive(archive, tmp_path / "afresh")


def test_a_run_that_is_added_changes_the_manifest_of_its_folder_only(tmp_path: Path) -> None:
    archive = write_archive(write_flows(tmp_path / "raw"), {"layout.yaml": FLOWS_LAYOUT})
    first = list_archive(archive, tmp_path / "w")
    write_archive(archive, {"20ms_0.01pct/h1_bbr_4BDP_out.json": client_output(4001)})
    second = list_archive(archive, tmp_path / "w")
    assert [one.job for name, one in second.items() if one != first[name]] == ["20ms_0.01pct"]
    shutil.rmtree(tmp_path / "w")
    assert list_archive(archive, tmp_path / "w") == second


NAMES = st.from_regex(r"[a-z]{1,3}[0-9]{0,2}", fullmatch=True)


@settings(deadline=None)
@given(st.dictionaries(NAMES, st.sampled_from([{"rtt_ms": 5.0}, {"rtt_ms": 7.0}, {"flow": "a"}, {"flow": "b"}, {}])))
def test_each_file_of_a_run_is_named_or_has_a_problem(values: dict[str, dict[str, str | int | float]]) -> None:
    named = _name_files("layout.yaml", "r", {}, {path: Told(told) for path, told in values.items()}, str)
    assert named.keys() == values.keys()
    runs = {one.run for one in named.values() if one.problem is None}
    assert len(runs) <= 1
    # What is wrong is only that one says 5 and another 7; the first by its path counts.
    first = next((values[path]["rtt_ms"] for path in sorted(values) if "rtt_ms" in values[path]), None)
    for path, one in named.items():
        assert (one.problem is not None) == (values[path].get("rtt_ms", first) != first)


SESSIONS = r"""files:
  - pattern: '(?P<session>[0-9-]{10})_(?P<cc>[a-z]+)_(?P<iteration>\d)\.json'
"""


def test_samples_of_no_pattern_are_beside_the_tests_of_their_folder(tmp_path: Path) -> None:
    files = {"layout.yaml": SESSIONS, "lab/2026-11-20_cubic_1.json": client_output(4001)}
    archive = write_archive(tmp_path / "raw", files | {"lab/dump-9.txt": socket_samples(4001), "lab/notes.txt": "x"})
    (of_tests,) = (one for one in list_archive(archive, tmp_path / "w").values() if one.session == "2026-11-20")
    assert {file.path: (file.kind, file.action) for file in of_tests.files} == {
        "lab/2026-11-20_cubic_1.json": ("src-cmd", "ingest"),
        "lab/dump-9.txt": ("ss", "ingest"),
    }


def test_samples_beside_tests_of_several_sessions_are_rejected_with_the_cause(tmp_path: Path) -> None:
    files = {f"lab/2026-11-2{day}_cubic_1.json": client_output(4000 + day) for day in (1, 2)}
    files |= {"layout.yaml": SESSIONS, "lab/dump-9.txt": socket_samples(4001)}
    file = list_files(write_archive(tmp_path / "raw", files), tmp_path / "w")["lab/dump-9.txt"]
    assert (file.action, file.reason) == ("rejected", "no_run")
    assert "the layout puts the tests of its folder into several sessions or jobs" in str(file.message)
