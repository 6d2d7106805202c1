"""What people read first in a release: README.md, CITATION.cff, CHANGES.md."""

import json
from pathlib import Path
from typing import Any, Final

import yaml

from ccreport.publish.changes.compare import compare_releases, format_text
from ccreport.publish.changes.differences import ReleaseFolder
from ccreport.publish.declaration import Creator
from ccreport.publish.declaration import Release as Declared

README: Final = """\
# {title}

{description}

Version {version} of {day}, by {creators}. Licence of the data: {license}; of the code in `code/`: see `LICENSE`.{doi}

## What is where

| path | what |
|---|---|
{rows}

`SHA256SUMS` has the SHA-256 of every file but itself. `datapackage.json` says of every column what it means:
type, unit, bounds, keys. `ro-crate-metadata.json` says which step made what from what, with which versions of programs.

## Is it whole?

In this folder, on Linux (elsewhere `shasum -a 256 -c SHA256SUMS`):

```sh
sha256sum --check --quiet SHA256SUMS
```

No output means that every byte is as it was published.{raw_check}

## Read the tables

The CSV files are plain text in UTF-8 with a header line; an empty cell is a value that is not known. The
`.parquet` files hold the same kind of tables with types, units and descriptions inside: Apache Parquet, an open format
that many programs read.

```sh
python3 -m pip install duckdb
python3 -c "import duckdb; print(duckdb.sql(\\"FROM 'tables/runs/archive.parquet'\\"))"
```

`evaluations/{main}/views.sql` holds the queries of all published tables as views; with DuckDB's command line:

```sh
duckdb -init evaluations/{main}/views.sql
```

Units are in the names of columns: `_s` seconds, `_ms` milliseconds, `_bytes`, `_bps` bits per second, `_pct` per cent,
`_ratio`, `_count`, `_cv` coefficient of variation, `_utc` time in UTC.

## Make it again

{rebuild}
"""
RAW_CHECK: Final = """ Of the raw files, `raw/SHA256SUMS` has the same: unpack the
archive{all_parts}, change into the folder of its sessions, and name that list instead."""
REBUILD: Final = """\
With Python {python} or one near it, make and git, in a copy of this folder:

```sh
cd code && make report
```

This installs the versions of `code/requirements.lock`, reads {source} and leaves the report in `code/results/report`.
All tables then equal those here. After that

```sh
.venv/bin/python -m ccreport verify FOLDER
```

checks any release by the name of its folder: files, schemas, ledger, claims, and its tables, made anew from its raw
files."""
PARTS: Final = {
    "raw/": "the archive that was measured ({raw}), and the list of its files with their SHA-256",
    "tables/": "everything read from the raw files, as one Parquet file for each table",
    "evaluations/": "what was computed, by evaluation: published tables, figures, comparisons, claims, a PDF",
    "site/": "the report: open `site/index.html` in a browser, no server or network needed",
    "code/": "the program that made all this: rules, package, queries (`src/ccreport/sql/`), schemas, config, lock",
    "CHANGES.md": "what differs from the release before",
    "CITATION.cff": "how to cite this release",
}


def write_readme(release: Path, declared: Declared, raw: list[str], main: str, python: str) -> None:
    """Write the README for whoever finds the folder; `raw` has the names of the raw archive's files, if it is there."""
    is_in_parts = any("/" in name for name in raw)
    named = "the parts in `raw/parts/`" if is_in_parts else f"`raw/{raw[0]}`" if raw else ""
    held = named or "not here: see `raw/archive.json` for its hash"
    rows = "\n".join(f"| `{path}` | {text.format(raw=held)} |" for path, text in PARTS.items())
    source = named or "the archive that `archive` in `code/config.yaml` names (put it there first)"
    text = README.format(
        title=declared.title,
        description=declared.description,
        version=declared.version,
        day=declared.day,
        creators=", ".join(creator.name for creator in declared.creators),
        license=declared.license,
        doi=f" DOI: <https://doi.org/{declared.doi}>." if declared.doi else "",
        rows=rows,
        raw_check=RAW_CHECK.format(all_parts=", all parts into one folder" if is_in_parts else "") if raw else "",
        main=main,
        rebuild=REBUILD.format(python=python, source=source),
    )
    (release / "README.md").write_text(text, encoding="utf-8")


def write_citation(release: Path, declared: Declared) -> None:
    """Write CITATION.cff of a release, with the hash of the archive that it is made of."""
    archive = json.loads((release / "raw/archive.json").read_text(encoding="utf-8"))
    identifiers = [
        {"type": "other", "value": f"sha256:{archive['sha256']}", "description": "Paths and hashes of all raw files"}
    ]
    cited: dict[str, Any] = {
        "cff-version": "1.2.0",
        "message": "If you use these data, please cite them as below.",
        "title": declared.title,
        "type": "dataset",
        "authors": [_cite(creator) for creator in declared.creators],
        "version": declared.version,
        "date-released": declared.day,
        "license": declared.license,
        **({"doi": declared.doi} if declared.doi else {}),
        "identifiers": identifiers,
    }
    text = yaml.safe_dump(cited, sort_keys=False, allow_unicode=True, width=120)
    (release / "CITATION.cff").write_text(text, encoding="utf-8")


def _cite(creator: Creator) -> dict[str, str]:
    about = {"name": creator.name, "orcid": creator.orcid}
    return {key: fact for key, fact in about.items() if fact is not None}


def write_changes(release: Path, declared: Declared, former: Path | None) -> None:
    """Write CHANGES.md: verdicts, cells and figures that are others than in a former release, and what may be why."""
    text = f"# Changes in version {declared.version} of {declared.day}\n\n"
    if former is None:
        text += "This release names no former one to compare with.\n"
    else:
        old, new = ReleaseFolder(former), ReleaseFolder(release)
        text += f"Compared with {old.title}.\n\n{format_text(compare_releases(old, new))}"
    (release / "CHANGES.md").write_text(text, encoding="utf-8")
