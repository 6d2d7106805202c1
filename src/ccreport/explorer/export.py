"""Export all runs for the explorer: a folder of scripts that a page loads from disk, a run's own when it is picked."""

from collections.abc import Iterator
from pathlib import Path
from shutil import copyfile
from typing import Final

import polars as pl
import vl_convert

from ccreport.database import connect
from ccreport.explorer.run_list import describe_list, read_runs
from ccreport.explorer.run_series import describe_runs
from ccreport.explorer.script import name_script, write_call

ASSETS: Final = Path(__file__).parent
# Whole experiments are read at once until they have this many flows: few queries, and bounded memory.
BATCH_FLOWS: Final = 10_000


def export_runs(database: Path, output: Path) -> None:
    """Write what the explorer's page loads into the folder `output`.

    runs.js (the list), runs/<name>.js (the series of one run), vega.js (the drawing library, as the installed package
    has it), and the page's own scripts and style sheet.
    """
    scripts = output / "runs"
    scripts.mkdir(parents=True, exist_ok=True)
    for old in scripts.glob("*.js"):
        old.unlink()
    for asset in sorted((*ASSETS.glob("*.js"), *ASSETS.glob("*.css"))):
        copyfile(asset, output / asset.name)
    (output / "vega.js").write_text(bundle_vega(), encoding="utf-8")
    with connect(database) as connection:
        # Each batch asks the same files again.
        connection.execute("SET parquet_metadata_cache = true")
        runs = read_runs(connection)
        write_call(output / "runs.js", "loadList", describe_list(runs))
        for batch in iterate_batches(runs):
            for run_id, series in describe_runs(connection, batch):
                write_call(scripts / f"{name_script(run_id)}.js", "loadRun", run_id, series)


def bundle_vega() -> str:
    """Return Vega, Vega-Lite and vega-embed as one classic script that sets `window.vegaEmbed`."""
    bundle: str = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
    # The bundle's own names would else be global constants of the page.
    return f"(() => {{\n{bundle}\n}})();\n"


def iterate_batches(runs: pl.DataFrame, flows_limit: int = BATCH_FLOWS) -> Iterator[list[str]]:
    """Yield the ids of the runs of one or more whole experiments, which have at most so many flows if more than one."""
    batch: list[str] = []
    flows_count = 0
    for experiment in runs.partition_by("experiment_id", maintain_order=True):
        of_experiment = int(experiment["flows_count"].sum())
        if batch and flows_count + of_experiment > flows_limit:
            yield batch
            batch, flows_count = [], 0
        batch += experiment["run_id"].to_list()
        flows_count += of_experiment
    if batch:
        yield batch
