"""What fails around a build, and that the next one gives the bytes of a build that nothing happened to."""

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from archives import ROOT
from checkouts import LIMIT_S, TARGET, Checkout, kill_all, wait_until
from synthesised import make

pytestmark = pytest.mark.slow

HOUR_S = 3600


def add_run(checkout: Checkout) -> None:
    """Add a run to the archive of a checkout: a copy of its first one under the next iteration's name."""
    for kind in ("src-cmd", "ss"):
        source = min(checkout.folder.glob(f"raw/*/*/{kind}:*:1:*"))
        shutil.copy2(source, source.with_name(source.name.replace(":1:", ":99:")))


@pytest.fixture(scope="module")
def new(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    """Return a checkout in which no more than the readers' kernels has been built."""
    folder = tmp_path_factory.mktemp("faults")
    archive = make(folder / "archive", 20, seed=7, runs_per_job=4, bytes_per_run=20_000).folder
    checkout = Checkout(folder / "new")
    checkout.set_up(archive)
    assert checkout.start(target="results/kernels.txt").wait(LIMIT_S) == 0, checkout.said.read_text()
    return checkout


@pytest.fixture(scope="module")
def built(new: Checkout) -> Checkout:
    """Return one in which the archive was built."""
    checkout = new.copy(new.folder.with_name("built"))
    code, said = checkout.build()
    assert code == 0, said
    return checkout


@pytest.fixture(scope="module")
def added(new: Checkout) -> Checkout:
    """Return one in which the archive with one more run was built."""
    checkout = new.copy(new.folder.with_name("added"))
    add_run(checkout)
    code, said = checkout.build()
    assert code == 0, said
    return checkout


def check_rerun(checkout: Checkout, undisturbed: Checkout, target: str = TARGET, **values: object) -> str:
    """Build again; check that the results are those of an undisturbed build."""
    code, said = checkout.build(target=target, **values)
    assert code == 0, said
    assert checkout.read_results() == undisturbed.read_results()
    return said


def check_idle(checkout: Checkout) -> None:
    """Check that no more is to be done, though times are odd."""
    assert "Nothing to be done" in checkout.build("--dry-run")[1]


@contextlib.contextmanager
def mount(place: Path, *arguments: str) -> Iterator[None]:
    """Mount something for a while, where that may be done."""
    mounted = subprocess.run(["mount", *arguments, place], capture_output=True, text=True, check=False)
    if mounted.returncode:
        pytest.skip(f"mount needs root, and a system that lets it: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_the_two_archives_differ(built: Checkout, added: Checkout) -> None:
    one, other = built.read_results(), added.read_results()
    assert {"tables/runs", "tables/tests"} <= {str(Path(name).parent) for name in one if one[name] != other.get(name)}
    assert not any(name.endswith((".part", ".partial")) for name in one)


def kill_one(checkout: Checkout, rule: str, target: str = TARGET, **values: object) -> None:
    """Build, and kill a job of that rule."""
    (checkout.folder / "killed").write_text(rule)
    code, said = checkout.build(target=target, **values)
    assert code == 1, said
    assert re.search(f"Error in (rule|checkpoint) {rule}", said), said
    assert "Killed" in said
    assert not (checkout.folder / "killed").exists()


@pytest.mark.parametrize("rule", ["ingest_batch", "measure_batch"])
def test_a_job_killed_between_its_files(rule: str, built: Checkout, added: Checkout, tmp_path: Path) -> None:
    checkout = built.copy(tmp_path / "killed")
    add_run(checkout)
    kill_one(checkout, rule)
    check_rerun(checkout, added)
    logs = [path.read_text() for path in checkout.folder.glob(f"logs/{rule}/*.txt")]
    assert any("kept" in log and "kept 0" not in log for log in logs)


@pytest.mark.parametrize("rule", ["list_raw_files", "measure_ledger", "list_views", "summarise_tables"])
def test_a_job_killed_in_a_refresh(rule: str, built: Checkout, added: Checkout, tmp_path: Path) -> None:
    """All that is made of its results is still there, as it was before the change."""
    checkout = built.copy(tmp_path / "killed")
    add_run(checkout)
    kill_one(checkout, rule)
    check_rerun(checkout, added)
    check_idle(checkout)


def make_report(checkout: Checkout, name: str) -> Checkout:
    """Return a copy of a checkout beside it, in which the report was made too."""
    copied = checkout.copy(checkout.folder.with_name(name))
    code, said = copied.build(target="report")
    assert code == 0, said
    return copied


@pytest.fixture(scope="module")
def reported(built: Checkout) -> Checkout:
    """Return a checkout in which the report was made of the archive."""
    return make_report(built, "reported")


@pytest.fixture(scope="module")
def reported_added(added: Checkout) -> Checkout:
    """Return a checkout in which the report was made of the archive with one more run."""
    return make_report(added, "reported_added")


@pytest.mark.parametrize("rule", ["list_raw_files", "plot_figures", "render_fragments", "render_report"])
def test_a_job_of_the_report_killed_in_a_refresh(
    rule: str, reported: Checkout, reported_added: Checkout, tmp_path: Path
) -> None:
    checkout = reported.copy(tmp_path / "killed")
    index = checkout.results / "report/index.html"
    page = index.read_bytes()
    add_run(checkout)
    kill_one(checkout, rule, "report")
    # The old page is there until the new one is, also where the job was killed when that was.
    assert index.read_bytes() == page
    check_rerun(checkout, reported_added, "report")
    assert index.read_bytes() != page


def test_a_job_killed_that_takes_from_the_ledger_what_the_ledger_does_not_tell(built: Checkout, tmp_path: Path) -> None:
    """The measures change with the configuration, the ledger of the files stays as it is, byte for byte."""
    undisturbed, checkout = (built.copy(tmp_path / name) for name in ("undisturbed", "killed"))
    values = {"include_cpu_bound": False}
    assert undisturbed.build(**values)[0] == 0
    kill_one(checkout, "list_views", **values)
    check_rerun(checkout, undisturbed, **values)


def test_what_a_killed_build_started_ends_with_it(new: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "orphans")
    process = checkout.start()
    wait_until(lambda: any(checkout.results.glob("tables/.ingest-*")), process)
    started = psutil.Process(process.pid).children(recursive=True)
    assert any("ingest_batch" in one.cmdline() for one in started)
    process.kill()
    process.wait()
    _, alive = psutil.wait_procs(started, timeout=20)
    assert alive == []


@pytest.mark.parametrize("moment", ["tables/.ingest-*", "tables/.measure-*", "esnet-dtn/archive.duckdb"])
def test_a_workflow_killed_with_all_its_jobs(moment: str, built: Checkout, added: Checkout, tmp_path: Path) -> None:
    checkout = built.copy(tmp_path / "killed")
    add_run(checkout)
    (checkout.results / "esnet-dtn/archive.duckdb").unlink()
    process = checkout.start()
    wait_until(lambda: any(checkout.results.glob(moment)), process)
    kill_all(process)
    code, said = checkout.build()
    assert code == 1
    assert "then build again: " in said
    # It is the whole command, with the configuration.
    python, *command = shlex.split(said.rpartition("then build again: ")[2])
    assert python == "python"
    subprocess.run([sys.executable, *command], cwd=checkout.folder, check=True)
    check_rerun(checkout, added)


def test_two_builds_at_once(new: Checkout, built: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "twice")
    first, said = checkout.start(), tmp_path / "said.txt"
    wait_until(lambda: any(checkout.results.glob("batches.txt")), first)
    process = psutil.Process(first.pid)
    process.suspend()
    try:
        # One into another folder goes on, and ends without the lock of the first.
        other = {"target": "other/kernels.txt", "pathvars": "{results: other, logs: other/logs}"}
        assert checkout.start(said=said, **other).wait(LIMIT_S) == 0, said.read_text()
        assert (checkout.folder / "other/kernels.txt").exists()
        # It has removed Snakemake's lock of the first, but not the lock of the results.
        for options in ([], ["--dry-run"]):
            code, told = checkout.build(*options)
            assert code == 1
            assert told.rstrip().splitlines()[-1].startswith("ccreport: another build writes into results; wait until")
            assert "Directory cannot be locked" not in told
    finally:
        process.resume()
    assert first.wait(LIMIT_S) == 0
    check_rerun(checkout, built)


def test_two_builds_that_start_together(new: Checkout, built: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "together")
    builds = [checkout.start(said=tmp_path / f"said{number}.txt") for number in range(2)]
    codes = [build.wait(LIMIT_S) for build in builds]
    assert sorted(codes) == [0, 1]
    said = (tmp_path / f"said{codes.index(1)}.txt").read_text()
    assert re.search("another build writes into results|another build that writes the same files runs", said)
    check_rerun(checkout, built)


def test_a_disk_that_is_full(new: Checkout, built: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "full")
    kernels = shutil.move(checkout.results / "kernels.txt", tmp_path)
    with mount(checkout.results, "-t", "tmpfs", "-o", "size=300k", "tmpfs"):
        shutil.copy2(kernels, checkout.results)
        code, said = checkout.build()
        assert code == 1
        assert "No space left on device" in said
        subprocess.run(["mount", "-o", "remount,size=64m", checkout.results], check=True)
        check_rerun(checkout, built)


def test_an_archive_that_nobody_may_write(new: Checkout, built: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "fixed")
    raw = checkout.folder / "raw"
    with mount(raw, "--bind", str(raw)):
        subprocess.run(["mount", "-o", "remount,bind,ro", raw], check=True)
        with pytest.raises(OSError, match="Read-only"):
            (raw / "new").touch()
        check_rerun(checkout, built)


def set_times(folder: Path, shift_s: float) -> None:
    """Let all files and folders below one be of a time from now."""
    for path in (folder, *folder.rglob("*")):
        os.utime(path, (time.time() + shift_s,) * 2, follow_symlinks=False)


def test_an_archive_from_the_future(new: Checkout, built: Checkout, tmp_path: Path) -> None:
    checkout = new.copy(tmp_path / "ahead")
    set_times(checkout.folder / "raw", HOUR_S)
    check_rerun(checkout, built)
    check_idle(checkout)


def test_a_clock_that_was_set_back(built: Checkout, added: Checkout, tmp_path: Path) -> None:
    """All was built while the clock was ahead; a change made now is older than that."""
    checkout = built.copy(tmp_path / "back")
    set_times(checkout.results, HOUR_S)
    add_run(checkout)
    assert "The clock was set back" in check_rerun(checkout, added)
    check_idle(checkout)


def test_a_clock_that_was_set_back_by_a_moment(built: Checkout, added: Checkout, tmp_path: Path) -> None:
    checkout = built.copy(tmp_path / "moment")
    set_times(checkout.results, 5)
    add_run(checkout)
    check_rerun(checkout, added)


def test_a_clock_that_was_set_back_within_a_refresh(built: Checkout, added: Checkout, tmp_path: Path) -> None:
    """A build began while the clock was ahead and was killed: what it made is older then than what is older."""
    checkout = built.copy(tmp_path / "within")
    add_run(checkout)
    assert checkout.build(target="results/batches.txt")[0] == 0
    begun = [checkout.results / name for name in ("batches.txt", "archive.json", "inventory.jsonl", "manifests")]
    for path in (*begun, *(checkout.results / "manifests").iterdir()):
        os.utime(path, (time.time() + HOUR_S,) * 2)
    assert "The clock was set back" in check_rerun(checkout, added)


def test_a_source_that_changed_before_the_clock_was_set_back(built: Checkout, tmp_path: Path) -> None:
    """All was built while the clock was ahead; only a query is older than that, and differs."""
    checkout = built.copy(tmp_path / "query")
    (checkout.folder / "src").unlink()
    shutil.copytree(ROOT / "src", checkout.folder / "src", ignore=shutil.ignore_patterns("__pycache__"))
    query = checkout.folder / "src/ccreport/sql/general/jobs.sql"
    query.write_text(f"{query.read_text()}-- changed\n")
    set_times(checkout.results, HOUR_S)
    code, said = checkout.build("--dry-run")
    assert code == 0, said
    assert "checkpoint list_raw_files:" in said
    assert "The clock was set back" in check_rerun(checkout, built)
    assert re.search("rule list_views:", checkout.said.read_text())
    check_idle(checkout)


def test_a_source_from_the_future_is_named(built: Checkout, tmp_path: Path) -> None:
    checkout = built.copy(tmp_path / "source")
    (checkout.folder / "reports").unlink()
    shutil.copytree(ROOT / "reports", checkout.folder / "reports")
    os.utime(checkout.folder / "reports/index.qmd", (time.time() + HOUR_S,) * 2)
    # Sources are looked at before the first job; a build without one makes nothing of them.
    add_run(checkout)
    code, said = checkout.build()
    assert code == 1, said
    assert "reports/index.qmd has a time in the future: set the clock, or `touch reports/index.qmd`" in said


def test_a_clock_that_was_set_forward(built: Checkout, added: Checkout, tmp_path: Path) -> None:
    """All was built long ago, says the clock."""
    checkout = built.copy(tmp_path / "forward")
    set_times(checkout.results, -24 * HOUR_S)
    add_run(checkout)
    check_rerun(checkout, added)
