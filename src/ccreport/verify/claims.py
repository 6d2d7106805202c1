"""Claims judged once more, over the typed and published tables of a release, and compared with its verdicts."""

import contextlib
import io
from pathlib import Path

import polars as pl
import yaml

from ccreport.compare.claims import judge_claims
from ccreport.publish import EXPLANATIONS, WHOLE
from ccreport.publish.checks import Check
from ccreport.summarise.database import list_views
from ccreport.verify.compare import list_other_cells
from ccreport.verify.recompute import list_evaluations


def check_claims(release: Path, work: Path) -> Check:
    """Judge all claims of a release in a work folder; each check's value and verdict must be the published one."""
    failures: list[str] = []
    count = 0
    for evaluation in list_evaluations(release):
        name = f"evaluations/{evaluation.stem}/claims.parquet"
        made = _judge(release, evaluation, work / "claims" / evaluation.stem)
        _keep_columns(made, release / name)
        failures += _list_verdicts(name, release / name, made) or list_other_cells(name, release / name, made)
        count += pl.read_parquet(made, glob=False).height
    return Check("claims", f"{count} checks of claims judged again", tuple(failures))


def _judge(release: Path, evaluation: Path, work: Path) -> Path:
    work.mkdir(parents=True)
    database, made = work / "archive.duckdb", work / "claims.parquet"
    (work / "batches.txt").write_text(f"{WHOLE}\n", encoding="ascii")
    config = yaml.safe_load((release / "code/config.yaml").read_text(encoding="utf-8"))
    # Releases from before there was such a table have no suspect runs.
    is_included = config.get("include_suspect", False)
    list_views(work / "batches.txt", release / "tables", evaluation, database, include_suspect=is_included)
    explanations = [path for path in [release / EXPLANATIONS] if path.is_file()]
    facts = release / "raw/archive.json"
    # What it says of claims without an explanation is for those who publish.
    with contextlib.redirect_stdout(io.StringIO()):
        judge_claims(evaluation, database, evaluation.parent / "tables", facts, explanations, made, work / "claims.csv")
    return made


def _keep_columns(made: Path, published: Path) -> None:
    """Leave out the columns that claims did not have yet when a release was published."""
    known = pl.read_parquet_schema(published)
    judged = pl.read_parquet(made, glob=False)
    judged.select(name for name in judged.columns if name in known).write_parquet(made)


def _list_verdicts(name: str, published: Path, made: Path) -> list[str]:
    """Return in words which verdicts are others than published."""
    old, new = (
        {
            (row["claim"], row["check"]): row["verdict"]
            for row in pl.read_parquet(path, glob=False).iter_rows(named=True)
        }
        for path in (published, made)
    )
    return [
        f"{name}: {claim}, {check}: published {old.get((claim, check))}, judged {new.get((claim, check))}"
        for claim, check in {**old, **new}
        if old.get((claim, check)) != new.get((claim, check))
    ]
