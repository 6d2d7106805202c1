"""One ss file: its text in blocks through the compiled reader, and what became of it."""

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np
import polars as pl

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError, iterate_blocks
from ccreport.core.tables import TableWriter
from ccreport.core.text import count_things, display_name
from ccreport.ingest.rejects import Problems, Rejects
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.flows import FlowTable
from ccreport.ingest.ss.layout import Ints
from ccreport.ingest.ss.owners import Owners
from ccreport.ingest.ss.parse_sockets import parse_block
from ccreport.ingest.ss.problem_kinds import BAD_FLOW, KINDS
from ccreport.ingest.ss.rows import SampleBatch, to_arrow
from ccreport.ingest.ss.tokens import token_table

BLOCK_BYTES: Final = 8 * 2**20
# ASSUME: in a file without line breaks or stamps, a record is no longer than this; what is gets cut.
BLOCK_LIMIT_BYTES: Final = 64 * 2**20
NAMES_LIMIT: Final = 1000
NAMES_SHOWN: Final = 20
# # 1795211351.663251
STAMP: Final = re.compile(rb"# *\d{9,10}\b")
FORM: Final = (
    "record `ss -tinm`, which prints lines such as `ESTAB 0 0 10.0.0.1:43802 10.0.0.2:5201` with an indented line of "
    "information below each (`cubic wscale:7,7 … cwnd:10 …`), and before each call a stamp: `date '+# %s.%N'`"
)
TIMELESS: Final = (
    "no time stamp such as `# 1795211351.663251` in it: the last sample of each connection is used, at an unknown "
    "time; print one before each call of ss: `date '+# %s.%N'`"
)

NAME: Final = (
    "name the file ss:<host>:<iteration> as its test's src-cmd:<host>:<iteration>, in the same folder, or give it a "
    "pattern with `kind: ss` in a layout"
)
STRANGERS: Final = f"of no test, or not clearly of one, left out; {NAME}"


class SsFile:
    """One file that is read block by block into a batch, which goes to the writer when it is full."""

    def __init__(self, file: RawFile, batch: SampleBatch, writer: TableWriter, owners: Owners | None = None) -> None:
        self._file = file
        self._owners = owners if file.run_id is None else None
        self._batch = batch
        self._writer = writer
        self._state = layout.make_state(batch.rows)
        self._flows = FlowTable()
        self._problems = Problems()
        self._unknown: Counter[str] = Counter()
        self._offset = self._lines = self._samples = 0
        self._has_nul = self._is_timeless = False
        self._left_out = ""
        self._stamps = [np.zeros(0, np.int64)]

    def read(self, path: Path, rejected: Rejects) -> None:
        """Read the whole file; raise RawFileError if nothing of it can be used."""
        failure = None
        try:
            for block, end, is_last in cut_blocks(iterate_blocks(path)):
                self._read_block(block, end, is_last)
        except RawFileError as error:
            failure = error
        self._seal()
        if not self._samples:
            raise failure or self._explain()
        if failure:
            self._problems.add_error(failure)
        if self._is_timeless:
            self._problems.add_error(RawFileError("repaired", TIMELESS))
        strangers = self._owners.count_notable(self._file.raw_file_id) if self._owners else 0
        if strangers:
            self._problems.add_error(RawFileError("no_run", f"{count_things(strangers, 'connection')} {STRANGERS}"))
        self._problems.write(self._file, rejected)
        self._report_unknown()

    def list_stamps(self) -> pl.DataFrame:
        """Return the rows of `sample_stamps` of what was read."""
        times = pl.from_epoch(pl.Series(np.unique(np.concatenate(self._stamps))), "us").dt.replace_time_zone("UTC")
        return pl.DataFrame({"raw_file_id": self._file.raw_file_id, "time_utc": times})

    def _explain(self) -> RawFileError:
        """Say why there is not one sample."""
        if not self._offset:
            return RawFileError("empty", "the file is empty; ss was not started, or its output not kept")
        if self._owners and (strangers := self._owners.strangers[self._file.raw_file_id]):
            return RawFileError("no_run", f"no connection is clearly of one test, of {len(strangers)}; {NAME}")
        if self._has_nul:
            return RawFileError("not_text", "the file is not text; is it the output of ss?")
        if self._left_out:
            message = f"no sample has ports with numbers or well-known names (`{display_name(self._left_out.strip())}`)"
            return RawFileError("no_measurement", f"{message}; record with ss -n")
        if not self._state.stamps:
            return RawFileError("no_measurement", f"no connected TCP socket with information in it; {FORM}")
        message = f"{self._state.stamps} time stamps, but no connected TCP socket with information matched"
        return RawFileError("no_measurement", f"{message}; check the filter that ss was called with, and -i")

    def _read_block(self, block: bytes, end: int, is_last: bool) -> None:
        # The file's name may tell its time, as those of dumps do.
        if not self._offset and self._state.now == layout.ABSENT and STAMP.search(block) is None:
            self._is_timeless = True
            self._state.now, self._state.is_timeless = 0, 1
        text = np.frombuffer(block, np.uint8)
        newlines = np.flatnonzero(text[:end] == layout.NEWLINE)
        glued = find_glued_stamps(block, end)
        breaks = np.sort(np.concatenate([newlines, glued])) if len(glued) else newlines
        cells, notes, state = self._batch.cells, self._batch.notes, self._state
        self._has_nul = self._has_nul or b"\0" in block
        state.line_break = position = 0
        while position < end:
            first = int(state.rows)
            position = parse_block(text, position, end, is_last, breaks, token_table(), cells, notes, state)
            self._flows.track(text, first, cells, notes, state)
            self._take_marked(block, newlines, slice(first, int(state.rows)))
            self._take_notes(block, newlines)
            if state.rows == cells.shape[1]:
                self._seal()
                self._writer.write(self._batch.to_frame())
                self._batch.clear()
                state.rows = 0
        self._offset += end
        self._lines += len(newlines)

    def _take_marked(self, block: bytes, newlines: Ints, rows: slice) -> None:
        """Take up the new rows that were found to be cut or doubled."""
        cells = self._batch.cells[:, rows]
        for row in np.flatnonzero(cells[layout.IS_PARTIAL] | cells[layout.IS_LEFT_OUT]).tolist():
            local, end, cut = (int(cells[slot, row]) for slot in (layout.LOCAL, layout.PEER_END, layout.OPEN_END))
            if cells[layout.IS_LEFT_OUT, row]:
                self._add_problem(layout.DOUBLED, block, newlines, local, end, local)
            else:
                self._add_problem(layout.CUT, block, newlines, local, end, cut if cut >= 0 else end)

    def _take_notes(self, block: bytes, newlines: Ints) -> None:
        """Take up the tokens without a column, and what could not be read."""
        notes = self._batch.notes[: self._state.notes]
        self._state.notes = 0
        if not len(notes):
            return
        kinds = notes[:, layout.KIND]
        for kind, _, start, end in notes[kinds > layout.UNKNOWN_TOKEN, : layout.PREFIX].tolist():
            self._add_problem(kind, block, newlines, start, end, start)
        self._stamps.append(notes[kinds == layout.STAMP, layout.TEXT])
        tokens = notes[(kinds == layout.KEPT_TOKEN) | (kinds == layout.UNKNOWN_TOKEN)]
        names = self._batch.extras.add(np.frombuffer(block, np.uint8), tokens)
        unknown = names.filter(to_arrow(tokens[:, layout.KIND] == layout.UNKNOWN_TOKEN))
        for pair in unknown.value_counts().to_pylist():
            is_listed = pair["values"] in self._unknown or len(self._unknown) < NAMES_LIMIT
            self._unknown[pair["values"] if is_listed else "others"] += pair["counts"]

    def _add_problem(self, kind: int, block: bytes, newlines: Ints, start: int, end: int, place: int) -> None:
        line = self._lines + int(np.searchsorted(newlines, place)) + 1
        self._problems.add(KINDS[kind], block[start:end], self._offset + place, line)

    def _seal(self) -> None:
        """Finish the rows that this file added to the batch."""
        first = self._batch.rows
        if self._state.is_timeless:
            self._batch.keep_last(int(self._state.rows))
            # What a full batch leaves of such a file is about its flows' past.
            self._state.is_timeless = 0
        for addresses in self._batch.seal(self._file, self._state, self._flows):
            self._problems.add(BAD_FLOW, addresses.encode())
            self._left_out = self._left_out or addresses
        left_out = self._batch.cells[layout.IS_LEFT_OUT, first : self._batch.rows]
        self._samples += len(left_out) - int(left_out.sum())

    def _report_unknown(self) -> None:
        if self._unknown:
            names = sorted(self._unknown)
            shown = ", ".join(display_name(name) for name in names[:NAMES_SHOWN])
            more = f" and {len(names) - NAMES_SHOWN} other names" if len(names) > NAMES_SHOWN else ""
            count = sum(self._unknown.values())
            print(
                f"{display_name(self._file.path)}: {count} unknown tokens, kept in `extra`: {shown}{more}",
                file=sys.stderr,
            )


def compile_reader() -> None:
    """Compile the reader, which takes some 10 s once for each version of its source, so that no job has to."""
    batch, nothing = SampleBatch(), np.zeros(0, np.int64)
    text = np.frombuffer(b"\n", np.uint8)
    state = layout.make_state(0)
    parse_block(text, 0, 0, True, nothing, token_table(), batch.cells, batch.notes, state)
    state.rows = 1
    FlowTable().track(text, 0, batch.cells, batch.notes, state)
    batch.extras.add(text, batch.notes[:1])


def cut_blocks(pieces: Iterable[bytes]) -> Iterator[tuple[bytes, int, bool]]:
    """Yield the text of a file in blocks, each with where to stop in it, and whether it is the last.

    A block stops where a stamp begins, else where a socket can; what follows it begins the next one. An error of
    the pieces is raised behind the last block.
    """
    failure = None
    parts: list[bytes] = []
    size, wanted = 0, BLOCK_BYTES
    try:
        for piece in pieces:
            parts.append(piece)
            size += len(piece)
            if size >= wanted:
                block = b"".join(parts)
                end = find_cut(block) or (size if size >= BLOCK_LIMIT_BYTES else 0)
                if end:
                    yield block, end, False
                parts = [block[end:]]
                size -= end
                wanted = max(BLOCK_BYTES, 2 * size)
    except RawFileError as error:
        failure = error
    if size:
        yield b"".join(parts), size, True
    if failure:
        raise failure


def find_cut(block: bytes) -> int:
    """Return where the last stamp of a block begins, else its last line that is not indented, else 0."""
    stamp = block.rfind(b"# ")
    if stamp > 0 and block[stamp + 2 : stamp + 3].isdigit():
        return stamp
    newline = len(block)
    while (newline := block.rfind(b"\n", 0, newline)) > 0:
        if block[newline + 1 : newline + 2].strip():
            return newline + 1
    return 0


def find_glued_stamps(block: bytes, end: int) -> Ints:
    """Return where block[:end] has a `#` that does not begin a line."""
    glued = []
    place = block.find(b"#", 1, end)
    while place > 0:
        if block[place - 1] != layout.NEWLINE:
            glued.append(place)
        place = block.find(b"#", place + 1, end)
    return np.array(glued, np.int64)
