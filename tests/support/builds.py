"""Builds of small archives through Snakemake, as a user would run them."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from archives import ROOT

from ccreport.core.tables import load_schema

GOLDEN = Path(__file__).parents[1] / "golden"
CUT = GOLDEN / "cut.tar.zst"
# The evaluation whose tables the tests know.
OWN = "esnet-dtn"
SWEEP_JOB = "2026-11-20:22:11/cubic_p1_loss0.1"
# Its times, in seconds since 1970.
EPOCH_S = re.compile(r"\b1795\d{6}\b")
TABLES = ("runs", "flows", "experiments", "hosts", "tests")
SUMMARIES = (
    "table_1_buffer_size",
    "table_2_testbed",
    "table_3_paths",
    "stability",
    "retransmits",
    "coefficients",
    "comparisons",
    "cpu",
    "jobs",
    "witnesses",
)


@dataclass(frozen=True)
class Build:
    """One call of Snakemake: where its results are, how it ended and what it said."""

    results: Path
    returncode: int
    output: str

    @property
    def jobs(self) -> Counter[str]:
        """Return how many jobs of each rule ran."""
        return Counter(re.findall(r"^(?:local)?(?:rule|checkpoint) (\w+):$", self.output, re.MULTILINE))


def build(
    target: str, archive: Path | str | list[str] | dict[str, object], folder: Path, *options: str, **config: object
) -> Build:
    """Build a target of an archive into a folder, with values of the configuration if given."""
    results = folder / "results"
    values = {
        "archive": archive if isinstance(archive, list | dict) else str(archive),
        "report": {"renderer": "embedded"},
        "evaluation": OWN,
        "sections": [],
        "pathvars": {"results": str(results), "logs": str(folder / "logs")},
        **config,
    }
    # Snakemake reads True and False as Python writes them, the rest as YAML.
    pairs = [f"{name}={value if isinstance(value, bool) else json.dumps(value)}" for name, value in values.items()]
    command = [sys.executable, "-m", "snakemake", "--cores", "2", "--nolock", *options, target, "--config", *pairs]
    # Whoever calls Snakemake by its path has no need to activate the environment that it is in.
    environment = os.environ | {"PATH": os.defpath}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=600, check=False)
    return Build(results, done.returncode, f"$ {shlex.join(command)}\n{done.stdout}{done.stderr}")


def find_own(results: Path) -> Path:
    """Return the folder of the evaluation's own results."""
    return results / OWN


def read_results(results: Path, table: str) -> pl.DataFrame:
    return pl.read_parquet(sorted((results / "tables" / table).glob("*.parquet")))


def check_golden(results: Path) -> None:
    """Compare the published tables of a build of the cut archive with the golden ones."""
    for name in SUMMARIES:
        table = pl.read_parquet(find_own(results) / f"summaries/{name}.parquet")
        assert as_text(table, load_schema(name).key) == (GOLDEN / f"{name}.csv").read_text(), name


def add_run(archive: Path) -> Path:
    """Write a third run of a job of the cut archive, the first ten minutes later, and return the folder of the job."""
    job = archive / SWEEP_JOB
    for name in ("src-cmd", "ss", "pre-netem"):
        text = (job / f"{name}:10.201.1.2:1:10.0ms").read_text()
        later = EPOCH_S.sub(lambda found: str(int(found[0]) + 600), text)
        (job / f"{name}:10.201.1.2:3:10.0ms").write_text(later)
    return job


def as_text(frame: pl.DataFrame, key: tuple[str, ...]) -> str:
    """Return a table as CSV, sorted, with nine significant digits: what differs is then a difference of meaning."""
    rounded = frame.sort(key).with_columns(pl.col(pl.Float64).round_sig_figs(9))
    return rounded.write_csv()
