"""Releases verified: what is whole passes from any folder, and one byte changed anywhere fails with its name."""

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from archives import ROOT, make_table, save_table
from small_release import NOTHING, make_results, release_of
from web_servers import S3_SERVER, run_s3

from ccreport import __version__
from ccreport.__main__ import main
from ccreport.archive.pack import pack_folder
from ccreport.archive.unpack import unpack_archive
from ccreport.core.csv_files import write_csv
from ccreport.core.declarations import load_yaml
from ccreport.core.tables import load_schema
from ccreport.publish import CRATE, PACKAGE, SUMS, stage
from ccreport.publish.checks import FAILED, PASSED, UNCHECKED, Check
from ccreport.publish.checks.descriptors import check_crate, check_package
from ccreport.publish.checks.sums import check_beside, check_sums
from ccreport.publish.sums import read_sums, write_sums
from ccreport.publish.upload import upload
from ccreport.report.markup.content_security import META, POLICY
from ccreport.storage.sums import hash_file
from ccreport.verify import compare, recompute
from ccreport.verify.cells import check_csv
from ccreport.verify.claims import check_claims
from ccreport.verify.ledger import check_ledger, check_raw
from ccreport.verify.recompute import check_recomputed
from ccreport.verify.schemas import check_schemas
from ccreport.verify.verify import verify


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("published")
    return release_of(folder, make_results(folder), pack=True)


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "elsewhere"))


def flip(path: Path) -> None:
    """Change one bit in the middle of a file."""
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_arguments: Any) -> None:
        pass


@contextmanager
def serve(folder: Path) -> Iterator[str]:
    """Serve a folder on loopback as most web servers do: index.html in place of a folder's listing."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_QuietHandler, directory=folder)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


def save(frame: pl.DataFrame, table: str, path: Path) -> None:
    """Write a frame in place of a table, with the columns of its schema and whatever values."""
    pq.write_table(frame.to_arrow().cast(load_schema(table).arrow), path)


@pytest.mark.slow
def test_a_release_is_verified_in_another_folder_and_nothing_is_written_there(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["verify", "elsewhere", "--quick"]) == 0
    said = capsys.readouterr().out
    *lines, last = said.splitlines()
    assert [line.split()[0] for line in lines if not line.startswith(" ")] == ["passed"] * 8 + ["verified:"]
    assert "not made anew" in said
    # Each hash is the first word of a line of its own.
    assert last == f"{hashlib.sha256((release / SUMS).read_bytes()).hexdigest()}  {SUMS}"
    (tables,) = [line.split(maxsplit=1) for line in lines if line.startswith(" ")]
    assert len(tables[0]) == 64
    assert tables[1] == "published tables of one"
    assert check_sums(release, [])[0].state == PASSED


JOBS = [
    {"session": "s", "job": job, "host": "h", "sharing": "alone", "flows_count": 1, "algorithm": "BBR"}
    | {"rate_basis": "goodput", "runs_count": 3, "rate_mean_bps": rate}
    for job, rate in (("a", 1.5e9), ("b", 2e9), ("=c", 2.5e9))
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1500000000.0", "1600000000.0", "job=a, {key}, rate_mean_bps: 1500000000.0 as Parquet, 1600000000.0 as CSV"),
        ("2000000000.0", "", "job=b, {key}, rate_mean_bps: 2000000000.0 as Parquet, nothing as CSV"),
        # The apostrophe keeps a spreadsheet from running the text.
        ("'=c", "=c", "job='=c, {key}: only as Parquet"),
        ("2000000000.0", "2e9", None),
    ],
)
def test_a_cell_of_a_csv_file_that_is_not_its_table_is_named(
    old: str, new: str, message: str | None, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "evaluations/one/tables/jobs.csv"
    table = make_table("jobs", JOBS)
    save(table, "jobs", (release / name).with_suffix(".parquet"))
    write_csv(table, release / name)
    write_sums(release)
    assert [failure for failure in check_csv(release, [name], release.parent).failures if "csv" in failure] == []
    text = (release / name).read_text()
    assert text.count(old) == 1
    (release / name).write_text(text.replace(old, new))
    verify(str(release), quick=True)
    said = capsys.readouterr().out
    assert f"{name}: not what {SUMS} says" in said
    told = "  published tables of one, as changed: another than the report has\n"
    assert told in said
    # Its sum may have been changed with it.
    write_sums(release)
    verify(str(release), quick=True)
    assert told in capsys.readouterr().out
    key = "host=h, sharing=alone, flows_count=1, algorithm=BBR"
    # A number that is written in another way is the same cell.
    same = "other bytes as CSV than as Parquet, and the same cells"
    assert f"{name}: {f'row session=s, {message.format(key=key)}' if message else same}" in said


def test_two_releases_compared_name_a_cell_that_is_not_its_table(
    published: Path, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = make_table("jobs", JOBS)
    save(table, "jobs", release / "evaluations/one/tables/jobs.parquet")
    write_csv(table.with_columns(runs_count=pl.lit(4)), release / "evaluations/one/tables/jobs.csv")
    write_sums(release)
    assert main(["diff", str(published), str(release)]) == 0
    said = capsys.readouterr().out
    assert "CSV files that are not what their tables say" in said
    assert said.count("runs_count: 3 as Parquet, 4 as CSV") == 3
    assert f"3 differences in {release}:" in said


@pytest.mark.parametrize("is_former", [True, False])
def test_a_damaged_release_is_not_compared(
    is_former: bool, published: Path, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("tables/runs/archive.parquet", "code/config.yaml"):
        flip(release / name)
    sides = [release, published] if is_former else [published, release]
    assert main(["diff", *map(str, sides)]) == 2
    said = capsys.readouterr()
    told = f"{release} is damaged: code/config.yaml: not what {SUMS} says (and 1 more)"
    assert said.err == f"ccreport: {told}; look closer with `python -m ccreport verify {release}`\n"
    assert not said.out


def test_a_packed_release_is_verified(published: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(str(published.parent / "2.1.tar.zst"), quick=True) == 0
    assert "verified:" in capsys.readouterr().out


@pytest.mark.slow
def test_a_release_on_a_web_server_is_verified(
    release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with serve(tmp_path) as address:
        assert verify(f"{address}elsewhere", quick=True) == 0
        (release / "LICENSE").unlink()
        flip(release / "site/index.html")
        capsys.readouterr()
        assert verify(f"{address}elsewhere/", quick=True) == 1
    said = capsys.readouterr().out
    assert "LICENSE: missing" in said
    assert f"site/index.html: not what {SUMS} says" in said


@pytest.mark.slow
@pytest.mark.skipif(S3_SERVER is None, reason="no S3-compatible server: make s3server")
def test_a_release_in_s3_is_verified(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "buckets/data").mkdir(parents=True)
    with run_s3(tmp_path / "buckets") as variables:
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        upload(release, "s3://data/public")
        assert verify("s3://data/public/2.1", quick=True) == 0
        flip(tmp_path / "buckets/data/public/2.1/LICENSE")
        (tmp_path / "buckets/data/public/2.1/new").write_text("new")
        capsys.readouterr()
        assert verify("s3://data/public/2.1", quick=True) == 1
    said = capsys.readouterr().out
    assert f"LICENSE: not what {SUMS} says" in said
    assert f"new: not listed in {SUMS}" in said


@pytest.mark.parametrize(
    "path",
    [
        *("README.md", "CITATION.cff", "LICENSE", PACKAGE, CRATE, "raw/raw.tar.zst", "raw/SHA256SUMS"),
        *("raw/archive.json", "tables/runs/archive.parquet", "evaluations/one/tables/jobs.csv"),
        *("evaluations/one/claims.parquet", "evaluations/one/one.yaml", "evaluations/one/report.pdf"),
        *("evaluations/one/figures/figure_1/figure.svg", "site/index.html", "code/config.yaml"),
        *("code/schemas/tables/runs.yaml", "code/src/ccreport/sql/general/jobs.sql"),
    ],
)
def test_one_changed_bit_fails_with_the_name_of_its_file(release: Path, path: str) -> None:
    flip(release / path)
    check, _, damaged = check_sums(release, [])
    assert (check.state, check.failures) == (FAILED, (f"{path}: not what {SUMS} says",))
    assert damaged == {path}


def test_every_bit_of_the_sums_themselves_counts(release: Path) -> None:
    whole = (release / SUMS).read_bytes()
    assert len(re.findall(rb"  code/", whole)) > 100
    lines = whole.splitlines(keepends=True)
    own = [n for n, line in enumerate(lines) if not line.endswith(b"  " + CRATE.encode() + b"\n")]
    # A digit of the hash, a letter of the path, the space between, the line's end.
    for place in (0, 63, 64, 70, -1):
        for number in (own[0], own[len(own) // 2], own[-1]):
            line = bytearray(lines[number])
            line[place] ^= 1
            (release / SUMS).write_bytes(b"".join([*lines[:number], line, *lines[number + 1 :]]))
            check, _, _ = check_sums(release, [])
            assert check.state == FAILED, (place, number)
            assert any(SUMS in failure for failure in check.failures), (place, number, check.failures)
            if place in (0, 63) and line[place : place + 1] in b"0123456789abcdef":
                assert all(failure.startswith(f"{SUMS}: its sum of") for failure in check.failures), check.failures


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r"^.(?=.{63}  LICENSE$)", "g", "the sum of LICENSE is not 64 hexadecimal digits, 0 to 9 and a to f"),
        (r"  LICENSE$", " LICENSE", "` is not a sum, two blanks and a path"),
        (r"^(.*  LICENSE\n)", r"\1\1", "LICENSE is listed a second time"),
    ],
)
def test_a_line_of_the_sums_that_is_not_one_is_told_with_its_fault(
    old: str, new: str, said: str, release: Path
) -> None:
    changed, count = re.subn(old, new, (release / SUMS).read_text(), flags=re.MULTILINE)
    assert count == 1
    (release / SUMS).write_text(changed)
    (failure,) = check_sums(release, [])[0].failures
    assert re.match(rf"{SUMS}, line \d+: ", failure)
    assert failure.endswith(f"{said}; fetch it again")


def test_files_that_are_gone_new_or_links_are_named(release: Path) -> None:
    (release / "LICENSE").unlink()
    (release / "site/new.html").write_text("new")
    (release / "tables/link").symlink_to("/etc/passwd")
    check, _, damaged = check_sums(release, ["../out"])
    assert set(check.failures) == {
        "../out: a link, or a name that cannot be unpacked",
        "tables/link: a link, or a name that cannot be unpacked",
        "LICENSE: missing",
        f"site/new.html: not listed in {SUMS}",
    }
    assert damaged == {"LICENSE", "tables/link"}


def test_a_folder_that_is_gone_is_one_line_of_each_check(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files_count = sum(path.is_file() for path in (release / "tables").rglob("*"))
    assert files_count > 20
    shutil.rmtree(release / "tables")
    (release / "evaluations/one/tables/jobs.tex").unlink()
    assert verify(str(release), quick=True) == 1
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"tables/: missing ({files_count} files)" in said
    assert f"tables/: described in {CRATE} and not there ({files_count} files)" in said
    assert "evaluations/one/tables/jobs.tex: missing" in said
    assert not [line for line in said if line.startswith("tables/") and not line.startswith("tables/:")]


def test_folders_and_files_with_other_names_are_one_line_each(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (release / "tables").rename(release / "tabs")
    (release / "LICENSE").rename(release / "LICENCE")
    (release / "extra/sub").mkdir(parents=True)
    for name in ("a", "sub/b"):
        (release / "extra" / name).write_text(name)
    files_count = sum(path.is_file() for path in (release / "tabs").rglob("*"))
    assert verify(str(release), quick=True) == 1
    said = [line.strip() for line in capsys.readouterr().out.splitlines()]
    assert f"tables/: renamed to tabs/, by the hash in {SUMS} ({files_count} files)" in said
    assert f"LICENSE: renamed to LICENCE, by the hash in {SUMS}" in said
    assert f"extra/: not listed in {SUMS} (2 files)" in said
    assert f"tabs/: not described in {CRATE} ({files_count} files)" in said
    assert not [line for line in said if line.startswith(("tables/", "tabs/", "extra/")) and "/:" not in line]


def test_the_hash_beside_a_release_is_compared(
    published: Path, release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    place = release.rename(tmp_path / "9.9")
    shutil.copy(published.with_name("2.1.sha256"), tmp_path / "9.9.sha256")
    for name in ("2.1.tar.zst.sha256", "2.1.tar.zst"):
        shutil.copy(published.with_name(name), tmp_path)
    for path, of in ((tmp_path / "2.1.tar.zst", "2.1.tar.zst"), (place, SUMS)):
        beside = path.with_name(f"{path.name}.sha256")
        told = beside.read_text()
        assert check_beside(path) == Check(beside.name, f"the hash told beside the release is that of its {of}")
        for text, other in (("", "no SHA-256"), (told.replace(told[:64], "f" * 64), "f" * 64)):
            beside.write_text(text)
            failure = f"{beside.name}: says {other}, but {of} has {told[:64]}"
            assert check_beside(path) == Check(beside.name, failures=(failure,))
    assert verify(str(place), quick=True) == 1
    first, second, *_, verdict, _ = capsys.readouterr().out.splitlines()
    assert (first, second.strip()) == ("FAILED       9.9.sha256", failure)
    assert re.fullmatch(rf"FAILED: {place}: .+, version 2\.1, in a folder that is named 9\.9 \(quick: .*", verdict)
    (tmp_path / "9.9.sha256").unlink()
    assert check_beside(place) is None


def test_the_verdict_names_title_and_version(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify(str(release), quick=True) == 0
    verdict = capsys.readouterr().out.splitlines()[-2]
    assert re.fullmatch(rf"verified: {release}: .+, version 2\.1 \(quick: .*", verdict), verdict


def test_an_interrupted_publication_is_told(release: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release.rename(tmp_path / ".2.2.part")
    (tmp_path / "2.2").mkdir()
    assert main(["verify", str(tmp_path / "2.2"), "--quick"]) == 2
    told = "has no SHA256SUMS: a publication was interrupted here; publish the version again"
    assert capsys.readouterr().err == f"ccreport: {tmp_path / '2.2'} {told}\n"


def test_what_is_damaged_is_not_relied_on(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(release / "tables/runs/archive.parquet")
    flip(release / "code/config.yaml")
    assert verify(str(release), quick=False) == 1
    said = capsys.readouterr().out
    unfit = f"it reads what is not as {SUMS} says"
    assert f"{UNCHECKED}  schemas: {unfit}: tables/runs/archive.parquet" in said
    assert f"{UNCHECKED}  recomputed: {unfit}: code/config.yaml" in said
    assert f"{PASSED}       raw files" in said


def test_of_damaged_tables_those_made_anew_name_the_cell(
    release: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def check(folder: Path, _work: Path) -> Check:
        asked.append(folder)
        return Check("recomputed", failures=("the cell",))

    monkeypatch.setattr("ccreport.verify.verify.check_recomputed", check)
    flip(release / "tables/runs/archive.parquet")
    (release / "evaluations/one/tables/jobs.csv").unlink()
    assert verify(str(release), quick=False) == 1
    said = capsys.readouterr().out
    assert asked == [release.resolve()]
    assert f"{FAILED}       recomputed\n{'':13}the cell\n" in said
    assert "evaluations/one/tables/jobs.csv: missing beside its Parquet file" in said


@pytest.mark.slow
def test_a_changed_file_in_the_raw_archive_is_named(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (packed,) = (release / "raw").glob("*.tar.zst")
    unpack_archive(packed, release.parent / "raw")
    changed = next(path for path in sorted((release.parent / "raw").rglob("*")) if path.is_file())
    changed.write_bytes(changed.read_bytes() + b"0")
    pack_folder(release.parent / "raw", packed, None)
    assert verify(str(release), quick=True) == 1
    name = changed.relative_to(release.parent / "raw").as_posix()
    assert f"{name}: not what raw/{SUMS} says" in capsys.readouterr().out


def test_descriptors_that_disagree_with_the_files_are_named(release: Path) -> None:
    package = json.loads((release / PACKAGE).read_text())
    runs = next(one for one in package["resources"] if one["name"] == "runs")
    runs["schema"]["fields"][0]["type"] = "integer"
    package["resources"] = [one for one in package["resources"] if one["name"] != "flows"]
    (release / PACKAGE).write_text(json.dumps(package))
    there = read_sums(release)
    assert set(check_package(release, there).failures) == {
        f"tables/runs/archive.parquet: {PACKAGE} describes its columns otherwise than code/schemas/tables/runs.yaml",
        f"tables/flows/archive.parquet: no resource of {PACKAGE}",
    }
    sizes = {path: one for path, one in there.items() if path != PACKAGE}
    others = sizes | {"LICENSE": "0" * 64, "site/index.html": "0" * 64, "new": "0" * 64}
    assert set(check_crate(release, others).failures) == {
        f"LICENSE: other bytes than {CRATE} says",
        f"{PACKAGE}: described in {CRATE} and not there",
        f"site/: other files than {CRATE} says",
        f"new: not described in {CRATE}",
    }
    (release / PACKAGE).write_text("[")
    assert check_package(release, there).failures[0].startswith(f"{PACKAGE}: cannot be read (Expecting value")


def failures_of(release: Path, path: str, table: str, rows: list[dict[str, Any]], **values: pl.Expr) -> list[str]:
    save(make_table(table, rows).with_columns(**values), table, release / path)
    return list(check_schemas(release, [path]).failures)


def test_tables_that_break_their_schema_are_named(release: Path) -> None:
    path = "tables/runs/archive.parquet"
    rows = [{"run_id": "e.a", "experiment_id": "e"}, {"run_id": "e.a", "experiment_id": "e", "rtt_ms": 1.0}]
    assert failures_of(release, path, "runs", rows, rtt_ms=-pl.col("rtt_ms")) == [
        f"{path}: rtt_ms < 0 in 1 row",
        f"{path}: 1 values of the key run_id are in more than one row",
    ]
    path = "tables/flows/archive.parquet"
    rows = [{"run_id": run, "flow_id": f"{run}/1"} for run in ("e.a", "e.lost")]
    assert failures_of(release, path, "flows", rows) == [f"{path}: 1 values of run_id are in no row of runs"]
    make_table("flows", rows).rename({"flow_id": "flow"}).write_parquet(release / path)
    (said,) = check_schemas(release, [path]).failures
    assert said.startswith(f"{path}: columns other than their schema: ")
    assert "missing (flow_id)" in said
    assert "unknown (flow)" in said
    # As a program leaves a table that does not know what else a column has than its type.
    bare = load_schema("flows").arrow
    others = pa.schema([field.remove_metadata() for field in bare])
    pq.write_table(make_table("flows", rows).to_arrow().cast(bare).cast(others), release / path)
    (said,) = check_schemas(release, [path]).failures
    first = ", ".join(sorted(bare.names)[:3])
    assert said.startswith(f"{path}: columns other than their schema: no description ({first} and ")
    assert "no unit (" in said
    assert "type" not in said
    (release / path).write_bytes(b"PAR1")
    assert check_schemas(release, [path]).failures[0].startswith(f"{path}: cannot be read (")


def test_a_ledger_that_does_not_close_is_named(release: Path) -> None:
    assert check_ledger(release).facts == "1 raw file"
    rows = [{"raw_file_id": name, "path": name, "sha256": "0" * 64, "state": "ingested"} for name in ("g", "h")]
    save_table("raw_files", rows, release / "tables/raw_files/archive.parquet")
    rejects = [{"raw_file_id": "h", "path": "h", "is_whole_file": True}]
    save_table("rejects", rejects, release / "tables/rejects/archive.parquet")
    assert set(check_ledger(release).failures) == {
        "2026-11-20:22:10/j/src-cmd:h:1: not in the ledger",
        f"g: in the ledger and not in raw/{SUMS}",
        f"h: in the ledger and not in raw/{SUMS}",
        "g: ingested by the ledger, in no table, not rejected as a whole",
        "h: ingested by the ledger, in no table, rejected as a whole",
    }


def test_raw_files_are_compared_with_their_list(release: Path, tmp_path: Path) -> None:
    assert check_raw(release, tmp_path / "a").facts == "1 file in raw/raw.tar.zst"
    (release / "raw" / SUMS).write_text(
        f"{'0' * 64}  2026-11-20:22:10/j/src-cmd:h:1\n{'0' * 64}  2026-11-20:22:10/j/gone\n"
    )
    assert set(check_raw(release, tmp_path / "b").failures) == {
        "2026-11-20:22:10/j/gone: missing in raw/raw.tar.zst",
        f"2026-11-20:22:10/j/src-cmd:h:1: not what raw/{SUMS} says",
    }


@pytest.mark.slow
def test_without_raw_files_it_is_not_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    release = release_of(tmp_path, make_results(tmp_path), raw="manifest")
    assert verify(str(release), quick=False) == 2
    said = capsys.readouterr().out
    assert f"{UNCHECKED}  raw files: the release has only the list" in said
    assert f"{UNCHECKED}  recomputed: the release has only the list" in said
    assert FAILED not in said


@pytest.mark.slow
def test_an_archive_put_beside_the_list_of_its_files_is_no_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    release = release_of(tmp_path, make_results(tmp_path), raw="manifest")
    make_anew(tmp_path / "results", monkeypatch, returncode=1)
    assert verify(str(release), quick=False) == 2
    printed = capsys.readouterr()
    assert "put the packed archive into its raw/, or its parts into raw/parts/\n" in printed.out
    assert not printed.err
    pack_folder(tmp_path / "raw", tmp_path / "any.tar.zst", None)
    (release / "raw/pub.tar.zst").symlink_to(tmp_path / "any.tar.zst")
    assert verify(str(release), quick=True) == 0
    assert "raw files: 1 file in raw/pub.tar.zst\n" in capsys.readouterr().out
    (tmp_path / "any.tar.zst").write_text("not packed")
    assert verify(str(release), quick=True) == 1
    assert "FAILED       raw files\n             pub.tar.zst is not a readable" in capsys.readouterr().out
    # Another archive than the one of the list, and a second file beside it.
    (tmp_path / "raw/2026-11-20:22:10/j/src-cmd:h:1").write_text("other\n")
    pack_folder(tmp_path / "raw", tmp_path / "any.tar.zst", None)
    (release / "raw/second.tar.zst").touch()
    assert verify(str(release), quick=True) == 1
    said = capsys.readouterr().out
    assert f"2026-11-20:22:10/j/src-cmd:h:1: not what raw/{SUMS} says\n" in said
    assert f"raw/second.tar.zst: not listed in {SUMS}\n" in said
    assert "raw/pub.tar.zst: not" not in said
    # Of a release that has its raw files every other one is a fault.
    (release / "raw/second.tar.zst").unlink()
    write_sums(release)
    (release / "raw/first.tar.zst").touch()
    assert f"raw/first.tar.zst: not listed in {SUMS}" in check_sums(release, [])[0].failures


def test_a_verdict_that_does_not_follow_is_named(release: Path, tmp_path: Path) -> None:
    path = release / "evaluations/one/claims.parquet"
    assert check_claims(release, tmp_path / "a").state == PASSED
    save(pl.read_parquet(path).with_columns(verdict=pl.lit("does not hold")), "claims", path)
    assert check_claims(release, tmp_path / "b").failures == (
        "evaluations/one/claims.parquet: two_runs, runs: published does not hold, judged holds",
    )


@pytest.mark.slow
@pytest.mark.parametrize("is_of_another_version", [False, True])
def test_what_another_version_declared_is_not_checked(
    is_of_another_version: bool, release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = next((release / "evaluations/one").glob("*.yaml"))
    path.write_text(path.read_text() + "of_the_future: true\n")
    schema = release / "code/schemas/evaluation.schema.yaml"
    schema.parent.mkdir(parents=True, exist_ok=True)
    ours = (ROOT / "schemas/evaluation.schema.yaml").read_text()
    schema.write_text(f"{ours}# another\n" if is_of_another_version else ours)
    write_sums(release)
    verify(str(release), quick=True)
    said = capsys.readouterr().out
    if is_of_another_version:
        assert re.search(
            rf"{UNCHECKED}  claims: .* verify it with the version that published it: .*of_the_future", said
        )
    else:
        # It breaks the schema that it was published with.
        assert re.search(rf"{FAILED} +claims\n.*of_the_future", said)


def make_anew(results: Path, monkeypatch: pytest.MonkeyPatch, returncode: int = 0) -> list[Path]:
    """Let what Snakemake would make be a copy of these results; return where it would have run."""
    folders: list[Path] = []

    @contextmanager
    def start(command: list[str], *, cwd: Path, **_options: Any) -> Iterator[SimpleNamespace]:
        assert "ingest" in command
        folders.append(cwd)
        shutil.copytree(results, cwd.parent / "results")
        said = ["Building\n", "  12%  reading raw files\n", "WorkflowError: no such thing\n"]
        yield SimpleNamespace(stdout=said, returncode=returncode)

    monkeypatch.setattr(recompute.subprocess, "Popen", start)
    return folders


@pytest.fixture
def in_parts(tmp_path: Path) -> Path:
    """Return a release of an archive in two parts, a folder with the one raw file and a packed file with the same."""
    (tmp_path / "raw/2026-11-20:22:10/j").mkdir(parents=True)
    (tmp_path / "raw/2026-11-20:22:10/j/src-cmd:h:1").write_text("hello\n")
    pack_folder(tmp_path / "raw", tmp_path / "again.tar.zst", None, "wrapping")
    results = make_results(tmp_path)
    parts = [tmp_path / "raw", tmp_path / "again.tar.zst"]
    listed = [{"name": "raw", "sha256": None}, {"name": "again.tar.zst", "sha256": hash_file(parts[1])}]
    (results / "archive.json").write_text(json.dumps({"name": "raw", "sha256": NOTHING, "parts": listed}))
    return release_of(tmp_path, results, parts)


def test_a_release_of_parts_is_verified_from_them(
    in_parts: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert {name for name in read_sums(in_parts) if name.startswith("raw/parts/")} == {
        "raw/parts/again.tar.zst",
        "raw/parts/raw.tar.zst",
    }
    told = load_yaml(in_parts / "code/config.yaml")
    assert told["archive"] == ["../raw/parts/raw.tar.zst", "../raw/parts/again.tar.zst"]
    assert "the parts in `raw/parts/`" in (in_parts / "README.md").read_text()
    assert check_raw(in_parts, tmp_path / "work").facts == "1 file in raw/parts"
    folders = make_anew(tmp_path / "results", monkeypatch)
    check_recomputed(in_parts, tmp_path / "anew")
    config = load_yaml(folders[0] / "config.yaml")
    assert config["archive"] == [str(in_parts / f"raw/parts/{name}.tar.zst") for name in ("again", "raw")]


@pytest.mark.slow
def test_a_damaged_part_of_a_release_is_named(in_parts: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flip(in_parts / "raw/parts/again.tar.zst")
    # As its maker would have signed it.
    write_sums(in_parts)
    assert verify(str(in_parts), quick=True) == 1
    assert "again.tar.zst is not a readable tarball or zip" in capsys.readouterr().out


def test_tables_made_anew_equal_the_published_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    release = release_of(tmp_path, make_results(tmp_path), code=stage.CODE, pack=True)
    folders = make_anew(tmp_path / "results", monkeypatch)
    check = check_recomputed(release, tmp_path / "work")
    # 30 typed tables, one published in four forms, comparisons and claims in two each.
    assert (check.state, check.failures) == (PASSED, ())
    assert check.facts.startswith("39 files equal byte for byte; by ccreport ")
    assert check.hashes == ((NOTHING, "raw archive"),)
    assert check.facts.endswith("the code of the release")
    assert folders == [tmp_path / "work/code"]
    (release / "code/Makefile").write_text("nothing that tables depend on")
    (release / "code/requirements.lock").write_text("other")
    own, shared = release / "code/evaluations/own.yaml", next((release / "code/evaluations").glob("*.yaml"))
    own.write_text("own")
    shared.write_text("other")
    by_other = check_recomputed(release, tmp_path / "again").facts
    assert by_other.partition(f"ccreport {__version__}, ")[2].split("; ") == [
        "whose code is not the release's in 1 file (requirements.lock)",
        f"1 file (evaluations/{shared.name}) of the release differing from this checkout's",
        "1 file (evaluations/own.yaml) of the release not in this checkout",
    ]
    config = load_yaml(folders[0] / "config.yaml")
    assert config["archive"] == str(release / "raw/raw.tar.zst")
    assert config["evaluation"] == str(release / "evaluations/one/one.yaml")


def test_cells_and_texts_that_are_others_made_anew_are_named(
    published: Path, release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    results = Path(shutil.copytree(published.parents[1] / "results", tmp_path / "results"))
    runs = [{"run_id": "e.a", "experiment_id": "e", "rtt_ms": 5.0}, {"run_id": "e.b", "experiment_id": "e"}]
    save_table("runs", runs, results / "tables/runs/b2.parquet")
    (results / "one/summaries/jobs.html").write_text("other")
    (results / "one/summaries/jobs.tex").unlink()
    make_anew(results, monkeypatch)
    failures = check_recomputed(release, tmp_path / "work").failures
    assert "tables/runs/archive.parquet: row run_id=e.a, rtt_ms: None published, 5.0 made anew" in failures
    assert "evaluations/one/tables/jobs.html: other bytes than made anew" in failures
    assert "evaluations/one/tables/jobs.tex: not made anew" in failures


def test_a_build_that_fails_is_not_a_pass(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "results").mkdir()
    make_anew(tmp_path / "results", monkeypatch, returncode=1)
    check = check_recomputed(release, tmp_path / "work")
    assert check.state == UNCHECKED
    assert check.unchecked == "the tables could not be made anew: WorkflowError: no such thing"
    # While it ran, its progress was shown, and nothing else.
    said = "all tables are being made again from the raw files ...\n  12%  reading raw files\n"
    assert capsys.readouterr() == ("", said)


def test_the_same_cells_in_other_bytes_are_equal_cell_by_cell(tmp_path: Path) -> None:
    frame = pl.DataFrame({"a": [1.5, None], "b": ["x", "y"]})
    frame.write_parquet(tmp_path / "old", compression="zstd")
    frame.write_parquet(tmp_path / "new", compression="uncompressed")
    compared = compare.compare_files([("t.parquet", tmp_path / "old", tmp_path / "new")])
    assert (compared.same_bytes, compared.same_cells, compared.failures) == (0, 1, ())
    assert compared.facts == "0 files equal byte for byte, 1 cell by cell"


def test_what_is_no_release_cannot_be_checked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", str(tmp_path), "--quick"]) == 2
    assert "has no SHA256SUMS; name the folder" in capsys.readouterr().err
    (tmp_path / "README.md").write_text("# Release")
    assert main(["verify", str(tmp_path / "README.md")]) == 2
    assert "README.md is not a packed release; name the folder, the .tar.zst or" in capsys.readouterr().err
    (tmp_path / "2.0/tables").mkdir(parents=True)
    (tmp_path / "2.0/SHA256SUMS").touch()
    for place, lacks in ((tmp_path, "has no SHA256SUMS"), (tmp_path / "2.00", "does not exist")):
        assert main(["verify", str(place), "--quick"]) == 2
        assert f"{place} {lacks}; did you mean `{tmp_path}/2.0`?\n" in capsys.readouterr().err
    (tmp_path / "2.0/tables").rmdir()
    # What is not a release is not meant either.
    for place, lacks in ((tmp_path, "has no SHA256SUMS"), (tmp_path / "2.00", "does not exist")):
        assert main(["verify", str(place), "--quick"]) == 2
        assert f"{place} {lacks}; name the folder, the .tar.zst or" in capsys.readouterr().err
    assert main(["verify", "", "--quick"]) == 2
    assert capsys.readouterr().err.startswith("ccreport: no release is named; name the folder, the .tar.zst or the")
    assert main(["verify", str(tmp_path / "2.0"), "--quick"]) == 2
    assert "is not a release: it has SHA256SUMS and none of datapackage.json, " in capsys.readouterr().err
    assert main(["verify", str(tmp_path / "none")]) == 2
    assert "none does not exist; name the folder, the .tar.zst or the add" in (said := capsys.readouterr().err)
    assert said.endswith("; `snakemake --cores 8 publish` makes one\n")
    (tmp_path / "2.0/tables").mkdir()
    (tmp_path / "2.0.tar.zst").touch()
    for place, lacks in ((tmp_path, "has no SHA256SUMS"), (tmp_path / "2.0.tar.zst", "is a file, not a folder")):
        assert main(["upload", "--release", str(place), "--target", "x"]) == 1
        assert capsys.readouterr().err == f"ccreport: {place} {lacks}; did you mean `{tmp_path}/2.0`?\n"
    assert main(["upload", "--release", str(tmp_path / "none"), "--target", "x"]) == 1
    assert capsys.readouterr().err.endswith(
        "none does not exist; name the folder of a release; `snakemake --cores 8 publish` makes one\n"
    )


def test_an_address_that_is_none_is_told_what_it_lacks(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with serve(release.parent) as address:
        lacking = address.removeprefix("http://")
        assert main(["verify", f"{lacking}2.1/", "--quick"]) == 2
        assert f"{lacking}2.1/ does not exist; did you mean `{address}2.1/`?\n" in capsys.readouterr().err
        for place, lacks in ((f"{address}2.2/", ", which has no SHA256SUMS"), (f"{address}2.2.tar.zst", "")):
            assert main(["verify", place, "--quick"]) == 2
            assert capsys.readouterr().err == f"ccreport: no release is at {place}{lacks}; check the address\n"


def test_a_release_without_its_list_is_not_taken_for_its_raw_folder_and_the_other_way_round(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(release / "raw"), "--quick"]) == 2
    assert capsys.readouterr().err.endswith(f"; did you mean `{release}`?\n")
    (release / SUMS).unlink()
    assert main(["verify", str(release), "--quick"]) == 2
    assert f"{release} looks like a release whose {SUMS} is missing; get it again" in capsys.readouterr().err


def test_a_file_that_is_missing_is_named_by_its_path_in_the_release(
    release: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for path in (PACKAGE, "tables/raw_files/archive.parquet", "code/config.yaml"):
        (release / path).unlink()
    write_sums(release)
    assert verify(str(release), quick=True) == 1
    said = capsys.readouterr().out
    for path in (PACKAGE, "tables/raw_files/archive.parquet", "code/config.yaml"):
        assert f"\n             {path}: missing\n" in said
    assert "Error" not in said


def test_of_many_other_rows_some_are_shown_and_the_rest_counted(tmp_path: Path) -> None:
    pl.DataFrame({"a": range(8)}).write_parquet(tmp_path / "old")
    pl.DataFrame({"a": range(1, 9)}).write_parquet(tmp_path / "new")
    failures = compare.compare_files([("t.parquet", tmp_path / "old", tmp_path / "new")]).failures
    assert failures[0] == "t.parquet: row 1, a: 0 published, 1 made anew"
    assert (len(failures), failures[-1]) == (6, "t.parquet: a: and 3 more rows")


def test_rows_that_only_one_table_has_are_named_by_their_key(tmp_path: Path) -> None:
    rows = [{"run_id": f"e.{name}"} for name in "abc"]
    for name, own in (("old", rows[:1]), ("new", rows[1:])):
        save(make_table("runs", own), "runs", tmp_path / name)
    pairs = [("tables/runs/archive.parquet", tmp_path / "old", tmp_path / "new")]
    assert compare.compare_files(pairs).failures == (
        "tables/runs/archive.parquet: 1 row, and 2 made anew",
        "tables/runs/archive.parquet: row run_id=e.a: only published",
        "tables/runs/archive.parquet: row run_id=e.b: only made anew",
        "tables/runs/archive.parquet: row run_id=e.c: only made anew",
    )


@pytest.mark.slow
def test_the_page_is_escaped_and_under_the_policy(release: Path, tmp_path: Path) -> None:
    (release / "site/<script>alert(1)<").write_text("x")
    assert verify(str(release), quick=True, html=str(tmp_path / "page.html")) == 1
    page = (tmp_path / "page.html").read_text()
    assert META.format(POLICY) in page
    assert "site/&lt;script&gt;alert(1)&lt;: not listed" in page
    assert not re.search(r"<script|<style| on\w+=|javascript:", page)
    assert main(["verify", str(release), "--quick", "--html", str(release / "page.html")]) == 2
    assert not (release / "page.html").exists()


@pytest.mark.slow
def test_a_release_that_its_maker_signed_wrongly_still_fails(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = release / "evaluations/one/claims.parquet"
    save(pl.read_parquet(path).with_columns(verdict=pl.lit("does not hold")), "claims", path)
    write_sums(release)
    assert verify(str(release), quick=True) == 1
    said = capsys.readouterr().out
    assert f"{PASSED}       sums" in said
    assert f"evaluations/one/claims.parquet: other bytes than {PACKAGE} says" in said
    assert "published does not hold, judged holds" in said
