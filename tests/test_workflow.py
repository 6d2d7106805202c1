"""The whole workflow on a fixed cut of the sample archive: 17 runs of 9 experiments."""

import html
import itertools
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from support import JOB, ROOT, iperf3_json, write_archive

from ccreport.archive import find_root
from ccreport.tables import load_schema
from ccreport.unpack import unpack_archive
from workflow import Build, build

GOLDEN = Path(__file__).parent / "golden"
CUT = GOLDEN / "cut.tar.zst"
TABLES = ("runs", "flows", "experiments", "hosts", "tests")
SUMMARIES = (
    "table_1_buffer_size",
    "table_2_testbed",
    "table_3_paths",
    "stability",
    "retransmits",
    "coefficients",
    "cpu",
    "jobs",
    "witnesses",
)


@pytest.fixture(scope="module")
def cut(tmp_path_factory: pytest.TempPathFactory) -> Build:
    done = build("report", CUT, tmp_path_factory.mktemp("cut"))
    assert done.returncode == 0, done.output
    return done


@pytest.fixture(scope="module")
def raw(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("raw")
    unpack_archive(CUT, folder / "cut")
    return find_root(folder / "cut")


def find_own(results: Path) -> Path:
    """Return the folder of the evaluation's own results."""
    return results / "esnet-dtn"


def read_results(results: Path, table: str) -> pl.DataFrame:
    return pl.read_parquet(sorted((results / "tables" / table).glob("*.parquet")))


def as_text(frame: pl.DataFrame, key: tuple[str, ...]) -> str:
    """Return a table as CSV, sorted, with nine significant digits: what differs is then a difference of meaning."""
    rounded = frame.sort(key).with_columns(pl.col(pl.Float64).round_sig_figs(9))
    return rounded.write_csv()


@pytest.mark.parametrize("name", [*TABLES, *SUMMARIES])
def test_tables_equal_the_golden_ones(cut: Build, name: str, request: pytest.FixtureRequest) -> None:
    published = find_own(cut.results) / "summaries" / f"{name}.parquet"
    table = pl.read_parquet(published) if name in SUMMARIES else read_results(cut.results, name)
    text = as_text(table, load_schema(name).key)
    golden = GOLDEN / f"{name}.csv"
    if request.config.getoption("--refresh-golden"):
        golden.write_text(text)
    assert text.splitlines() == golden.read_text().splitlines()


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
    again = build("report", CUT, cut.results.parent)
    assert "Nothing to be done" in again.output


def test_the_report_has_every_page_and_no_request_elsewhere(cut: Build) -> None:
    pages = {path.name for path in (cut.results / "report").glob("*.html")}
    written = {path.with_suffix(".html").name for path in (ROOT / "reports").glob("*.qmd")}
    assert pages == written | {f"cells_{table}.html" for table in SUMMARIES}
    for page in pages:
        text = (cut.results / "report" / page).read_text()
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//(?!doi\.org|github\.com)""", text), page


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
    second = build("report", copy, tmp_path)
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


def copy_archive(raw: Path, folder: Path) -> Path:
    return Path(shutil.copytree(raw, folder / "archive"))


def test_only_what_depends_on_a_change_is_redone(cut: Build, raw: Path, tmp_path: Path) -> None:
    archive = copy_archive(raw, tmp_path)
    from_folder = build("tables", archive, tmp_path)
    assert from_folder.returncode == 0, from_folder.output
    # A folder and the tarball of it are the same archive.
    for path in sorted(find_own(from_folder.results).glob("summaries/*.csv")):
        assert path.read_bytes() == (find_own(cut.results) / "summaries" / path.name).read_bytes(), path.name
    once = {"ingest_experiment": 1, "measure_runs": 1}

    job = archive / "2026-11-20:22:11/cubic_p1_loss0.1"
    for name in ("src-cmd", "ss", "pre-netem"):
        shutil.copy(job / f"{name}:10.201.1.2:1:10.0ms", job / f"{name}:10.201.1.2:3:10.0ms")
    added = build("tables", archive, tmp_path)
    assert added.returncode == 0, added.output
    assert {rule: added.jobs[rule] for rule in once} == once
    assert read_results(added.results, "runs").height == 18

    (job / "ss:10.201.1.2:3:10.0ms").unlink()
    changed = build("tables", archive, tmp_path)
    assert {rule: changed.jobs[rule] for rule in once} == once

    shutil.rmtree(job)
    removed = build("tables", archive, tmp_path)
    assert removed.returncode == 0, removed.output
    assert not set(removed.jobs) & set(once)
    assert removed.jobs["summarise_table"] == len(SUMMARIES)
    assert "cubic_p1_loss0.1" not in set(pl.read_parquet(find_own(removed.results) / "summaries/jobs.parquet")["job"])

    value = build("tables", archive, tmp_path, include_interrupted=True)
    assert value.jobs["measure_runs"] == 8
    assert not set(value.jobs) & {"ingest_experiment", "list_raw_files"}


BROKEN: dict[str, str | bytes] = {
    f"{JOB}/jobmeta.json": "{}",
    f"{JOB}/src-cmd:h:1": iperf3_json(),
    f"{JOB}/src-cmd:h:2": iperf3_json()[:900],
    f"{JOB}/src-cmd:h:3": '{"start": {"connected": []}, "intervals": [], "end": {}, "error": "refused <b>"}',
    f"{JOB}/ss:h:1": "# 1795215547.905306\n",
    f"{JOB}/src-cmd:h:4": "",
    f"{JOB}/src-cmd:h:5.gz": b"\x1f\x8b\x08\x00\x00",
    f"{JOB}/copy/src-cmd:h:1": iperf3_json(),
    "2026-11-20:22:10/no metadata/src-cmd:h:1": iperf3_json(),
}


def test_a_broken_archive_still_builds_and_says_what_was_broken(tmp_path: Path) -> None:
    done = build("report", write_archive(tmp_path / "raw", BROKEN), tmp_path)
    assert done.returncode == 0, done.output
    rejects = read_results(done.results, "rejects")
    found = {(row["path"], row["reason"]) for row in rejects.filter("is_whole_file").iter_rows(named=True)}
    assert found == {
        (f"{JOB}/src-cmd:h:2", "truncated_json"),
        (f"{JOB}/src-cmd:h:3", "error_only"),
        (f"{JOB}/src-cmd:h:4", "empty"),
        (f"{JOB}/src-cmd:h:5.gz", "truncated_compression"),
        (f"{JOB}/ss:h:1", "no_measurement"),
        (f"{JOB}/copy/src-cmd:h:1", "duplicate_run"),
    }
    assert rejects.filter(~pl.col("is_whole_file"))["reason"].to_list() == ["no_metadata"]
    assert all(len(message) > 20 for message in rejects["message"])
    assert read_results(done.results, "runs").filter("is_counted").height == 2
    page = (done.results / "report/ledger.html").read_text()
    assert "refused <b>" not in page
    assert "refused <b>" in html.unescape(page)


def test_strict_turns_rejects_into_a_failure_that_names_the_files(tmp_path: Path) -> None:
    done = build("report", write_archive(tmp_path / "raw", BROKEN), tmp_path, strict=True)
    assert done.returncode != 0
    for name in ("src-cmd:h:2: truncated_json", "src-cmd:h:4: empty", "copy/src-cmd:h:1: duplicate_run"):
        assert name in done.output


def test_names_from_the_archive_run_nothing_and_reach_no_page_unescaped(tmp_path: Path) -> None:
    host = 'h"><script>alert(1)'
    jobs = [
        "$(touch pwned)",
        "`touch pwned`; touch pwned",
        "{{< include /etc/passwd >}}",
        "a\nb",
        "{wild}*[x]?",
        "'\"'",
    ]
    files: dict[str, str | bytes] = {
        f"2026-11-20:22:10/{job.replace('/', '_')}/src-cmd:{host}:1": iperf3_json() for job in jobs
    }
    files[f"{JOB}/jobmeta.json"] = json.dumps({"hostname": host, "name": "</td><script>alert(2)</script>"})
    files[f"{JOB}/src-cmd:{host}:1"] = iperf3_json(error=None, title="<script>alert(3)</script>")
    done = build("report", write_archive(tmp_path / "raw", files), tmp_path)
    assert done.returncode == 0, done.output
    assert not list(tmp_path.rglob("pwned"))
    assert not (ROOT / "pwned").exists()
    assert read_results(done.results, "runs").filter("is_counted").height == len(jobs) + 1
    for page in (done.results / "report").glob("*.html"):
        assert "<script>alert" not in page.read_text(), page


def test_an_archive_that_is_not_there_is_one_clear_line(tmp_path: Path) -> None:
    done = build("report", tmp_path / "nowhere", tmp_path)
    assert done.returncode != 0
    assert "does not exist; set `archive` in config.yaml" in done.output


@pytest.mark.parametrize(
    ("config", "message"),
    [({"strict": "perhaps"}, "perhaps"), ({"stricter": True}, "stricter"), ({"report": {"renderer": "x"}}, "renderer")],
)
def test_a_wrong_configuration_is_refused(config: dict[str, object], message: str, tmp_path: Path) -> None:
    done = build("report", CUT, tmp_path, "--dry-run", **config)
    assert done.returncode != 0
    assert message in done.output
