"""The raw files of a release: the archive against its list, and the ledger against both."""

from pathlib import Path
from typing import Any, Final

import polars as pl

from ccreport.archive.pack import list_files
from ccreport.archive.parts import PARTS, open_archive
from ccreport.core.text import count_things, display_name
from ccreport.ingest.readers import INGESTED_TABLES
from ccreport.publish import SUMS, WHOLE
from ccreport.publish.checks import Check
from ccreport.publish.checks.raw_archive import find_archive
from ccreport.publish.stage import WITHOUT_BYTES
from ccreport.publish.sums import parse_sums
from ccreport.storage.sums import hash_file

NO_ARCHIVE: Final = (
    "the release has only the list of its raw files; put the packed archive into its raw/, or its parts into "
    f"raw/{PARTS}/"
)


def check_raw(release: Path, work: Path) -> Check:
    """Unpack the raw archive into a work folder and compare every file with `raw/SHA256SUMS`."""
    archive = find_archive(release)
    if not archive:
        return Check("raw files", unchecked=NO_ARCHIVE)
    named = _read_sums(release)
    root = open_archive(archive, work / "raw").root
    place = f"raw/{archive[0].name}" if archive[0].parent == release / "raw" else f"raw/{PARTS}"
    there = {path.as_posix(): hash_file(root / path) for path in list_files(root) if not (root / path).is_symlink()}
    failures = [f"{display_name(path)}: missing in {place}" for path in sorted(named.keys() - there.keys())]
    failures += [
        f"{display_name(path)}: in {place} and not in raw/{SUMS}" for path in sorted(there.keys() - named.keys())
    ]
    failures += [
        f"{display_name(path)}: not what raw/{SUMS} says"
        for path in sorted(named.keys() & there.keys())
        if named[path] != there[path]
    ]
    return Check("raw files", f"{count_things(len(there), 'file')} in {place}", tuple(failures))


def _read_sums(release: Path) -> dict[str, str]:
    return parse_sums((release / "raw" / SUMS).read_bytes(), f"raw/{SUMS}")


def check_ledger(release: Path) -> Check:
    """Count every raw file again: it is in the ledger once, and in a table, or rejected, or ignored by a rule."""
    ledger = _read(release, "raw_files")
    named = {display_name(path): sha256 for path, sha256 in _read_sums(release).items()}
    with_bytes = ledger.filter(~pl.col("reason").is_in(sorted(WITHOUT_BYTES)).fill_null(False))
    rows = dict(with_bytes.select("path", "sha256").iter_rows())
    failures = [
        f"{path}: twice in the ledger" for path in sorted(with_bytes.filter(pl.col("path").is_duplicated())["path"])
    ]
    failures += [f"{path}: not in the ledger" for path in sorted(named.keys() - rows.keys())]
    failures += [f"{path}: in the ledger and not in raw/{SUMS}" for path in sorted(rows.keys() - named.keys())]
    failures += [
        f"{path}: another sum in the ledger than in raw/{SUMS}"
        for path in sorted(named.keys() & rows.keys())
        if named[path] != rows[path]
    ]
    failures += [f"{row['path']}: {_say(row)}" for row in _find_unsettled(release, ledger).iter_rows(named=True)]
    return Check("ledger", count_things(ledger.height, "raw file"), tuple(failures))


def _read(release: Path, table: str) -> pl.DataFrame:
    # Opened first, as what polars says of a file that is not there has only the end of its path.
    with (release / "tables" / table / f"{WHOLE}.parquet").open("rb") as stream:
        return pl.read_parquet(stream)


def _find_unsettled(release: Path, ledger: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of the ledger whose state does not follow from the tables, with `in_tables` and `is_rejected`."""
    ids = [_read_ids(release, table) for table in INGESTED_TABLES]
    whole = _read(release, "rejects").filter("is_whole_file")["raw_file_id"].unique()
    counted = ledger.with_columns(
        in_tables=pl.col("raw_file_id").is_in(pl.concat(ids).unique().to_list()),
        is_rejected=pl.col("raw_file_id").is_in(whole.to_list()),
    )
    states = {"ingested": (True, False), "rejected": (False, True), "ignored": (False, False)}
    expected = pl.any_horizontal(
        (pl.col("state") == state) & (pl.col("in_tables") == in_tables) & (pl.col("is_rejected") == is_rejected)
        for state, (in_tables, is_rejected) in states.items()
    )
    return counted.filter(~expected).sort("path")


def _read_ids(release: Path, table: str) -> pl.Series:
    path = release / "tables" / table / f"{WHOLE}.parquet"
    return pl.scan_parquet(path, glob=False).select("raw_file_id").unique().collect()["raw_file_id"]


def _say(row: dict[str, Any]) -> str:
    found = "in a table" if row["in_tables"] else "in no table"
    return f"{row['state']} by the ledger, {found}, {'' if row['is_rejected'] else 'not '}rejected as a whole"
