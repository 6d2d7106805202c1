"""The whole workflow on an archive in parts: the same tables, and after a change only what depends on it."""

import shutil
from pathlib import Path

import pytest
from builds import Build, build, check_golden, read_results

from ccreport.archive.pack import pack_folder

pytestmark = pytest.mark.slow

# Jobs of a build that reads and measures one batch.
ONCE = {"list_raw_files": 1, "ingest_batch": 1, "measure_batch": 1}


@pytest.fixture(scope="module")
def sample(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the cut of the sample archive as a folder of parts, one for each session."""
    folder = tmp_path_factory.mktemp("parts") / "sample"
    folder.mkdir()
    for session in sorted(raw.iterdir()):
        pack_folder(session, folder / f"{session.name.replace(':', '_')}.tar.zst", None, session.name)
    return folder


def read_logs(folder: Path) -> set[str]:
    """Return what the jobs of batches said last."""
    return {path.read_text().strip() for path in (folder / "logs").glob("*_batch/*.txt")}


def count_jobs(done: Build) -> dict[str, int]:
    assert done.returncode == 0, done.output
    return {rule: done.jobs[rule] for rule in ONCE}


def test_a_part_that_comes_or_goes_makes_only_its_experiments(raw: Path, sample: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(sample, tmp_path / "sample"))
    last = max(folder.iterdir())
    aside = last.rename(tmp_path / last.name)
    own = len(list((raw / last.name.removesuffix(".tar.zst").replace("_", ":")).iterdir()))

    first = build("tables", folder, tmp_path)
    assert count_jobs(first) == ONCE
    assert read_logs(tmp_path) == {f"read {9 - own} of {9 - own} experiments, kept 0"}

    aside.rename(last)
    added = build("tables", folder, tmp_path)
    assert count_jobs(added) == ONCE
    assert read_logs(tmp_path) == {f"read {own} of 9 experiments, kept {9 - own}"}
    check_golden(added.results)
    assert build("tables", folder, tmp_path).jobs.total() == 0

    # The parts by name are the same archive: it is listed again, and nothing of it is read.
    listed = build("tables", sorted(map(str, folder.iterdir())), tmp_path)
    assert count_jobs(listed) == {**dict.fromkeys(ONCE, 0), "list_raw_files": 1}

    last.unlink()
    removed = build("tables", folder, tmp_path)
    assert count_jobs(removed) == ONCE
    assert read_logs(tmp_path) == {f"read 0 of {9 - own} experiments, kept {9 - own}"}
    assert read_results(removed.results, "runs").height == read_results(first.results, "runs").height


def test_what_is_wrong_with_a_part_is_said(sample: Path, tmp_path: Path) -> None:
    missing = build("tables", [str(sample), "nowhere.tar.zst"], tmp_path)
    assert missing.returncode != 0
    assert "archive: nowhere.tar.zst does not exist" in missing.output
    folder = Path(shutil.copytree(sample, tmp_path / "sample"))
    broken = max(folder.iterdir())
    broken.write_bytes(broken.read_bytes()[:-9])
    assert build("ingest", folder, tmp_path).returncode != 0
    assert f"{broken.name} is not a readable tarball or zip" in (tmp_path / "logs/list_raw_files.txt").read_text()
