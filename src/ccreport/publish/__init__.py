"""Releases: a folder that others can fetch, check and cite, with standard tools and without this program.

The layout, below `<results>/release/<version>/`; every path in a release is relative to its folder, beside which
`<version>.sha256` has the hash of its SHA256SUMS:

- `README.md`, `CHANGES.md`, `CITATION.cff`, `LICENSE`: what it is, what is new, how to cite it, under which terms;
- `SHA256SUMS`: every file but itself, sorted by path, as `sha256sum -c` reads it; its own SHA-256 names the release;
- `datapackage.json`: Frictionless Data Package 2.0, a resource for each table (`ccreport.publish.datapackage`);
- `ro-crate-metadata.json`: RO-Crate 1.1, which rule made what from what (`ccreport.publish.crate`);
- `raw/archive.json`: the inventory's facts of the archive; `raw/SHA256SUMS`: every raw file, by its path in there;
  `raw/<archive>`: the raw archive in one file, or `raw/parts/<part>` for each of its parts, unless `release.raw` is
  `manifest`;
- `tables/<table>/archive.parquet`: each typed table in one file, also where the build had one for each batch;
- `evaluations/<name>/<name>.yaml`: the declaration with all defaults filled in, whose published values are in
  `evaluations/<name>/expected/<table>.csv`; `evaluations/explanations.yaml`: what explains verdicts, where declared;
- `evaluations/<name>/tables/<table>.{parquet,csv,html,tex}`: the published tables;
- `evaluations/<name>/{reproduction,claims}.{parquet,csv}`, `evaluations/<name>/{report,supplement}.pdf`;
- `evaluations/<name>/figures/<figure>/figure.{svg,png,vl.json,csv}` with `caption.txt` and `alt.txt`;
- `evaluations/<name>/views.sql`: all views and macros over `tables/`, for DuckDB started in the release's folder;
- `site/`: the report;
- `code/`: the pipeline as it was (rules, package with `sql/`, schemas, lock), and in `code/config.yaml` the
  configuration with all defaults, its paths leading into the release; `code/layout.yaml`, with its table
  `code/layout.csv`: what the names of the raw files say, where the configuration declares it.

`evaluations/` lists the report's own evaluation first only in `code/config.yaml` (`evaluation`, then `sections`).
A database as the build has one is made anew by `ccreport.summarise.database.list_views`, called in the release's folder
with a list of the one id `archive`, the folder `tables` and the declaration.
"""

from typing import Final

SUMS: Final = "SHA256SUMS"
PACKAGE: Final = "datapackage.json"
CRATE: Final = "ro-crate-metadata.json"
# What explains verdicts, of all evaluations.
EXPLANATIONS: Final = "evaluations/explanations.yaml"
# How the archive's files are named, beside the code's configuration, where that says it.
LAYOUT: Final = "layout.yaml"
LAYOUT_TABLE: Final = "layout.csv"
# The file of each typed table, and so the id that takes the place of the build's batches.
WHOLE: Final = "archive"
