"""What a release says of itself: `release` in the configuration, filled up from the evaluation and CITATION.cff."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import polars as pl
import yaml

from ccreport.core.errors import InputError
from ccreport.core.evaluation import has_known_authors, load_evaluation
from ccreport.core.tables import load_schema, read_table
from ccreport.core.text import name_author
from ccreport.core.units import read_whole_number
from ccreport.report.archive_fragments.report_title import title_report

# That of the year 9999, the last that dates have.
LAST_SECOND: Final = 253_402_300_799

NOBODY: Final = "release.creators names nobody; say who measured, below `release`: creators: [{name: Ada Example}]"
NO_LICENSE: Final = "release.license is not set; say who may use the data, below `release`: license: CC-BY-4.0"


@dataclass(frozen=True)
class Creator:
    """One of those who made a release: a person or a group."""

    name: str
    orcid: str | None = None
    affiliation: str | None = None


@dataclass(frozen=True)
class Release:
    """A release's own facts; `moment` is the time written in it: the config's, or the archive's last."""

    version: str
    title: str
    description: str
    creators: tuple[Creator, ...]
    license: str
    doi: str | None
    moment: datetime

    @property
    def day(self) -> str:
        """Return the day of the release as YYYY-MM-DD."""
        return f"{self.moment:%Y-%m-%d}"


def declare_release(
    declared: Mapping[str, Any], declaration: Path, citation: Path, tables: Path, archive_sha256: str
) -> Release:
    """Return what the config's `release` declares, what it leaves open taken from elsewhere.

    Title and description are the evaluation's, creators and licence those of CITATION.cff, the time that of
    SOURCE_DATE_EPOCH, else of the last row of `tables`. Raise InputError where nothing tells the time, and for any
    archive but the sample, whose authors CITATION.cff names, where creators or licence are left open.
    """
    evaluation = load_evaluation(declaration)
    cited = yaml.safe_load(citation.read_text(encoding="utf-8"))
    if not has_known_authors(archive_sha256):
        check_named(declared)
    creators = declared["creators"] or [_name_author(author) for author in cited["authors"]]
    return Release(
        version=declared["version"],
        title=declared["title"] or _find_title(declaration.stem, evaluation["title"], tables),
        description=declared["description"] or evaluation["subtitle"] or evaluation["title"],
        creators=tuple(Creator(**creator) for creator in creators),
        license=declared["license"] or cited["license"],
        doi=declared["doi"],
        moment=_find_moment(declared["date"], tables),
    )


def check_named(declared: Mapping[str, Any]) -> None:
    """Raise InputError where the config's `release` leaves open who measured or who may use the data."""
    absent = [] if declared["creators"] else [NOBODY]
    if absent := [*absent, *([NO_LICENSE] if declared["license"] is None else [])]:
        raise InputError("; ".join(absent))


def _find_title(evaluation: str, title: str, tables: Path) -> str:
    """Return the title that the report has."""
    sessions, runs = (read_table(name, sorted((tables / name).glob("*.parquet"))) for name in ("sessions", "runs"))
    return title_report(evaluation, title, sessions, runs)


def _name_author(author: Mapping[str, str]) -> dict[str, str]:
    """Return an author of CITATION.cff, a person in parts of a name or an entity, as a creator."""
    return {"name": name_author(author)} | {key: author[key] for key in ("orcid", "affiliation") if key in author}


def _find_moment(date: str | None, tables: Path) -> datetime:
    if date is not None:
        return datetime.fromisoformat(date).replace(tzinfo=UTC)
    if (epoch := read_whole_number("SOURCE_DATE_EPOCH", 0, LAST_SECOND)) is not None:
        return datetime.fromtimestamp(epoch, UTC)
    last = max(_list_last_times(tables), default=None)
    if last is None:
        raise InputError("nothing in the archive tells when it was measured; set release.date, as in 2026-11-20")
    return last.replace(hour=0, minute=0, second=0, microsecond=0)


def _list_last_times(tables: Path) -> Iterable[datetime]:
    for file in sorted(tables.glob("*/*.parquet")):
        times = [column.name for column in load_schema(file.parent.name).columns if column.type == "timestamp"]
        if times:
            (row,) = pl.scan_parquet(file, glob=False).select(pl.col(times).max()).collect().iter_rows()
            yield from (time for time in row if time is not None)
