"""The whole workflow when something changes, is broken or is hostile."""

import html
import json
import re
import shutil
from pathlib import Path

import polars as pl
import pytest
from archives import JOB, ROOT, iperf3_json, write_archive
from builds import CUT, add_run, build, check_golden, find_own, read_results

pytestmark = pytest.mark.slow


def copy_archive(raw: Path, folder: Path) -> Path:
    return Path(shutil.copytree(raw, folder / "archive"))


def read_logs(folder: Path) -> set[str]:
    """Return what the jobs of batches said last."""
    return {path.read_text().strip() for path in (folder / "logs").glob("*_batch/*.txt")}


def test_only_what_depends_on_a_change_is_redone(raw: Path, tmp_path: Path) -> None:
    archive = copy_archive(raw, tmp_path)
    from_folder = build("tables", archive, tmp_path)
    assert from_folder.returncode == 0, from_folder.output
    # A folder and the tarball of it are the same archive.
    check_golden(from_folder.results)
    published = Path(shutil.copytree(find_own(from_folder.results) / "summaries", tmp_path / "published"))
    # All nine experiments are one batch.
    once = {"ingest_batch": 1, "measure_batch": 1}

    job = add_run(archive)
    added = build("tables", archive, tmp_path)
    assert added.returncode == 0, added.output
    assert {rule: added.jobs[rule] for rule in once} == once
    assert read_results(added.results, "runs").height == 18
    assert read_logs(tmp_path) == {"read 1 of 9 experiments, kept 8"}

    (job / "ss:10.201.1.2:3:10.0ms").unlink()
    changed = build("tables", archive, tmp_path)
    assert {rule: changed.jobs[rule] for rule in once} == once
    assert read_logs(tmp_path) == {"read 1 of 9 experiments, kept 8"}

    shutil.rmtree(job)
    removed = build("tables", archive, tmp_path)
    assert removed.returncode == 0, removed.output
    assert read_logs(tmp_path) == {"read 0 of 8 experiments, kept 8"}
    assert removed.jobs["summarise_tables_esnet_dtn"] == 1
    assert "cubic_p1_loss0.1" not in set(pl.read_parquet(find_own(removed.results) / "summaries/jobs.parquet")["job"])

    value = build("tables", archive, tmp_path, include_interrupted=True)
    assert value.jobs["measure_batch"] == 1
    assert "read 8 of 8 experiments, kept 0" in read_logs(tmp_path)
    assert not set(value.jobs) & {"ingest_batch", "list_raw_files"}

    beside = find_own(value.results) / "reproduction.parquet"
    compared = build(str(beside), archive, tmp_path, include_interrupted=True, compare_with=str(published))
    assert compared.returncode == 0, compared.output
    assert "missing" in set(pl.read_parquet(beside).filter(comparison="archive")["cell_state"])


def test_tables_wait_for_published_cells_and_not_for_their_values(raw: Path, tmp_path: Path) -> None:
    evaluation = Path(shutil.copy(ROOT / "evaluations/esnet-dtn.yaml", tmp_path))
    values = Path(shutil.copytree(ROOT / "evaluations/esnet-dtn", tmp_path / "esnet-dtn")) / "table_1_buffer_size.csv"
    made = build("tables", raw, tmp_path, evaluation=str(evaluation), explanations=None)
    assert made.returncode == 0, made.output
    target = str(find_own(made.results) / "claims.parquet")
    for old, new, is_made_anew in ((",8.3,", ",8.2,", False), ("8000000,", "9000000,", True)):
        values.write_text(values.read_text().replace(old, new))
        planned = build(target, raw, tmp_path, "--dry-run", evaluation=str(evaluation), explanations=None)
        assert planned.returncode == 0, planned.output
        assert ("summarise_tables_esnet_dtn" in planned.jobs) == is_made_anew


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


def test_each_pattern_by_which_rules_watch_the_package_has_files() -> None:
    rules = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    calls = re.findall(r'(?:list_package_files|digest_package)\(("[^)]+)\)', rules)
    patterns = {pattern for call in calls for pattern in re.findall(r'"([^"]+)"', call)}
    assert {"*.html", "report/*/*.js"} <= patterns
    assert [pattern for pattern in patterns if not any((ROOT / "src/ccreport").rglob(pattern))] == []


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


def test_strict_is_asked_of_a_finished_build_by_one_job(tmp_path: Path) -> None:
    archive = write_archive(tmp_path / "raw", BROKEN)
    assert build("tables", archive, tmp_path).returncode == 0
    done = build("tables", archive, tmp_path, strict=True)
    assert done.returncode != 0
    assert "src-cmd:h:4: empty" in done.output
    started = re.findall(r"^(?:local)?rule (\w+):", done.output, re.MULTILINE)
    assert started == ["list_rejects"], done.output


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
    last = f"ccreport: --config: archive: {tmp_path}/nowhere does not exist; name a folder, a tarball or an address"
    assert done.output.splitlines()[-1] == last


def test_a_file_that_is_no_archive_is_refused_before_anything_is_planned(tmp_path: Path) -> None:
    done = build("report", ROOT / "README.md", tmp_path, "--dry-run")
    assert done.returncode != 0
    last = f"archive: {ROOT}/README.md is not a folder, a tarball or a zip; put files by themselves into a folder"
    assert done.output.splitlines()[-1] == f"ccreport: --config: {last}"


@pytest.mark.parametrize(
    ("config", "message"),
    [({"strict": "perhaps"}, "perhaps"), ({"stricter": True}, "stricter"), ({"report": {"renderer": "x"}}, "renderer")],
)
def test_a_wrong_configuration_is_refused(config: dict[str, object], message: str, tmp_path: Path) -> None:
    done = build("report", CUT, tmp_path, "--dry-run", **config)
    assert done.returncode != 0
    assert message in done.output
