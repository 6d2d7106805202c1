"""The ledger: what became of every raw file, counted again from the tables themselves.

A file that a reader was to read is ingested if rows of a table name it, and rejected if the reader said that
nothing of it could be used. Exactly one of the two must hold for each, so nothing is dropped in silence.
"""

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile, read_manifest_facts
from ccreport.core.errors import InputError
from ccreport.core.tables import conform, load_schema, read_table, write_table
from ccreport.core.text import count_alike, count_things, display_name
from ccreport.ingest.readers import INGESTED_TABLES, READERS, RULES
from ccreport.ingest.rejects import Rejects
from ccreport.inventory.kinds import MEASUREMENT_RULE
from ccreport.rebuild.batches import read_batches, table_files

OF_EXPERIMENTS: Final = ("experiment_id", "session", "job")
OF_FILES: Final = ("raw_file_id", "run_id", "kind", "format", "client_number", "size_bytes", "sha256", "rule")
# Any row of these is something that was measured; samples, as a run that is declared to be of flows alone has them.
TESTS: Final = tuple(reader.measured for reader in READERS if reader.measured is not None)
WARNING: Final = "warning: "
NO_TEST: Final = (
    "the archive holds no test: not one result of a tool, capture or dump could be read, so that all tables are empty; "
    "the report's page Ledger says what became of each file"
)
# Of what explains that there is none.
CAUSES_AT_MOST: Final = 3
STRANGE: Final = (
    "no connection in it is one of its run's test, so that no table of runs or flows uses these samples, nor what was "
    "recorded beside them, if that is of the same test; correct the file's name, or the layout"
)
LISTED: Final = (*OF_EXPERIMENTS, *OF_FILES, "path", "state")


class LedgerError(InputError):
    """The ledger does not close, or a strict build has rejects."""


def measure_ledger(
    batches: Path, manifests: Path, tables: Path, rejected: Path, raw_files: Path, rejects: Path
) -> None:
    """Write `raw_files` and `rejects` of the whole archive.

    `batches` lists the batches of experiments. `manifests` is the folder of their manifests. `tables` is that of their
    ingested tables. `rejected` is that of the readers' rejects. Prints on stderr, behind `WARNING`, what whoever builds
    is to see at the end. Raise LedgerError if a file is neither in a table nor rejected, or both.
    """
    names = list(read_batches(batches))
    listed, by_inventory = _list_files(manifests / f"{name}.json" for name in names)
    parts = [read_table("rejects", table_files(rejected, reader, names)) for reader in RULES]
    # Each reader counts for itself, and two may have something to say of one file.
    all_rejects = pl.concat([*parts, by_inventory, _find_strange_samples(listed, tables, names)]).with_columns(
        part_number=pl.int_range(pl.len(), dtype=pl.Int64).over("raw_file_id")
    )
    listed = _name_runs(listed, tables, names)
    ledger = _settle(listed, _find_ingested(tables, names), all_rejects)
    _warn(ledger, tables, names)
    write_table(ledger, "raw_files", raw_files)
    write_table(all_rejects, "rejects", rejects)


def list_rejects(rejects: Path, listed: Path) -> None:
    """Write that no file of the whole archive, nor any part of one, was rejected, as a `strict` build wants it.

    `rejects` is the table of the whole archive, `listed` a text. Raise LedgerError, with a line for each reason, if
    any was rejected. A file is not at fault where nothing declares its path.
    """
    is_fault = pl.col("is_whole_file") | (pl.col("reason") != "no_metadata")
    all_rejects = read_table("rejects", [rejects]).filter(is_fault)
    if all_rejects.height:
        first, *others = _describe(all_rejects)
        more = f"; {count_things(len(others), 'line')} more in this log" if others else ""
        raise LedgerError("\n  ".join([f"strict is set, and not all could be used: {first}{more}", *others]))
    listed.write_text("nothing was rejected\n", encoding="ascii")


def _list_files(manifests: Iterable[Path]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a row of `raw_files` for each listed file, its state as the inventory decided, and what that rejected."""
    types = load_schema("raw_files").polars
    frames, rejected = [pl.DataFrame(schema={name: types[name] for name in LISTED})], Rejects()
    for path in manifests:
        # A million files are too many to make an object of each, or to have all facts of at once.
        files = [(manifest, file) for manifest in read_manifest_facts(path) for file in manifest["files"]]
        columns = {name: [manifest[name] for manifest, _ in files] for name in OF_EXPERIMENTS}
        columns |= {name: [file[name] for _, file in files] for name in OF_FILES}
        columns["path"] = [display_name(file["path"]) for _, file in files]
        columns["state"] = [file["action"] for _, file in files]
        frames.append(pl.DataFrame(columns, schema=frames[0].schema))
        for _, file in files:
            if file["action"] == "rejected":
                rejected.add(RawFile(**file), file["reason"], file["message"])
    listed = pl.concat(frames).with_columns(client_number=pl.when(pl.col("run_id").is_not_null()).then("client_number"))
    return listed, rejected.frame()


def _name_runs(listed: pl.DataFrame, tables: Path, batches: list[str]) -> pl.DataFrame:
    """Return the listed files with the run of each file of samples that its reader joined to one test."""
    is_joined = (pl.col("kind") == "ss") & (pl.col("state") == "ingest") & pl.col("run_id").is_null()
    joined = listed.filter(is_joined)["raw_file_id"]
    if joined.is_empty():
        return listed
    runs = (
        pl.scan_parquet(table_files(tables, "samples", batches), glob=False)
        .filter(pl.col("raw_file_id").is_in(joined.to_list()))
        .group_by("raw_file_id")
        .agg(joined_run=pl.col("run_id").first(), runs_count=pl.col("run_id").n_unique())
        .filter(pl.col("runs_count") == 1)
        .drop("runs_count")
        .collect()
    )
    return (
        listed.join(runs, on="raw_file_id", how="left", maintain_order="left")
        .with_columns(run_id=pl.coalesce("run_id", "joined_run"))
        .drop("joined_run")
    )


def _find_strange_samples(listed: pl.DataFrame, tables: Path, batches: list[str]) -> pl.DataFrame:
    """Return a row of `rejects` for each file of samples that shows no connection of its run's test.

    Tests that name no ports are left out.
    """
    files = listed.filter(kind="ss", state="ingest").filter(pl.col("run_id").is_not_null())
    if files.is_empty():
        return Rejects().frame()
    samples, streams = (
        pl.scan_parquet(table_files(tables, table, batches), glob=False) for table in ("samples", "streams")
    )
    own = samples.select("raw_file_id", "run_id", "flow_id").unique()
    named = streams.filter(pl.col("local_port").is_not_null()).select("run_id", "flow_id").unique()
    of_tests = own.join(named.select("run_id").unique(), on="run_id", how="semi").collect()
    used = of_tests.join(named.collect(), on=["run_id", "flow_id"], how="semi")["raw_file_id"]
    strange = of_tests.filter(~pl.col("raw_file_id").is_in(used.to_list()))["raw_file_id"].unique()
    found = files.filter(pl.col("raw_file_id").is_in(strange.to_list())).select("raw_file_id", "path", "run_id", "kind")
    told = {"part_number": 0, "reason": "no_run", "is_whole_file": False, "message": STRANGE}
    return conform(found.with_columns(**{name: pl.lit(value) for name, value in told.items()}), "rejects")


def _find_ingested(tables: Path, batches: list[str]) -> pl.Series:
    if not batches:
        return pl.Series(dtype=pl.String)
    found = (
        pl.scan_parquet(table_files(tables, table, batches), glob=False).select(pl.col("raw_file_id").unique())
        for table in INGESTED_TABLES
    )
    return pl.concat(found).collect()["raw_file_id"].unique()


def _settle(ledger: pl.DataFrame, ingested: pl.Series, rejects: pl.DataFrame) -> pl.DataFrame:
    whole = rejects.filter("is_whole_file").select("raw_file_id", "reason").unique("raw_file_id", keep="first")
    settled = ledger.join(whole, on="raw_file_id", how="left").with_columns(
        is_ingested=pl.col("raw_file_id").is_in(ingested.to_list())
    )
    is_read = pl.col("state") == "ingest"
    open_files = settled.filter(is_read & (pl.col("is_ingested") == pl.col("reason").is_not_null()))
    if open_files.height:
        paths = ", ".join(open_files["path"].head(5))
        count = count_things(open_files.height, "file")
        raise LedgerError(f"neither in a table nor rejected, or both: {count} ({paths})")
    state = pl.when(~is_read).then("state").when("is_ingested").then(pl.lit("ingested")).otherwise(pl.lit("rejected"))
    return settled.with_columns(state=state).drop("is_ingested")


def _warn(ledger: pl.DataFrame, tables: Path, batches: list[str]) -> None:
    if not _has_test(tables, batches):
        print(f"{WARNING}{NO_TEST}{_explain_absence(tables, batches)}", file=sys.stderr)
    overlooked = ledger.filter(pl.col("rule") == MEASUREMENT_RULE).height
    if overlooked:
        look = "1 file looks like a measurement" if overlooked == 1 else f"{overlooked} files look like measurements"
        print(f"{WARNING}{look} and could not be read; see the report's page Ledger", file=sys.stderr)


def _has_test(tables: Path, batches: list[str]) -> bool:
    if not batches:
        return False
    heights = (pl.scan_parquet(table_files(tables, table, batches), glob=False).select(pl.len()) for table in TESTS)
    return any(height.collect().item() for height in heights)


def _explain_absence(tables: Path, batches: list[str]) -> str:
    """Return why sweeps left no run: their attempts failed, or else their calibrations; nothing where neither did."""
    attempts, calibrations = (
        read_table(table, table_files(tables, table, batches)) for table in ("attempts", "calibrations")
    )
    failed = attempts.filter(attempt_outcome="failed").select("job", "suffix", "attempt_message")
    said = [(f"{job}/{suffix}", message or "failed") for job, suffix, message in failed.iter_rows()]
    if causes := count_alike(said, "attempt"):
        return f"; attempts at runs failed: {'; '.join(causes[:CAUSES_AT_MOST])}"
    failed = calibrations.filter(~pl.col("is_within")).drop_nulls("nominal_value")
    outside = failed.select(
        pl.format(
            "{} {} {} where {} was set (session {})",
            *("measured_quantity", "measured_value", "calibration_unit", "nominal_value", "session"),
        )
    ).to_series()
    causes = outside.head(CAUSES_AT_MOST).to_list()
    return f"; a sweep stops where its calibration fails: {'; '.join(causes)}" if causes else ""


def _describe(rejects: pl.DataFrame) -> list[str]:
    rows = rejects.select("path", "reason", "message").sort("path", maintain_order=True).iter_rows()
    return count_alike((path, f"{reason}: {message}") for path, reason, message in rows)
