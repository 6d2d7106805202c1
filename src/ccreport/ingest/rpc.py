"""Results of RPC tests, netperf's outputs and flent's data files, into three tables.

`rpc_tests` has one row for each netperf test and each series of a flent file, `rpc_samples` what was measured over
time, `rpc_histograms` netperf's histograms of transaction times.
"""

import gc
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from ccreport.ingest.flent import read_flent
from ccreport.ingest.netperf import read_netperf
from ccreport.ingest.rpc_labels import label_tests
from ccreport.ingest.rpc_rows import RpcRows
from ccreport.raw import RawFile, RawFileError, Rejects, read_manifest, read_whole
from ccreport.tables import load_schema, write_table


def ingest_rpc(
    manifest: Path, root: Path, rpc_tests: Path, rpc_samples: Path, rpc_histograms: Path, rejects: Path
) -> None:
    """Write the three tables of one experiment, and what could not be used of its netperf and flent files."""
    # Parsed documents have no cycles; looking for them among millions of values takes a third of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        _ingest(
            manifest,
            root,
            {"rpc_tests": rpc_tests, "rpc_samples": rpc_samples, "rpc_histograms": rpc_histograms},
            rejects,
        )
    finally:
        if was_enabled:
            gc.enable()


def _ingest(manifest: Path, root: Path, paths: Mapping[str, Path], rejects: Path) -> None:
    frames: dict[str, list[pl.DataFrame]] = {table: [_empty(table)] for table in paths}
    rejected = Rejects()
    for file in read_manifest(manifest).files_for("ingest_rpc"):
        try:
            content = read_whole(root / file.path)
            rows = read_flent(content) if file.kind == "flent" else read_netperf(content)
            rows.report(file, rejected)
            label_tests(rows.tests, file)
        except RawFileError as error:
            rejected.add_error(file, error)
            continue
        for table, frame in _make_frames(rows, file).items():
            frames[table].append(frame)
    for table, path in paths.items():
        write_table(pl.concat(frames[table]), table, path)
    rejected.write(rejects)


def _empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema=load_schema(table).polars)


def _make_frames(rows: RpcRows, file: RawFile) -> dict[str, pl.DataFrame]:
    of_file = {"run_id": file.run_id, "raw_file_id": file.raw_file_id}
    of_test = of_file | {"client_number": file.client_number}
    tests = [of_test | {"test_number": number} | row for number, row in enumerate(rows.tests)]
    histograms = [of_file | row for row in rows.histograms]
    samples_schema = load_schema("rpc_samples").polars
    samples = pl.DataFrame(
        rows.samples, schema={name: samples_schema[name] for name in samples_schema if name not in of_file}
    )
    named = samples.with_columns(pl.lit(value, pl.String).alias(name) for name, value in of_file.items())
    return {
        "rpc_tests": pl.DataFrame(tests, schema=load_schema("rpc_tests").polars),
        "rpc_samples": named.select(list(samples_schema)),
        "rpc_histograms": pl.DataFrame(histograms, schema=load_schema("rpc_histograms").polars),
    }
