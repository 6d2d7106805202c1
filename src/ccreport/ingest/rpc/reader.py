"""Results of RPC tests, netperf's outputs and flent's data files, into three tables.

`rpc_tests` has one row for each netperf test and each series of a flent file, `rpc_samples` what was measured over
time, `rpc_histograms` netperf's histograms of transaction times.
"""

import gc
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, read_whole
from ccreport.core.tables import load_schema
from ccreport.ingest.reading import Reading
from ccreport.ingest.rpc.flent import read_flent
from ccreport.ingest.rpc.labels import label_tests
from ccreport.ingest.rpc.netperf import read_netperf
from ccreport.ingest.rpc.netperf_columns import collect_texts, make_tests
from ccreport.ingest.rpc.rows import RpcRows

# A test's file, what was read of it, and its number there.
Owner = tuple[RawFile, RpcRows, int]


def read_rpc(reading: Reading) -> None:
    """Write the three tables of one experiment."""
    # Parsed documents have no cycles; looking for them among millions of values takes a third of the time.
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        _read(reading)
    finally:
        if was_enabled:
            gc.enable()


def _read(reading: Reading) -> None:
    frames = {table: [_empty(table)] for table in ("rpc_tests", "rpc_samples", "rpc_histograms")}

    def read_file(file: RawFile) -> RpcRows:
        content = read_whole(reading.root / file.path)
        rows = read_flent(content) if file.kind == "flent" else read_netperf(content)
        of_file = {"run_id": file.run_id, "raw_file_id": file.raw_file_id}
        for table, found in (("rpc_samples", rows.take_samples()), ("rpc_histograms", rows.histograms)):
            if found:
                frames[table].append(_complete(_frame(found, table), table, of_file))
        return rows

    read = reading.read_each(read_file)
    frames["rpc_tests"] += _make_tests(read)
    for file, rows in read:
        try:
            rows.report(file, reading.rejected)
        except RawFileError as error:
            reading.rejected.add_error(file, error)
    for table, parts in frames.items():
        reading.write(table, pl.concat(parts))


def _make_tests(read: Iterable[tuple[RawFile, RpcRows]]) -> Iterator[pl.DataFrame]:
    """Yield the tests of flent's and of netperf's files: of all files together, as each frame takes its time.

    A block of netperf's has its own frame.
    """
    by_tool: dict[bool, list[Owner]] = {True: [], False: []}
    tests: dict[bool, list[dict[str, Any]]] = {True: [], False: []}
    for file, rows in read:
        by_tool[file.kind == "flent"] += [(file, rows, number) for number in rows.list_numbers()]
        tests[file.kind == "flent"] += rows.tests
        for block in rows.blocks:
            owners = [(file, rows, block.number + row) for row in range(block.texts.height)]
            yield _label(make_tests(block.texts, block.known, partial(_note_value, owners)), owners)
    if tests[True]:
        yield _label(_frame(tests[True], "rpc_tests"), by_tool[True])
    if tests[False]:
        of_netperf = make_tests(collect_texts(tests[False]), {}, partial(_note_value, by_tool[False]))
        yield _label(of_netperf, by_tool[False])


def _note_value(owners: Sequence[Owner], row: int, message: str, line: int) -> None:
    owners[row][1].note("malformed_record", message, line)


def _label(frame: pl.DataFrame, owners: Sequence[Owner]) -> pl.DataFrame:
    files = [file for file, _, _ in owners]
    of_tests: dict[str, list[str | int | None]] = {
        "run_id": [file.run_id for file in files],
        "raw_file_id": [file.raw_file_id for file in files],
        "client_number": [file.client_number for file in files],
        "test_number": [number for _, _, number in owners],
    }
    frame = frame.with_columns(pl.Series(name, values) for name, values in of_tests.items())
    return label_tests(_complete(frame, "rpc_tests"), files)


def _empty(table: str) -> pl.DataFrame:
    return pl.DataFrame(schema=load_schema(table).polars)


def _frame(rows: Sequence[Mapping[str, Any]] | Mapping[str, Sequence[Any]], table: str) -> pl.DataFrame:
    """Return rows, or columns, as a frame of those of the table's columns that they have."""
    names = rows.keys() if isinstance(rows, Mapping) else {name for row in rows for name in row}
    types = load_schema(table).polars
    return pl.DataFrame(rows, schema={name: types[name] for name in types if name in names})


def _complete(frame: pl.DataFrame, table: str, of_file: Mapping[str, str | None] | None = None) -> pl.DataFrame:
    """Return the frame with the columns of the table, in order; those it lacks are of the file, or null."""
    return frame.select(
        pl.col(name).cast(kind) if name in frame.columns else pl.lit((of_file or {}).get(name), kind).alias(name)
        for name, kind in load_schema(table).polars.items()
    )
