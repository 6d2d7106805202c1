"""Export all runs for the explorer: a folder of scripts that a page loads from disk, a run's own when it is picked.

The scripts of an experiment of which nothing changed stay as they are. A file beside them has the fingerprint of what
each experiment's were made of; it is gone for as long as scripts are written, so that a job that was killed leaves none
that the next takes as whole.
"""

import json
import os
from collections.abc import Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Final

import polars as pl
import vl_convert

from ccreport.core.atomic_files import replace_text
from ccreport.core.evaluation import load_evaluation
from ccreport.explorer.run_list import describe_list, read_runs
from ccreport.explorer.run_series import describe_runs
from ccreport.explorer.script import name_script, write_call
from ccreport.explorer.sql_tables import write_sql
from ccreport.figures.kit.theme import call_algorithms
from ccreport.figures.select.series import BIN_WIDTHS_S
from ccreport.rebuild.batch_tables import BatchReader
from ccreport.rebuild.batches import IGNORE_CACHES, read_batches
from ccreport.rebuild.fingerprints import digest_code, digest_facts
from ccreport.summarise.database import connect
from ccreport.trace.raw_files import load_read_files
from ccreport.trace.rows.candidates import find_rateless
from ccreport.trace.uses import list_published, list_uses

ASSETS: Final = Path(__file__).parent
# Whole experiments are read at once until they have this many flows: few queries, and bounded memory.
BATCH_FLOWS: Final = 10_000
# iperf3 has at most 128 in a test. More lines than these no browser draws and no eye parts.
FLOWS_AT_MOST: Final = 1000
LIBRARIES: Final = ("duckdb", "polars")
# Hidden, as what a page loads is not.
FINGERPRINTS: Final = ".fingerprints.json"


def export_runs(
    batches: Path,
    tables: Path,
    database: Path,
    evaluation: Path,
    published: list[Path],
    engine: list[Path],
    output: Path,
) -> None:
    """Write what the explorer's page loads into the folder `output`.

    runs.js (the list), runs/<name>.js (the series of one run), vega.js (the drawing library, as the installed package
    has it), the page's own scripts and style sheet, and with an SQL `engine` what `write_sql` writes, the `published`
    tables among it. Algorithms have the names that the figures of the `evaluation` give them, and runs are listed with
    the exhibits of its publication that they are for. A run of more than 1,000 flows has their number in place of
    series. `batches` lists the batches of experiments. `tables` is the folder of their tables.
    """
    scripts = output / "runs"
    scripts.mkdir(parents=True, exist_ok=True)
    for asset in sorted((*ASSETS.glob("*.js"), *ASSETS.glob("*.css"))):
        replace_text(output / asset.name, asset.read_text(encoding="utf-8"))
    write_vega(output / "vega.js")
    fingerprints = read_fingerprints(batches, tables)
    declared = load_evaluation(evaluation)
    exhibits = list_published(list_uses(database, declared))
    with connect(database) as connection:
        # Each batch asks the same files again.
        connection.execute("SET parquet_metadata_cache = true")
        runs = read_runs(connection, exhibits, find_rateless(database, declared["tables"]))
        asked = write_sql(connection, published, engine, output)
        with call_algorithms(declared["algorithm_names"]):
            listed = describe_list(runs, load_read_files(connection), exhibits)
        write_call(output / "runs.js", "loadList", listed | {"tables": asked})
        changed = find_changed(runs, fingerprints, scripts)
        is_drawn = pl.col("flows_count").fill_null(0) <= FLOWS_AT_MOST
        for run_id, flows_count in changed.filter(~is_drawn).select("run_id", "flows_count").rows():
            series = {"bin_s": BIN_WIDTHS_S[0], "flows": [], "flows_count": flows_count}
            write_call(scripts / f"{name_script(run_id)}.js", "loadRun", run_id, series)
        for batch in iterate_batches(changed.filter(is_drawn)):
            for run_id, series in describe_runs(connection, batch):
                write_call(scripts / f"{name_script(run_id)}.js", "loadRun", run_id, series)
    replace_text(scripts / FINGERPRINTS, json.dumps(fingerprints))
    print(f"wrote {changed.height} of {runs.height} runs, kept {runs.height - changed.height}")


def read_fingerprints(batches: Path, tables: Path) -> dict[str, str]:
    """Return by experiment what its runs' series are made of: its flows, with all they were read from, and code."""
    code = digest_code(["ccreport.explorer.export"], (), LIBRARIES)
    readers = (BatchReader(tables / "flows" / f"{batch}.parquet") for batch in read_batches(batches))
    return {
        experiment: digest_facts(part.fingerprint, code)
        for reader in readers
        for experiment, part in reader.parts.items()
    }


def find_changed(runs: pl.DataFrame, fingerprints: Mapping[str, str], scripts: Path) -> pl.DataFrame:
    """Return the runs whose scripts are to be written, and remove the scripts of runs that are gone."""
    index = scripts / FINGERPRINTS
    last = json.loads(index.read_text(encoding="ascii")) if index.exists() and IGNORE_CACHES not in os.environ else {}
    index.unlink(missing_ok=True)
    names = runs.select(pl.col("run_id").map_elements(name_script, pl.String())).to_series()
    present = {path.stem for path in scripts.glob("*.js")}
    for name in present.difference(names):
        (scripts / f"{name}.js").unlink()
    is_same = pl.col("experiment_id").is_in(
        [experiment for experiment, known in fingerprints.items() if last.get(experiment) == known]
    )
    return runs.filter(~(is_same & names.is_in(sorted(present))))


def write_vega(path: Path) -> None:
    """Write the drawing library, unless it is there: to bundle it takes longer than to list the runs."""
    begin = f"// Vega, Vega-Lite and vega-embed, of vl-convert {version('vl-convert-python')}\n"
    if path.exists() and IGNORE_CACHES not in os.environ:
        with path.open(encoding="utf-8") as stream:
            if stream.readline() == begin:
                return
    replace_text(path, begin + bundle_vega())


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
