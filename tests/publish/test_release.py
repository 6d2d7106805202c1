"""A release of a whole build: verified by making all of it anew, judged by the validators of others, and refreshed."""

import html
import importlib.util
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from archives import ROOT
from builds import SWEEP_JOB, Build, add_run, build

from ccreport.archive.pack import pack_folder
from ccreport.core.declarations import load_yaml
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES

pytestmark = pytest.mark.slow

DIGEST = re.compile(r'<code class="digest">([0-9a-f]{64})</code>')
CITED = re.compile(r"the raw archive with the SHA-256 ([0-9a-f]{64})\b")


@pytest.fixture(scope="module")
def archive(raw: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with one session of the archive, the others being packed in `parts` beside it."""
    folder = tmp_path_factory.mktemp("raw")
    (folder / "parts").mkdir()
    for number, session in enumerate(sorted(raw.iterdir())):
        if SWEEP_JOB.startswith(session.name):
            shutil.copytree(session, folder / "archive" / session.name)
        else:
            pack_folder(session, folder / f"parts/{number}.tar.zst", None, session.name)
    return folder / "archive"


def list_places(archive: Path) -> list[str]:
    return [str(archive), str(archive.parent / "parts")]


@pytest.fixture(scope="module")
def published(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Build:
    # Of another archive than the sample nobody else is known to have measured.
    declared = {"version": "1", "creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0"}
    done = build("publish", list_places(archive), tmp_path_factory.mktemp("build"), release=declared)
    assert done.returncode == 0, done.output
    return done


@pytest.fixture(scope="module")
def release(published: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the release elsewhere."""
    return Path(shutil.copytree(published.results / "release/1", tmp_path_factory.mktemp("elsewhere") / "release"))


def read_files(folder: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder by path, but of hidden ones."""
    paths = (path for path in folder.rglob("*") if path.is_file() and not path.name.startswith("."))
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def read_hashes(site: Path) -> list[str]:
    """Return the hashes on the first page of a report: of the raw archive, of the published tables.

    The archive's is in the BibTeX entry too, and there it has to be the same.
    """
    page = (site / "index.html").read_text(encoding="utf-8")
    start = page.index('id="cite"')
    told = page[start : page.index("</section>", page.index('id="check"'))]
    digests = DIGEST.findall(told)
    assert CITED.findall(told) == digests[:1]
    return digests


def verify(release: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ccreport", "verify", str(release), *options]
    return subprocess.run(command, cwd=release.parent, capture_output=True, text=True, check=False)


def test_parts_of_the_archive_are_parts_of_the_release(release: Path) -> None:
    names = sorted(path.name for path in (release / "raw/parts").iterdir())
    assert names == [*(f"{number}.tar.zst" for number in range(1, 6)), "archive.tar.zst"]
    page = html.unescape((release / "site/provenance.html").read_text(encoding="utf-8"))
    assert all(f"SHA-256 of {name}" in page for name in names[:-1])
    # The part that is a folder has no hash of its own.
    assert "SHA-256 of archive<" not in page


def test_all_of_a_release_is_made_anew_and_is_the_same(release: Path) -> None:
    done = verify(release)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    said = [line.split()[0] for line in lines if not line.startswith(" ")]
    assert said[:-1] == ["passed"] * 9 + ["verified:"]
    # What the report's first page says of itself.
    archive, tables = read_hashes(release / "site")
    assert lines[1].split(maxsplit=1) == [tables, "published tables of esnet-dtn"]
    assert lines[-3].split(maxsplit=1) == [archive, "raw archive"]
    told = subprocess.run(
        ["bash", "-c", "sha256sum *.csv | sha256sum"],
        cwd=release / "site/tables",
        env={"LC_ALL": "C", "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split()[0] == tables


def test_a_table_that_others_would_not_come_to_is_named(release: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(release, tmp_path / "other"))
    csv = other / "evaluations/esnet-dtn/tables/jobs.csv"
    csv.write_text(csv.read_text().replace(",1,", ",2,", 1))
    done = verify(other, "--quick")
    assert done.returncode == 1
    assert "evaluations/esnet-dtn/tables/jobs.csv: not what SHA256SUMS says" in done.stdout


@pytest.mark.parametrize(("what", "package"), [("package", "frictionless"), ("crate", "rocrate_validator")])
def test_validators_of_others_find_nothing(release: Path, what: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    command = [sys.executable, ROOT / "tests/support/release_validators.py", what, release]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


def test_rules_name_the_tables_that_they_made_and_read(release: Path) -> None:
    graph = json.loads((release / "ro-crate-metadata.json").read_text(encoding="utf-8"))["@graph"]
    acts = {one["@id"]: one for one in graph if one["@type"] == "CreateAction"}
    made = {one["@id"] for one in acts["#summarise_tables-esnet-dtn"]["result"]}
    assert {f"evaluations/esnet-dtn/tables/jobs.{kind}" for kind in ("parquet", "csv", "html", "tex")} <= made
    read = {one["@id"] for one in acts["#list_views-esnet-dtn"]["object"]}
    assert {f"tables/{table}/archive.parquet" for table in (*EXPERIMENT_TABLES, *ARCHIVE_TABLES)} <= read


def test_a_published_version_stays_as_it_is(archive: Path, published: Build) -> None:
    declared = {"version": "1", "creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0", "description": "Another"}
    sums = published.results / "release/1/SHA256SUMS"
    before = sums.read_bytes()
    files = read_files(sums.parents[1])
    assert "1.sha256" in files
    # Also when it is tried again, nothing is taken as done, and neither is it uploaded.
    target = published.results.parent / "target"
    for rule in ("publish", "publish", "upload"):
        settings = declared | {"target": str(target)}
        # As `make` does: Snakemake itself shows the log of a job that failed as well.
        quiet = ("--logger", "ccreport", "--cores", "2")
        done = build(rule, list_places(archive), published.results.parent, *quiet, release=settings)
        assert done.returncode == 1
        assert done.output.count("version 1 is published already with other contents") == 1
        assert read_files(sums.parents[1]) == files
    assert not target.exists()
    itself = {**declared, "former": str(sums.parent)}
    done = build("publish", list_places(archive), published.results.parent, "-n", release=itself)
    assert done.output.endswith(
        f"release.former: {sums.parent} is the release that is being written; raise release.version\n"
    )
    done = build("publish", list_places(archive), published.results.parent, release=declared | {"replace": True})
    assert done.returncode == 0, done.output
    assert sums.read_bytes() != before


def test_a_damaged_release_is_made_whole_by_whoever_asks_for_it(archive: Path, published: Build) -> None:
    declared = {"version": "1", "creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0", "description": "Another"}
    release = published.results / "release/1"
    whole = read_files(release)
    for rule in ("publish", "upload"):
        (release / "README.md").write_text("Edited.")
        (release / "LICENSE").unlink()
        settings = declared | {"target": str(published.results.parent / "target")}
        done = build(rule, list_places(archive), published.results.parent, release=settings)
        assert done.returncode == 0, done.output
        assert f"{release} is damaged: LICENSE: missing (and 1 more); it is published again" in done.output
        assert done.jobs["publish"] == 1
        assert "render_report" not in done.jobs
        assert read_files(release) == whole
    done = build("publish", list_places(archive), published.results.parent, release=declared)
    assert not done.jobs


def test_an_archive_that_is_no_longer_the_sample_is_told_in_the_last_line(archive: Path, tmp_path: Path) -> None:
    """Only when its files are listed, by a job, it is known to be another: the results before were of the sample."""
    (tmp_path / "results").mkdir()
    sample = load_yaml(ROOT / "archive/explanations.yaml")["archive_sha256"]
    (tmp_path / "results/archive.json").write_text(json.dumps({"name": archive.name, "sha256": sample}))
    done = build("publish", archive, tmp_path)
    assert done.returncode == 1
    assert "list_raw_files" in done.jobs
    assert done.output.splitlines()[-1].startswith("ccreport: release.creators names nobody; ")
    assert done.output.count("names nobody") == 1


def test_a_version_that_cannot_be_published_is_refused_before_anything_is_built(archive: Path, tmp_path: Path) -> None:
    declared = {"version": "5.0", "creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0"}
    place = tmp_path / "results/release/5.0"
    place.parent.mkdir(parents=True)
    place.touch()
    done = build("publish", archive, tmp_path, release=declared)
    said = f"release.version: {place} is a file, not a folder; remove it, or raise release.version"
    assert (done.returncode, done.output.splitlines()[-1]) == (1, f"ccreport: --config: {said}")
    assert not done.jobs
    # Of another archive, which is known when this one's files are listed.
    place.unlink()
    (place / "raw").mkdir(parents=True)
    (place / "raw/archive.json").write_text(json.dumps({"name": archive.name, "sha256": "ab" * 32}))
    done = build("publish", archive, tmp_path, release=declared)
    assert done.returncode == 1
    assert done.output.splitlines()[-1].startswith("ccreport: version 5.0 is published already with other contents")
    assert not {"ingest_batch", "publish"} & done.jobs.keys()


def test_a_refreshed_report_says_what_changed_since_the_release(archive: Path, published: Build, release: Path) -> None:
    add_run(archive)
    settings = {"version": "2", "former": str(release)}
    done = build("report", list_places(archive), published.results.parent, release=settings)
    assert done.returncode == 0, done.output
    assert done.jobs["ingest_batch"] == 1
    page = html.unescape((done.results / "report/changes.html").read_text(encoding="utf-8"))
    assert "Compared with version 1 of 2026-11-20" in page
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in re.findall(r"<tr>(.*?)</tr>", page, re.DOTALL)]
    changed = [" ".join(row[1:]) for row in rows if row and "cubic_p1_loss0.1" in row[0]]
    assert "4 5 +25 %" in changed, rows
    added = [item for item in re.findall(r"<li><code[^>]*>(.*?)</code></li>", page) if item.startswith(SWEEP_JOB)]
    assert added == [f"{SWEEP_JOB}/{name}:10.201.1.2:3:10.0ms" for name in ("pre-netem", "src-cmd", "ss")]
    # The tables are others now, and so is their hash.
    assert set(read_hashes(done.results / "report")).isdisjoint(read_hashes(release / "site"))


def test_a_damaged_former_release_is_refused_before_the_first_job_and_a_later_one_is_told(
    archive: Path, published: Build, release: Path, tmp_path: Path
) -> None:
    declared = {"creators": [{"name": "Ada Example"}], "license": "CC-BY-4.0"}
    damaged = Path(shutil.copytree(release, tmp_path / "damaged"))
    table = "evaluations/esnet-dtn/tables/jobs.csv"
    (damaged / table).write_text("changed\n")
    for rule in ("report", "publish"):
        settings = declared | {"version": "3", "former": str(damaged)}
        done = build(rule, list_places(archive), published.results.parent, release=settings)
        assert done.returncode == 1
        assert not done.jobs
        assert done.output.splitlines()[-1].startswith(
            f"ccreport: {damaged} is damaged: {table}: not what SHA256SUMS says; look closer with `python -m ccreport"
        )
    settings = declared | {"version": "0.9", "former": str(release)}
    done = build("publish", list_places(archive), published.results.parent, "-n", release=settings)
    assert done.returncode == 0, done.output
    assert (
        done.output.count("warning: version 0.9 is compared as the later one of 1; raise release.version, or name") == 1
    )
    # Before anything is hashed its version is read, also by a dry run.
    (damaged / "CITATION.cff").write_text("version: [\n")
    settings = declared | {"version": "3", "former": str(damaged)}
    done = build("publish", list_places(archive), published.results.parent, "-n", release=settings)
    assert done.returncode == 1
    said = f"ccreport: release.former: {damaged}: CITATION.cff does not say the version of the release"
    assert done.output.splitlines()[-1] == said
