"""Files of one format by themselves, without an archive: their rows printed, or written as Parquet or CSV.

What a file's path or its folder would tell in an archive (run, job, hosts) is unknown here.
"""

import contextlib
import io
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.archive.harness_layout import split_name
from ccreport.archive.manifest import Manifest, ManifestRun, RawFile
from ccreport.archive.raw_file import read_head
from ccreport.core.csv_files import write_csv
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.errors import InputError
from ccreport.core.identifiers import short_hash
from ccreport.core.schema_problems import guess, guess_path
from ccreport.core.table_folder import TableFolder
from ccreport.core.tables import write_table
from ccreport.ingest.declaration import Kind, Reader
from ccreport.ingest.readers import READERS, find_reader
from ccreport.ingest.reading import Settings, read_experiment
from ccreport.storage.writable import check_file, check_folder

SHOWN_ROWS: Final = 20
ENDINGS: Final = (".parquet", ".csv")
OF_ARCHIVE: Final = ("raw_file_id", "run_id", "flow_id", "experiment_id", "session", "job")

# What is said of an archive is otherwise of files that somebody chose.
SAID: Final = {
    "no_metadata": "none of these files is a readable jobmeta.json: loss, pacing, buffer and sender of the job are "
    "unknown; give its jobmeta.json, too"
}


def ingest(
    format: str,
    files: list[Path],
    /,
    *,
    output: Path | None = None,
    edge_paths: str | None = None,
    access_log_format: str | None = None,
) -> int:
    """Read files of one format, whatever they are called, and print their rows as tables.

    `format` is what one of the folders of `src/ccreport/ingest` reads: captures, iperf3, mpstat, ss and so on. `files`
    may be compressed. What cannot be used of `files`, or of parts of one, is printed on stderr; the exit status is 0
    all the same where `files` have rows, and 1 where they have none. With `output`, all rows are written there: one
    table into a file whose name ends in .parquet or .csv, else all as Parquet files of a folder. `edge_paths` is the
    layout of paths of files of an edge network, as in the configuration. `access_log_format` is nginx's `log_format`,
    as in the configuration. Raise InputError for an unknown format, a file that is not there and several tables for one
    file.
    """
    try:
        reader = find_reader(format)
    except KeyError:
        raise InputError(f"there is no format `{format}`{_guess_format(format)}") from None
    if missing := [path for path in files if not path.is_file()]:
        raise InputError(f"{missing[0]} is not a file{guess_path(missing[0])}")
    for path in files:
        _refuse_others(reader, path)
    if output is not None:
        _check_output(output)
    manifest = _list_files(reader, files)
    defaults = load_yaml(SCHEMAS / "config.schema.yaml")["properties"]["edge"]["properties"]
    settings = Settings(
        tuple(run.run_id for run in manifest.runs),
        edge_paths or defaults["paths"]["default"],
        access_log_format or defaults["access_log_format"]["default"],
    )
    with tempfile.TemporaryDirectory() as scratch:
        tables = TableFolder(Path(scratch))
        read_experiment(reader, manifest, Path("/"), tables.folder, settings)
        for row in tables.read("rejects").iter_rows(named=True):
            print(f"{row['path']}: {row['reason']}: {SAID.get(row['reason'], row['message'])}", file=sys.stderr)
        found = {table: tables.read(table) for table in (*reader.tables, *reader.details)}
    rows = {table: frame for table, frame in found.items() if frame.height}
    if output is None:
        _show(rows)
    else:
        _write(rows, output)
    return 0 if rows else 1


def list_problems(format: str, path: Path) -> list[str]:
    """Return what could not be used of a file of a format, or of its parts, as a build would say it."""
    reader = find_reader(format)
    with tempfile.TemporaryDirectory() as scratch:
        tables = TableFolder(Path(scratch))
        with contextlib.redirect_stderr(io.StringIO()):
            read_experiment(reader, _list_files(reader, [path]), Path("/"), tables.folder, Settings())
        return tables.read("rejects")["message"].to_list()


def _refuse_others(reader: Reader, path: Path) -> None:
    """Raise InputError for a file that by its name only another reader takes."""
    takers = [taker for taker in READERS if any(path.name == kind.session_file for kind in taker.kinds)]
    if takers and reader not in takers:
        raise InputError(f"`{takers[0].name}` reads {path.name}: type `ingest {takers[0].name} {path}`")


def _check_output(output: Path) -> None:
    """Raise InputError where nothing can be written, or a folder would be called as a file is; loads-6.12 is not."""
    ending = output.suffix
    if ending not in ENDINGS and ending and not ending[1:].isdecimal() and not output.is_dir():
        raise InputError(f"--output {output} ends in {ending}; name a file that ends in .parquet or .csv, or a folder")
    (check_file if ending in ENDINGS else check_folder)(output, "--output")


def _guess_format(word: str) -> str:
    """Return what to put behind a word that is not a format: the one meant, or that with such files, else all."""
    names = [reader.name for reader in READERS]
    for reader in READERS:
        shown = [name for kind in reader.kinds for name in (kind.name, *(content.format for content in kind.contents))]
        parts = {part for name in shown for part in name.split("-")}
        if word.lower() in {*parts, *reader.tables} or f"{word.lower()}s" in reader.tables:
            kinds = " and ".join(
                filter(None, (", ".join(kind.name for kind in reader.kinds[:-1]), reader.kinds[-1].name))
            )
            return f"; `{reader.name}` reads {kinds} files: type `ingest {reader.name} FILE`"
    return guess(word, names)


def _list_files(reader: Reader, files: Sequence[Path]) -> Manifest:
    """Return a manifest by which each file is a run of its own."""
    kinds = [_find_kind(reader, path) for path in files]
    runs = tuple(ManifestRun(_name_run(path), path.name, None, None) for path in files)
    listed = tuple(
        RawFile(
            raw_file_id=short_hash(str(path)),
            path=str(path.absolute()),
            kind=kind.name,
            format=None,
            size_bytes=path.stat().st_size,
            sha256="",
            action="ingest",
            rule=reader.rule,
            run_id=run.run_id,
            client_number=1,
            side="receiver" if "receiver" in path.name else "sender",
            host=path.name,
        )
        for path, kind, run in zip(files, kinds, runs, strict=True)
    )
    return Manifest("files", None, None, runs, listed)


def _name_run(path: Path) -> str:
    return f"files.{short_hash(str(path))}"


def _find_kind(reader: Reader, path: Path) -> Kind:
    """Return the kind that a file's name tells, else the first of the reader's that its content shows, or the first."""
    item = split_name(path.name)
    for kind in reader.kinds:
        is_named = kind.file_name is not None and kind.file_name.fullmatch(path.name)
        if is_named or path.name == kind.session_file or (item is not None and item.item in kind.items):
            return kind
    head = read_head(path)
    shown = (kind for kind in reader.kinds if any(content.is_shown_by(head) for content in kind.contents))
    return next(shown, reader.kinds[0])


def _show(rows: Mapping[str, pl.DataFrame]) -> None:
    """Print the first rows of each table, without the columns that are empty or are of an archive.

    A terminal is given as many columns as it has room for, a file or a pipe all of them.
    """
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    for table, frame in rows.items():
        told = [name for name in frame.columns if name not in OF_ARCHIVE and frame[name].null_count() < frame.height]
        lines = _align(frame.select(told))
        count = len(told)
        while room is not None and count > 1 and max(map(len, lines)) > room:
            count -= 1
            lines = _align(frame.select(told[:count]))
        print(f"{table}: {frame.height} {'row' if frame.height == 1 else 'rows'}", *lines, sep="\n")
        left_out = [
            f"{n} more {what}"
            for n, what in ((frame.height - SHOWN_ROWS, "rows"), (len(told) - count, "columns"))
            if n > 0
        ]
        if left_out:
            print(f"… {' and '.join(left_out)}: write them all with --output FOLDER")


def _align(frame: pl.DataFrame) -> list[str]:
    """Return a line of names and one for each of the first rows, aligned."""
    with pl.Config(
        tbl_rows=SHOWN_ROWS,
        tbl_cols=-1,
        tbl_width_chars=2**15,
        fmt_str_lengths=2**10,
        fmt_table_cell_list_len=-1,
        tbl_hide_dataframe_shape=True,
        tbl_hide_column_data_types=True,
        tbl_formatting="NOTHING",
    ):
        return [line.rstrip() for line in str(frame.head(SHOWN_ROWS)).splitlines()]


def _write(rows: Mapping[str, pl.DataFrame], output: Path) -> None:
    """Write tables where they were asked for, and say what was written."""
    if output.suffix not in ENDINGS:
        output.mkdir(parents=True, exist_ok=True)
    elif len(rows) > 1:
        raise InputError(f"these files make {len(rows)} tables ({', '.join(rows)}): give --output a folder")
    for table, frame in rows.items():
        path = output if output.suffix in ENDINGS else output / f"{table}.parquet"
        if path.suffix == ".csv":
            write_csv(frame.with_columns(_join_pairs(frame)), path)
        else:
            write_table(frame, table, path)
        print(f"{path}: {frame.height} {'row' if frame.height == 1 else 'rows'}")


def _join_pairs(frame: pl.DataFrame) -> list[pl.Expr]:
    """Return the columns that hold keys and values as text, `key=value; …`, which CSV has nothing else for."""
    pair = pl.format("{}={}", pl.element().struct.field("key"), pl.element().struct.field("value"))
    return [pl.col(name).list.eval(pair).list.join("; ") for name, kind in frame.schema.items() if kind == pl.List]
