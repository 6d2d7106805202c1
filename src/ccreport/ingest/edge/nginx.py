"""Access logs of nginx into the `web_requests` table: bytes and time of each answer, hence its goodput.

What a line holds is declared as in nginx's own configuration, `log_format` (ngx_http_log_module): literal text and
variables such as `$body_bytes_sent`. So JSON lines are a format like any other. nginx writes a quote inside a variable
as `\\x22` or, in JSON, `\\"`, so a variable ends where the literal behind it begins. A missing number is `-`.
"""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, iterate_blocks
from ccreport.core.configuration import LOG_SIZES, LOG_VARIABLE, find_log_format_problem
from ccreport.core.errors import InputError
from ccreport.core.tables import EARLIEST, LATEST, TableWriter
from ccreport.ingest.edge.paths import EdgePlace, compile_layout, read_place
from ccreport.ingest.reading import Reading
from ccreport.ingest.rejects import Problems, Rejects

BLOCK_BYTES: Final = 16 * 2**20
# ASSUME: a line is no longer than this; nginx limits a request's header to 32 kB by default.
LINE_LIMIT_BYTES: Final = 2**20
# No request is that long; more is not a number of bytes, and 8 times as much not a 64-bit number.
MOST_BYTES: Final = 2**53
# nginx logs whole milliseconds; a shorter time is 0 or broken, and its quotients have no finite sum.
LEAST_TIME_S: Final = 1e-6
# What the table is made of; other variables are skipped.
TIMES: Final = ("msec", "time_iso8601", "time_local")
READ: Final = (*TIMES, *LOG_SIZES, "request_time", "status")
BAD_LINE: Final = ("malformed_record", "`{}` is not a line of the declared format; it is left out")
SETTING: Final = "edge.access_log_format, or --access-log-format of `ingest`"


class LogFormatError(InputError):
    """The declared format of access logs cannot be used."""


def read_access_logs(reading: Reading) -> None:
    """Write the requests of one folder of access logs.

    The setting `access_log_format` is an nginx `log_format`, `edge_paths` the layout of the paths (`paths.py`). Raise
    LogFormatError where the format lacks bytes or time of a request, or leaves open where a variable ends.
    """
    pattern = compile_format(reading.settings.access_log_format)
    layout = compile_layout(reading.settings.edge_paths)
    with reading.open("web_requests") as writer:

        def read(file: RawFile) -> None:
            place = read_place(file.path, layout)
            _read_file(file, reading.root / file.path, pattern, place, writer, reading.rejected)

        reading.read_each(read)


def compile_format(log_format: str) -> re.Pattern[str]:
    """Return a regular expression for a line, with the variables that are read as named groups.

    No variable gives back what it took, so that a line is read in one pass, whatever is in it.
    """
    pieces, position, seen = [], 0, set()
    matches = list(LOG_VARIABLE.finditer(log_format))
    for number, match in enumerate(matches):
        name = match["braced"] or match["bare"]
        pieces.append(re.escape(log_format[position : match.start()]))
        following = matches[number + 1].start() if number + 1 < len(matches) else len(log_format)
        content = _content_before(log_format[match.end() : following], name, is_last=number + 1 == len(matches))
        pieces.append(f"(?P<{name}>{content})" if name in READ and name not in seen else f"(?:{content})")
        seen.add(name)
        position = match.end()
    pieces.append(re.escape(log_format[position:]))
    if fault := find_log_format_problem(log_format):
        raise LogFormatError(f"{SETTING}: {fault}")
    return re.compile(f"^{''.join(pieces)}\\r?$", re.MULTILINE)


def _content_before(literal: str, name: str, *, is_last: bool) -> str:
    """Return the expression for a variable that this literal follows: all but its first character.

    Of a request that several servers were asked for, `$upstream_…` has a value of each: `0.100, 0.200 : 0.300`.
    """
    if not literal:
        if not is_last:
            raise LogFormatError(f"{SETTING}: it has two variables side by side; put a character between them")
        return ".*"
    first = literal[0]
    if first == '"':
        return r'[^"\\\n]*+(?:\\.[^"\\\n]*+)*+'
    if name.startswith("upstream_") and not literal.startswith((", ", " : ")):
        item = rf"(?:[^{re.escape(first)},\n]|,(?! ))*+" if first != "," else r"[^,\n]*+"
        return f"{item}(?:(?:, | : ){item})*+"
    return rf"[^{re.escape(first)}\n]*+"


def _read_file(
    file: RawFile, path: Path, pattern: re.Pattern[str], place: EdgePlace, writer: TableWriter, rejected: Rejects
) -> None:
    problems, failure = Problems(), None
    lines = kept = offset = 0
    try:
        for block in _cut_lines(iterate_blocks(path, BLOCK_BYTES)):
            # A byte that is no UTF-8 becomes a replacement character.
            text = block.decode("utf-8", "replace")
            requests = _read_lines(text, pattern).with_row_index("line_number", lines + 1)
            is_read = requests["answer_bytes"].is_not_null() & requests["request_s"].is_not_null()
            _note_bad_lines(text, is_read, lines, problems)
            found = requests.filter(is_read).with_columns(
                raw_file_id=pl.lit(file.raw_file_id),
                **place.columns,
            )
            if found.height:
                writer.write(found)
            lines, kept, offset = lines + requests.height, kept + found.height, offset + len(block.strip())
    except RawFileError as error:
        failure = error
    if not kept:
        raise failure or _explain(lines, offset)
    if failure:
        problems.add_error(failure)
    problems.write(file, rejected)


def _explain(lines: int, size: int) -> RawFileError:
    if not size:
        return RawFileError("empty", "the file is empty; no request was logged")
    message = f"none of its {lines} lines is of the declared format; set {SETTING} to nginx's log_format"
    return RawFileError("no_measurement", message)


def _cut_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield blocks that end with a line; an error of the blocks is raised behind the last."""
    rest, failure = b"", None
    try:
        for block in blocks:
            whole, newline, tail = block.rpartition(b"\n")
            if newline:
                yield rest + whole + newline
                rest = tail
            else:
                rest += tail
            if len(rest) > LINE_LIMIT_BYTES:
                raise RawFileError("not_text", f"a line longer than {LINE_LIMIT_BYTES} bytes; is it an access log?")
    except RawFileError as error:
        failure = error
    if rest.strip():
        yield rest + b"\n"
    if failure:
        raise failure


def _read_lines(text: str, pattern: re.Pattern[str]) -> pl.DataFrame:
    """Return time, status, bytes, seconds and goodput of each line of a text, null where it does not match."""
    names = list(pattern.groupindex)
    found = pattern.findall(text)
    if len(found) != text.count("\n"):
        # As seldom as bad lines are; so that each line is in its place.
        nothing = (None,) * len(names)
        matches = map(pattern.fullmatch, text.split("\n")[:-1])
        found = [match.groups() if match else nothing for match in matches]
    columns = zip(*found, strict=True) if found else [()] * len(names)
    fields = pl.DataFrame(
        {name: pl.Series(column, dtype=pl.String) for name, column in zip(names, columns, strict=True)}
    )
    absent = [name for name in READ if name not in fields.columns]
    fields = fields.with_columns(pl.lit(None, pl.String).alias(name) for name in absent)
    size = pl.coalesce(pl.col(name).cast(pl.Int64, strict=False) for name in LOG_SIZES)
    seconds = pl.col("request_time").cast(pl.Float64, strict=False)
    status = pl.col("status").cast(pl.Int64, strict=False)
    requests = fields.select(
        logged_utc=_read_times(fields),
        status=pl.when(status.is_between(0, 999)).then(status),
        answer_bytes=pl.when(size.is_between(0, MOST_BYTES)).then(size),
        request_s=pl.when(seconds.is_finite() & (seconds >= 0)).then(seconds),
    )
    goodput = pl.col("answer_bytes") * 8.0 / pl.col("request_s")
    return requests.with_columns(request_goodput_bps=pl.when(pl.col("request_s") >= LEAST_TIME_S).then(goodput))


def _read_times(fields: pl.DataFrame) -> pl.Series:
    """Return the first time that a line tells; a text of a time is read once, since many lines share one."""
    micros = (fields["msec"].cast(pl.Decimal(20, 6), strict=False) * 1_000_000).cast(pl.Int64, strict=False)
    parts = [micros.cast(pl.Datetime("us", "UTC"))]
    for name, style in (("time_iso8601", "%Y-%m-%dT%H:%M:%S%:z"), ("time_local", "%d/%b/%Y:%H:%M:%S %z")):
        texts = fields[name].unique().drop_nulls()
        times = texts.str.to_datetime(style, time_unit="us", time_zone="UTC", strict=False)
        known = pl.DataFrame({name: texts, "time": times})
        parts.append(fields.select(name).join(known, on=name, how="left", maintain_order="left")["time"])
    time = pl.coalesce(parts)
    return pl.select(pl.when(time.is_between(EARLIEST, LATEST)).then(time)).to_series()


def _note_bad_lines(text: str, is_read: pl.Series, before: int, problems: Problems) -> None:
    if is_read.all():
        return
    lines = pl.Series("line", text.split("\n")[:-1]).to_frame().with_row_index("line_number", before + 1)
    for number, line in lines.filter(~is_read & (pl.col("line").str.strip_chars() != "")).rows():
        problems.add(BAD_LINE, line.encode(), None, number)
