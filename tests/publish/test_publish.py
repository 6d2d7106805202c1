"""Releases: what is in one, that it can be checked with standard tools, that the same build gives the same bytes."""

import csv
import importlib.util
import json
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import duckdb
import polars as pl
import pyarrow.parquet as pq
import pytest
import zstandard
from archives import ROOT, save_table
from small_release import (
    EVALUATION,
    HELLO,
    NOTHING,
    describe_again,
    make_config,
    make_results,
    release_of,
    save_manifests,
)

from ccreport.__main__ import main
from ccreport.archive.manifest import RawFile
from ccreport.archive.pack import pack_folder
from ccreport.archive.unpack import unpack_archive
from ccreport.core.declarations import load_yaml
from ccreport.core.errors import InputError
from ccreport.core.tables import load_schema
from ccreport.publish import EXPLANATIONS, SUMS
from ccreport.publish.declaration import declare_release
from ccreport.publish.keys import TYPED_TABLES, list_foreign_keys
from ccreport.publish.provenance import list_actions
from ccreport.publish.release import publish
from ccreport.publish.stage import check_raw
from ccreport.publish.sums import find_damage, format_sums, parse_sums, read_sums, write_sums
from ccreport.publish.upload import upload
from ccreport.storage.sums import hash_file


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    return release_of(folder, make_results(folder), pack=True)


def test_everything_is_where_the_layout_says(release: Path) -> None:
    names = set(read_sums(release))
    own = {"README.md", "CHANGES.md", "CITATION.cff", "LICENSE", "datapackage.json", "ro-crate-metadata.json"}
    raw = {"raw/archive.json", "raw/SHA256SUMS", "raw/raw.tar.zst"}
    typed = {f"tables/{table}/archive.parquet" for table in TYPED_TABLES}
    results = {f"evaluations/one/tables/jobs.{kind}" for kind in ("parquet", "csv", "html", "tex")}
    results |= {
        f"evaluations/one/{name}" for name in ("one.yaml", "views.sql", "claims.csv", "report.pdf", "supplement.pdf")
    }
    code = {
        "code/config.yaml",
        "code/requirements.lock",
        "code/src/ccreport/sql/general/jobs.sql",
        "code/rules/ingest.smk",
    }
    assert names >= own | raw | typed | results | code | {
        "site/index.html",
        "evaluations/one/figures/figure_1/figure.svg",
    }
    assert not any("__pycache__" in name or name.startswith("code/tests") for name in names)


@pytest.mark.slow
def test_a_release_is_replaced_by_another_only_if_that_is_declared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = "2.1 was there with other contents and is replaced\n"
    stays = (
        rf"2\.1 is published already with other contents, and {tmp_path}/release/2\.1 stays as it is; raise .*replace"
    )
    release = release_of(tmp_path, make_results(tmp_path))
    assert told not in capsys.readouterr().out
    shutil.rmtree(tmp_path / "results")
    # As Snakemake does before it makes the release again.
    (release / "SHA256SUMS").unlink()
    results = make_results(tmp_path)
    release_of(tmp_path, results)
    assert told not in capsys.readouterr().out
    (results / "report/index.html").write_text("<title>Another</title>")
    before = (release / "site/index.html").read_text()
    with pytest.raises(InputError, match=stays):
        release_of(tmp_path, results)
    assert (release / "site/index.html").read_text() == before
    assert [path.name for path in release.parent.iterdir() if path.is_dir()] == ["2.1"]
    packed = release.with_name("2.1.tar.zst")
    packed.write_text("of the version that is replaced")
    packed.with_name("2.1.tar.zst.sha256").touch()
    release_of(tmp_path, results, replace=True)
    assert not list(release.parent.glob("2.1.tar.zst*"))
    printed = capsys.readouterr().out
    assert printed.startswith(f"{told}release 2.1: {release}, sha256 of its SHA256SUMS ")
    assert "Another" in (release / "site/index.html").read_text()
    subprocess.run(["sha256sum", "--check", "--quiet", "2.1.sha256"], cwd=release.parent, check=True)


@pytest.mark.slow
def test_a_damaged_release_of_the_same_build_is_made_whole(tmp_path: Path) -> None:
    results = make_results(tmp_path)
    release = release_of(tmp_path, results, pack=True)
    sums = (release / SUMS).read_bytes()
    assert not find_damage(release, is_packed=True)
    (release / "README.md").write_text("Edited.")
    (release / "LICENSE").unlink()
    (release.parent / "2.1.tar.zst").write_text("cut")
    assert find_damage(release, is_packed=True) == [
        "LICENSE: missing",
        f"README.md: not what {SUMS} says",
        "2.1.tar.zst: not what 2.1.tar.zst.sha256 says",
    ]
    release_of(tmp_path, results, pack=True)
    assert not find_damage(release, is_packed=True)
    # Where the list is gone or empty, the hash beside the folder says which release it was.
    (release / SUMS).write_bytes(b"")
    (release / "README.md").write_text("Edited.")
    assert find_damage(release, is_packed=False)[0] == f"{SUMS} is empty; fetch it again"
    release_of(tmp_path, results, pack=True)
    assert (release / SUMS).read_bytes() == sums
    assert not find_damage(release, is_packed=True)
    (release / "raw/mine").write_text("mine")
    (release / "LICENSE").unlink()
    with pytest.raises(InputError, match=r"^.*/2\.1/raw/mine is not a file of version 2\.1, and .*; move it elsewhere"):
        release_of(tmp_path, results, pack=True)
    assert (release / "raw/mine").read_text() == "mine"


def test_sums_are_those_of_the_standard_tool(release: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=release, check=True)
    subprocess.run(
        ["sha256sum", "--check", "--quiet", release / "raw/SHA256SUMS"], cwd=release.parents[1] / "raw", check=True
    )
    files = {path.relative_to(release).as_posix() for path in release.rglob("*") if path.is_file()}
    assert set(read_sums(release)) == files - {"SHA256SUMS"}


@pytest.mark.slow
def test_raw_files_are_listed_by_their_names_on_disk(tmp_path: Path) -> None:
    results = make_results(tmp_path)
    odd = RawFile("h", "2026-11-20:22:10/j/a\nb\udcff", "src-cmd", None, 0, NOTHING, "ignored", rule="x")
    link = RawFile(
        "g", "2026-11-20:22:10/j/link", "unknown", None, 0, NOTHING, "rejected", reason="not_a_file", message="a link"
    )
    save_manifests(results, odd, link)
    sums = (release_of(tmp_path, results) / "raw/SHA256SUMS").read_bytes()
    assert sums == f"\\{NOTHING}  2026-11-20:22:10/j/a\\nb".encode() + b"\xff\n"


def test_raw_files_that_the_tables_are_not_made_of_are_not_published(tmp_path: Path) -> None:
    """Results that were copied from elsewhere are of the archive there, which Snakemake does not notice."""
    results = make_results(tmp_path)
    (tmp_path / "parts").mkdir()
    for name in ("a", "b", "c"):
        (tmp_path / f"parts/{name}.tar.zst").write_text(name)
    hashes = {name: hash_file(tmp_path / f"parts/{name}.tar.zst") for name in ("a", "b", "c")}
    listed = [{"name": f"{name}.tar.zst", "sha256": sha256} for name, sha256 in hashes.items()]
    listed[1]["sha256"], listed[2]["name"] = NOTHING, "d.tar.zst"
    (results / "archive.json").write_text(json.dumps({"name": "parts", "sha256": NOTHING, "parts": listed}))
    told = r"other raw files than the archive: b\.tar\.zst, c\.tar\.zst, d\.tar\.zst; type `snakemake"
    with pytest.raises(InputError, match=told):
        release_of(tmp_path, results, [tmp_path / "parts"])
    assert not (tmp_path / "release").exists()


def test_a_packed_archive_is_the_one_that_was_unpacked(tmp_path: Path) -> None:
    packed, results = tmp_path / "raw.tar.zst", tmp_path / "results"
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a").write_text("a")
    pack_folder(tmp_path / "raw", packed, None)
    unpack_archive(packed, results / "archive")
    check_raw([packed], results)
    (tmp_path / "raw/a").write_text("b")
    pack_folder(tmp_path / "raw", packed, None)
    with pytest.raises(InputError, match=r"other raw files than the archive: raw\.tar\.zst; type"):
        check_raw([packed], results)


def test_a_changed_byte_is_found_by_its_name(release: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "copy"))
    (copy / "LICENSE").write_text("free for all")
    done = subprocess.run(
        ["sha256sum", "--check", "--quiet", "SHA256SUMS"], cwd=copy, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == "LICENSE: FAILED\n"


def test_names_that_need_escapes_are_written_as_sha256sum_writes_them(tmp_path: Path) -> None:
    (tmp_path / "a\nb\\c").write_text("hello\n")
    (tmp_path / "é ").write_bytes(b"")
    write_sums(tmp_path)
    written = (tmp_path / "SHA256SUMS").read_bytes()
    assert written == f"\\{HELLO}  a\\nb\\\\c\n{NOTHING}  é \n".encode()
    assert parse_sums(written, "it") == {"a\nb\\c": HELLO, "é ": NOTHING}
    subprocess.run(["sha256sum", "--check", "--quiet", "--strict", "SHA256SUMS"], cwd=tmp_path, check=True)


@pytest.mark.parametrize("content", [b"x  y\n", f"{HELLO} *a\n".encode(), f"{HELLO}  a\n{HELLO}  a\n".encode()])
def test_anything_but_a_list_of_sums_is_refused(content: bytes) -> None:
    with pytest.raises(InputError, match="SUMS, line"):
        parse_sums(content, "SUMS")


def test_sums_are_sorted_by_path() -> None:
    assert format_sums({"b": HELLO, "a/c": NOTHING}) == f"{NOTHING}  a/c\n{HELLO}  b\n".encode()


def test_tables_have_the_rows_of_all_batches_and_say_what_they_mean(release: Path) -> None:
    file = pq.ParquetFile(release / "tables/runs/archive.parquet")
    assert file.read().column("run_id").to_pylist() == ["e.a", "e.b"]
    field = file.schema_arrow.field("rtt_ms")
    assert field.metadata[b"unit"] == b"ms"
    assert field.metadata[b"description"].startswith(b"Round-trip time")


@pytest.mark.slow
def test_the_same_build_gives_the_same_bytes(release: Path, tmp_path: Path) -> None:
    again = release_of(tmp_path, make_results(tmp_path), pack=True)
    assert read_sums(again) == read_sums(release)
    packed = "../2.1.tar.zst"
    assert (again / packed).resolve().read_bytes() == (release / packed).resolve().read_bytes()
    subprocess.run(["sha256sum", "--check", "--quiet", "2.1.tar.zst.sha256"], cwd=again.parent, check=True)


def test_the_packed_release_is_the_folder_without_owners(release: Path) -> None:
    with (
        (release.parent / "2.1.tar.zst").open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as packed,
    ):
        members = packed.getmembers()
    names = [member.name for member in members]
    assert names == sorted(f"one-2.1/{name}" for name in [*read_sums(release), "SHA256SUMS"])
    # The day of the only run with a time, at midnight: 2026-11-20T00:00Z.
    assert {(member.uid, member.gid, member.uname, member.mtime) for member in members} == {(0, 0, "", 1795132800)}


def test_packing_leaves_links_out(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/file").write_text("hello\n")
    (tmp_path / "in/link").symlink_to("/etc/passwd")
    pack_folder(tmp_path / "in", tmp_path / "out.tar.zst", 5)
    with (
        (tmp_path / "out.tar.zst").open("rb") as file,
        zstandard.ZstdDecompressor().stream_reader(file) as stream,
        tarfile.open(fileobj=stream, mode="r|") as packed,
    ):
        assert packed.getnames() == ["file"]


def test_the_descriptor_has_types_units_bounds_and_keys(release: Path) -> None:
    package = json.loads((release / "datapackage.json").read_text())
    resources = {one["name"]: one for one in package["resources"]}
    assert package["version"] == "2.1"
    assert package["created"] == "2026-11-20T00:00:00Z"
    assert package["licenses"][0]["name"] == "CC-BY-4.0"
    runs = resources["runs"]
    fields = {field["name"]: field for field in runs["schema"]["fields"]}
    assert (fields["rtt_ms"]["type"], fields["rtt_ms"]["unit"]) == ("number", "ms")
    assert fields["rtt_ms"]["constraints"] == {"minimum": 0}
    assert fields["run_id"]["constraints"] == {"required": True}
    assert runs["schema"]["primaryKey"] == ["run_id"]
    intervals = {tuple(key["fields"]): key["reference"] for key in resources["intervals"]["schema"]["foreignKeys"]}
    assert intervals[("run_id", "flow_id")] == {"resource": "flows", "fields": ["run_id", "flow_id"]}
    sums = read_sums(release)
    assert all(one["hash"] == f"sha256:{sums[one['path']]}" for one in resources.values())
    assert all(one["bytes"] == (release / one["path"]).stat().st_size for one in resources.values())


def test_foreign_keys_lead_to_keys() -> None:
    for table in TYPED_TABLES:
        for columns, other in list_foreign_keys(table):
            assert columns == load_schema(other).key, (table, other)
            assert set(columns) <= set(load_schema(table).polars), table


def test_views_run_in_the_release_s_folder(release: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(release)
    with duckdb.connect() as connection:
        connection.execute(Path("evaluations/one/views.sql").read_text())
        assert connection.sql("SELECT run_id FROM labelled_runs ORDER BY ALL").fetchall() == [("e.a",), ("e.b",)]
        assert connection.sql("FROM algorithms").fetchall() == [("cubic", "CUBIC", 0)]
        assert connection.sql("FROM jobs").fetchall() == []


def test_the_configuration_leads_into_the_release(release: Path) -> None:
    config = load_yaml(release / "code/config.yaml")
    for key in ("archive", "evaluation"):
        assert (release / "code" / config[key]).is_file(), key
    assert config["release"]["version"] == "2.1"


@pytest.mark.slow
def test_only_the_list_of_raw_files(tmp_path: Path) -> None:
    release = release_of(tmp_path, make_results(tmp_path), raw="manifest", date="2030-01-02", doi="10.5281/zenodo.1")
    assert {path.name for path in (release / "raw").iterdir()} == {"archive.json", "SHA256SUMS"}
    cited = load_yaml(release / "CITATION.cff")
    assert (cited["date-released"], cited["doi"]) == ("2030-01-02", "10.5281/zenodo.1")
    assert cited["identifiers"][0]["value"] == f"sha256:{NOTHING}"
    assert "https://doi.org/10.5281/zenodo.1" in (release / "README.md").read_text()


@pytest.mark.slow
def test_changes_name_what_a_former_release_had_otherwise(release: Path, tmp_path: Path) -> None:
    results = make_results(tmp_path)
    raw = [{"raw_file_id": "g", "path": "2026-11-20:22:10/j/new", "sha256": NOTHING}]
    save_table("raw_files", raw, results / "tables/raw_files/archive.parquet")
    save_manifests(results, RawFile("g", "2026-11-20:22:10/j/new", "src-cmd", None, 0, NOTHING, "ignored", rule="x"))
    (results / "one/report.pdf").write_text("other")
    text = (release_of(tmp_path, results, former=str(release)) / "CHANGES.md").read_text()
    assert "Compared with version 2.1 of 2026-11-20." in text
    assert "1 added:\n\n    2026-11-20:22:10/j/new\n" in text
    assert "1 removed:\n\n    2026-11-20:22:10/j/src-cmd:h:1\n" in text
    assert "2 changed:\n\n    evaluations/one/report.pdf\n    tables/raw_files/archive.parquet\n" in text
    with pytest.raises(InputError, match="is not a release"):
        release_of(tmp_path, results, former=str(tmp_path))
    damaged = Path(shutil.copytree(release, tmp_path / "damaged"))
    (damaged / "evaluations/one/tables/jobs.csv").write_text("changed\n")
    told = f"damaged is damaged: evaluations/one/tables/jobs.csv: not what {SUMS} says; look closer with `python"
    with pytest.raises(InputError, match=told):
        release_of(tmp_path, results, former=str(damaged))


def test_a_release_has_a_date_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    declared = json.loads(make_config())["release"]
    one = tmp_path / "one.yaml"
    one.write_text(EVALUATION)
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    with pytest.raises(InputError, match=r"set release\.date"):
        declare_release(declared, one, ROOT / "CITATION.cff", tmp_path, "ab" * 32)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is 'yesterday' in the environment; write a whole number"):
        declare_release(declared, one, ROOT / "CITATION.cff", tmp_path, "ab" * 32)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert declare_release(declared, one, ROOT / "CITATION.cff", tmp_path, "ab" * 32).day == "1970-01-02"


def test_somebodys_measurements_are_not_published_by_the_authors_and_licence_of_ccreport(tmp_path: Path) -> None:
    declared = json.loads(make_config(creators=[], license=None, date="2030-01-02"))["release"]
    one = tmp_path / "one.yaml"
    one.write_text(EVALUATION)
    # What is missing is said at once.
    said = r"^release\.creators names nobody; say who measured, below `release`.*; release\.license is not set; say "
    with pytest.raises(InputError, match=said):
        declare_release(declared, one, ROOT / "CITATION.cff", tmp_path, "ab" * 32)
    named = declared | {"creators": [{"name": "Ada Example"}]}
    with pytest.raises(InputError, match=r"^release\.license is not set; say who may use the data, below `release`"):
        declare_release(named, one, ROOT / "CITATION.cff", tmp_path, "ab" * 32)
    # By whichever evaluation: the archive is theirs.
    sha256 = load_yaml(ROOT / "archive/explanations.yaml")["archive_sha256"]
    assert declare_release(declared, one, ROOT / "CITATION.cff", tmp_path, sha256).creators


@pytest.mark.slow
@pytest.mark.parametrize("explained", [NOTHING, "ab" * 32])
def test_only_explanations_of_the_archive_itself_are_published(tmp_path: Path, explained: str) -> None:
    results = make_results(tmp_path)
    release_of(tmp_path, results)
    path, release = tmp_path / "explanations.yaml", tmp_path / "release/3"
    path.write_text(f"archive_sha256: {explained}\nevaluations: {{}}\n")
    config = json.dumps(json.loads(make_config()) | {"explanations": str(path)})
    publish(config, [tmp_path / "raw"], results, [tmp_path / "one.yaml"], [], release)
    assert (EXPLANATIONS in read_sums(release)) == (explained == NOTHING)
    assert bool(load_yaml(release / "code/config.yaml")["explanations"]) == (explained == NOTHING)


def test_actions_are_read_from_snakemake_s_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    output = tmp_path / "results/tables/runs/b1.parquet"
    output.parent.mkdir(parents=True)
    output.touch()
    records = tmp_path / "records"
    records.mkdir()
    # base64 of results/tables/runs/b1.parquet, and of a file that is gone
    record = {"rule": "measure_batch", "input": ["results/tables/flows/b1.parquet", "src/ccreport/core/units.py", "x"]}
    (records / "cmVzdWx0cy90YWJsZXMvcnVucy9iMS5wYXJxdWV0").write_text(json.dumps(record))
    (records / "cmVzdWx0cy9hcmNoaXZlLmpzb24=").write_text(json.dumps({"rule": "gone"}))
    (action,) = list_actions(records, Path("results"), ["one"], [])
    assert (action.rule, action.outputs) == ("measure_batch", {"tables/runs/archive.parquet"})
    assert action.inputs == {"tables/flows/archive.parquet", "code/src/ccreport/core/units.py"}
    # Who waits for the ledger reads all tables; a rule of one evaluation is called by its subcommand.
    (tmp_path / "results/one/summaries").mkdir(parents=True)
    (tmp_path / "results/one/summaries/jobs.csv").touch()
    record = {"rule": "summarise_tables_one", "input": ["results/tables/raw_files/archive.parquet"]}
    (records / "cmVzdWx0cy9vbmUvc3VtbWFyaWVzL2pvYnMuY3N2").write_text(json.dumps(record))
    action = list_actions(records, Path("results"), ["one"], [])[-1]
    assert (action.rule, action.evaluation, action.outputs) == ("summarise_tables", "one", {"evaluations/one/tables/"})
    assert action.inputs == {"tables/raw_files/archive.parquet", "tables/runs/archive.parquet"}


@pytest.mark.slow
@pytest.mark.parametrize(("what", "package"), [("package", "frictionless"), ("crate", "rocrate_validator")])
def test_the_validators_of_others_find_nothing(release: Path, what: str, package: str) -> None:
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed")
    command = [sys.executable, ROOT / "tests/support/release_validators.py", what, release]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr[-2000:]


@pytest.mark.slow
def test_uploads_copy_what_is_new_and_delete_nothing(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "public"
    upload(release, str(target), dry_run=True)
    assert f"would copy LICENSE -> {target}/2.1/LICENSE" in capsys.readouterr().out
    assert not target.exists()
    upload(release, str(target))
    assert read_sums(target / "2.1") == read_sums(release)
    (target / "2.1/LICENSE").write_text("other")
    (target / "2.1/kept").write_text("mine")
    capsys.readouterr()
    upload(release, str(target))
    said = capsys.readouterr().out
    assert "1 files copied" in said
    assert "only there, left as it is" in said
    assert (target / "2.1/LICENSE").read_bytes() == (release / "LICENSE").read_bytes()
    assert (target / "2.1/kept").read_text() == "mine"
    upload(release, str(target), prune=True)
    assert not (target / "2.1/kept").exists()


@pytest.mark.slow
def test_a_published_version_is_not_replaced(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target, mended = tmp_path / "public", tmp_path / "mended" / release.name
    shutil.copytree(release, mended)
    (mended / "README.md").write_text("Corrected.\n")
    describe_again(mended)
    given = ["upload", "--release", str(mended), "--target", str(target)]
    # What an upload that was interrupted left of another build is not published: SHA256SUMS is not there yet.
    upload(release, str(target))
    (target / "2.1" / SUMS).rename(tmp_path / SUMS)
    assert main([*given, "--dry-run"]) == 0
    (tmp_path / SUMS).rename(target / "2.1" / SUMS)
    capsys.readouterr()
    for options in ([], ["--dry-run"], ["--prune"]):
        assert main([*given, *options]) == 1
        printed = capsys.readouterr()
        told = f"ccreport: {target}/2.1 is published already with other contents, of which README.md is the first, and "
        assert printed.err.startswith(told)
        assert "give --replace (`replace: true` below `release`" in printed.err
        assert printed.err.count("\n") == 1
    assert (target / "2.1/README.md").read_bytes() == (release / "README.md").read_bytes()
    assert main([*given, "--replace"]) == 0
    assert (target / "2.1/README.md").read_text() == "Corrected.\n"
    assert read_sums(target / "2.1") == read_sums(mended)


@pytest.mark.slow
def test_what_only_the_replaced_version_had_is_deleted(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target, smaller = tmp_path / "public", tmp_path / "smaller" / release.name
    shutil.copytree(release, smaller)
    (smaller / "CHANGES.md").unlink()
    describe_again(smaller)
    upload(release, str(target))
    (target / "2.1/kept").write_text("mine")
    # Neither file is below the target, whatever a list there says.
    outside = tmp_path / "public/outside"
    outside.write_text("mine")
    with (target / "2.1" / SUMS).open("a") as sums:
        sums.write(f"{HELLO}  ../outside\n{HELLO}  {outside}\n")
    capsys.readouterr()
    for is_dry, verb in ((True, "would delete"), (False, "deleted")):
        upload(smaller, str(target), replace=True, dry_run=is_dry)
        said = capsys.readouterr().out
        assert f"{verb} {target}/2.1/CHANGES.md\nonly there, left as it is: {target}/2.1/kept\n" in said
        assert f"{target}/2.1 will not verify until what is only there is removed: --prune\n" in said
        assert (target / "2.1/CHANGES.md").exists() == is_dry
    assert (outside.exists(), (target / "2.1/kept").exists()) == (True, True)
    upload(smaller, str(target), prune=True)
    files = len(read_sums(smaller)) + 1
    assert capsys.readouterr().out.endswith(
        f"deleted {target}/2.1/kept\n{target}/2.1: 0 files copied, {files} already there\n"
    )


@pytest.mark.slow
def test_a_release_is_not_uploaded_into_itself(release: Path, tmp_path: Path) -> None:
    own = Path(shutil.copytree(release, tmp_path / "out/2.1"))
    inner = Path(shutil.copytree(release, tmp_path / "around/2.1/inner/3"))
    (tmp_path / "link").symlink_to(own)
    given = [(own, own / name) for name in ("", "deeper", "..")]
    given += [(own, tmp_path / "link"), (inner, tmp_path / "around")]
    for folder, target in given:
        with pytest.raises(InputError, match=rf"^--target {target}: .* itself, in it or around it; name a folder else"):
            upload(folder, str(target), replace=True)
    assert {path.name for path in own.iterdir()} == {path.name for path in release.iterdir()}


def test_other_folders_with_sums_are_not_uploaded(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw/a").write_text("a")
    write_sums(tmp_path / "raw")
    assert main(["upload", "--release", str(tmp_path / "raw"), "--target", str(tmp_path / "public")]) == 1
    said = f"ccreport: {tmp_path}/raw is not a release: it has SHA256SUMS and none of datapackage.json, "
    assert capsys.readouterr().err.startswith(said)
    assert not (tmp_path / "public").exists()


def test_a_damaged_release_is_not_uploaded(release: Path, tmp_path: Path) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "2.1"))
    (copy / "LICENSE").write_text("other")
    (copy / "README.md").unlink()
    said = r"2\.1 is damaged: LICENSE: not what SHA256SUMS says \(and 1 more\); `make publish VERSION=2\.1` repairs it "
    with pytest.raises(InputError, match=said):
        upload(copy, str(tmp_path / "public"))
    (copy / "SHA256SUMS").write_text("")
    with pytest.raises(InputError, match=r"SHA256SUMS is empty; fetch it again$"):
        upload(copy, str(tmp_path / "public"))


@pytest.mark.slow
def test_a_release_that_is_not_what_its_descriptors_or_the_hash_beside_it_say_is_not_uploaded(
    release: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "2.1"))
    table = "evaluations/one/tables/jobs.csv"
    with (copy / table).open("a") as stream:
        stream.write("changed\n")
    write_sums(copy)
    with pytest.raises(InputError, match=rf"2\.1 is damaged: {table}: other bytes than datapackage\.json says \(and "):
        upload(copy, str(tmp_path / "public"))
    shutil.rmtree(copy)
    shutil.copytree(release, copy)
    (tmp_path / "2.1.sha256").write_text(f"{HELLO}  2.1/{SUMS}\n")
    with pytest.raises(InputError, match=rf"2\.1 is damaged: 2\.1\.sha256: says {HELLO}, but {SUMS} has "):
        upload(copy, str(tmp_path / "public"))
    assert not (tmp_path / "public").exists()


@pytest.mark.slow
def test_a_release_goes_by_its_own_version_and_without_files_that_it_does_not_list(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = Path(shutil.copytree(release, tmp_path / "3.0"))
    (copy / "raw/extra").write_text("mine")
    upload(copy, str(tmp_path / "public"))
    assert f"not copied, as SHA256SUMS does not list it: {copy}/raw/extra\n" in capsys.readouterr().out
    assert [path.name for path in (tmp_path / "public").iterdir()] == ["2.1"]
    assert not (tmp_path / "public/2.1/raw/extra").exists()
    for text in ("version: ../up\n", "title: A\n"):
        (copy / "CITATION.cff").write_text(text)
        (copy / "raw/extra").unlink(missing_ok=True)
        describe_again(copy)
        with pytest.raises(InputError, match=r"3\.0: CITATION\.cff (does not say the|has the) version"):
            upload(copy, str(tmp_path / "public"))


def test_published_tables_are_text_too(release: Path) -> None:
    with (release / "evaluations/one/tables/jobs.csv").open() as stream:
        header = next(csv.reader(stream))
    assert header == list(load_schema("jobs").polars)
    assert pl.read_parquet(release / "evaluations/one/tables/jobs.parquet").columns == header
