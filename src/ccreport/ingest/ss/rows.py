"""Rows of `samples` on their way from the cells that the compiled reader of ss fills to a frame."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from ccreport.archive.manifest import RawFile
from ccreport.core.identifiers import flow_id_of_connection, normalise_address
from ccreport.core.tables import ARROW_TYPES, Column, TableSchema, load_schema
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.flows import FlowTable
from ccreport.ingest.ss.layout import Bytes, Ints, State
from ccreport.ingest.ss.owners import ALWAYS, Ends, Owners
from ccreport.ingest.ss.service_names import NAMED_PORTS
from ccreport.ingest.ss.tokens import SLOTS, columns_known_zero
from ccreport.ingest.ss.words import copy_spans

# About 20 MB of text in one row group; no power of two, or the lines of the cells share sets of the processor's cache.
CAPACITY: Final = 2**15 + 72
NOTES_CAPACITY: Final = 2**15
# Of a file without stamps the samples of a flow are numbered; the time of none is so small.
NUMBERS_END: Final = 10**12
# The kernel's counter has 32 bits; its last two values mean "not counted", in ss as in iperf3 (`plausible`).
NOT_COUNTED_FROM: Final = 2**32 - 2
FIXED_SLOTS: Final = {
    "time_utc": layout.TIME,
    "connection_number": layout.CONNECTION,
    "is_partial": layout.IS_PARTIAL,
    "recv_q_bytes": layout.RECV_Q,
    "send_q_bytes": layout.SEND_Q,
}


class Flow(NamedTuple):
    """What all samples of a flow share; `flow_id` is None where a port is a name that is not known here."""

    run_id: str
    flow_id: str | None
    raw_file_id: str
    local_address: str
    local_port: int | None
    remote_address: str
    remote_port: int | None


def to_arrow(values: npt.NDArray[Any]) -> pa.Array:
    """Return an array as Arrow's; `pa.array` would first import pandas, if there is one, for a third of a second."""
    return pl.Series(values).to_arrow()


@dataclass
class Extras:
    """Tokens without a column: the row, name and value of each."""

    rows: list[Ints] = field(default_factory=list)
    keys: list[pa.Array] = field(default_factory=list)
    values: list[pa.Array] = field(default_factory=list)

    def add(self, text: Bytes, notes: Ints) -> pa.Array:
        """Add the tokens of these notes; return their names, `group.name` in a group."""
        keys = _copy_texts(text, notes[:, layout.START], notes[:, layout.KEY_END])
        is_grouped = notes[:, layout.PREFIX_END] > notes[:, layout.PREFIX]
        if is_grouped.any():
            groups = _copy_texts(text, notes[:, layout.PREFIX], notes[:, layout.PREFIX_END])
            keys = pc.if_else(to_arrow(is_grouped), pc.binary_join_element_wise(groups, keys, "."), keys)
        self.rows.append(notes[:, layout.ROW].copy())
        self.keys.append(keys)
        self.values.append(_copy_texts(text, notes[:, layout.TEXT], notes[:, layout.END]))
        return keys

    def to_column(self, rows: int) -> pa.Array:
        """Return them as a column of maps."""
        counts = np.bincount(np.concatenate([np.zeros(0, np.int64), *self.rows]), minlength=rows)
        offsets = to_arrow(np.concatenate([[0], np.cumsum(counts)]).astype(np.int32))
        keys, values = (pa.concat_arrays([pa.nulls(0, pa.string()), *parts]) for parts in (self.keys, self.values))
        return pa.ListArray.from_arrays(offsets, pa.StructArray.from_arrays([keys, values], ["key", "value"]))


def _copy_texts(text: Bytes, starts: Ints, ends: Ints) -> pa.Array:
    starts, ends = np.ascontiguousarray(starts), np.ascontiguousarray(ends)
    offsets = np.concatenate([[0], np.cumsum(ends - starts)]).astype(np.int32)
    copy = np.empty(offsets[-1], np.uint8)
    copy_spans(text, starts, ends, copy)
    if copy.max(initial=0) < 128:
        return pa.StringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(copy))
    content = copy.tobytes()
    texts = [content[start:end].decode("utf-8", "backslashreplace") for start, end in pairwise(offsets)]
    return pa.array(texts, pa.string())


class SampleBatch:
    """Cells and notes for `parse_block`, and what the rows of each flow have in common.

    `owners` tell whose the connections are of files whose names do not.
    """

    def __init__(self, owners: Owners | None = None) -> None:
        self._owners = owners
        self.cells = np.zeros((layout.FIRST_SLOT + len(SLOTS), CAPACITY), np.int64)
        self.notes = np.zeros((NOTES_CAPACITY, layout.NOTE_FACTS), np.int64)
        self.rows = 0
        self.extras = Extras()
        self._flows: list[Flow] = []

    def clear(self) -> None:
        """Forget all rows; cells without a value are 0 again."""
        self.cells[:, : self.rows] = 0
        self.rows = 0
        self.extras = Extras()
        self._flows = []

    def keep_last(self, end: int) -> None:
        """Leave out all rows since the last `seal` but the last of each connection."""
        rows = slice(self.rows, end)
        connections = self.cells[layout.FLOW, rows] * 2**32 + self.cells[layout.CONNECTION, rows]
        _, from_end = np.unique(connections[::-1], return_index=True)
        is_left_out = np.ones(end - rows.start, np.int64)
        is_left_out[end - rows.start - 1 - from_end] = 0
        self.cells[layout.IS_LEFT_OUT, rows] |= is_left_out

    def seal(self, file: RawFile, state: State, table: FlowTable) -> list[str]:
        """Finish the rows added since the last call, all of this file: what is absent but zero, and their flows.

        Return the addresses that make no flow; their rows are left out, as are those of connections of no run.
        """
        rows = slice(self.rows, int(state.rows))
        self._fill_zeros(rows, sum(int(word) % 2**64 << 64 * place for place, word in enumerate(state.seen)))
        numbers, places = np.unique(self.cells[layout.FLOW, rows], return_inverse=True)
        self.cells[layout.FLOW, rows] = places + len(self._flows)
        lengths = table.flows[numbers, layout.TEXT_LENGTH]
        texts = [table.texts[number, :length].tobytes() for number, length in zip(numbers, lengths, strict=True)]
        addresses = [text.decode("ascii", "backslashreplace") for text in texts]
        flows = [_describe_flow(file, text) for text in addresses]
        strangers: set[int] = set()
        if file.run_id is None and self._owners is not None:
            strangers = self._find_owners(rows, places, flows, self._owners)
        is_none = [
            flow.flow_id is None or table.ids.setdefault(flow.flow_id, number) != number
            for flow, number in zip(flows, numbers.tolist(), strict=True)
        ]
        self.cells[layout.IS_LEFT_OUT, rows] |= np.array(is_none, np.int64)[places]
        self._flows += flows
        self.rows = rows.stop
        return [text for place, text in enumerate(addresses) if is_none[place] and place not in strangers]

    def _find_owners(self, rows: slice, places: Ints, flows: list[Flow], owners: Owners) -> set[int]:
        """Give the flows their runs, and return the places of those of none; rows of other times are left out."""
        times = self.cells[layout.TIME, rows]
        first, last = np.full(len(flows), ALWAYS[1]), np.full(len(flows), ALWAYS[0])
        np.minimum.at(first, places, times)
        np.maximum.at(last, places, times)
        spans = np.array([ALWAYS] * len(flows), np.int64).reshape(-1, 2)
        strangers = set()
        for number, flow in enumerate(flows):
            span = (int(first[number]), int(last[number])) if first[number] >= NUMBERS_END else None
            owner = owners.find(_ends_of(flow), span, flow.raw_file_id)
            if owner is None:
                strangers.add(number)
                flows[number] = flow._replace(flow_id=None)
                continue
            flow_id = flow_id_of_connection(owner.run_id, *_ends_of(flow))
            flows[number] = flow._replace(run_id=owner.run_id, flow_id=flow_id)
            if span is not None:
                spans[number] = owner.first_us, owner.last_us
        is_outside = (times < spans[places, 0]) | (times > spans[places, 1])
        self.cells[layout.IS_LEFT_OUT, rows] |= is_outside.astype(np.int64)
        return strangers

    def _fill_zeros(self, rows: slice, seen: int) -> None:
        """Mark the cells as known (they hold 0) where a missing value means zero, but not in a cut line."""
        is_whole = self.cells[layout.IS_PARTIAL, rows] == 0
        for place, known in enumerate(_zero_bits(seen)):
            bits = known & ~self.cells[layout.BAD + place, rows]
            self.cells[layout.HAS + place, rows] |= np.where(is_whole, bits, 0)

    def to_frame(self) -> pl.DataFrame:
        """Return the sealed rows as a frame of the table `samples`; they share memory with the cells."""
        schema = load_schema("samples")
        arrays = {"extra": self.extras.to_column(self.rows)} | self._arrays(schema)
        words = [self._words("tcp_state", layout.STATE_HEAD), self._words("cc", layout.CC_HEAD)]
        flows = pl.DataFrame(self._flows, {name: _type_of(name) for name in Flow._fields}, orient="row")
        of_rows = flows[self.cells[layout.FLOW, : self.rows]]
        frame = pl.DataFrame(pa.table(arrays)).hstack(words).hstack(of_rows).select(list(schema.polars))
        is_kept = self.cells[layout.IS_LEFT_OUT, : self.rows] == 0
        return frame if is_kept.all() else frame.filter(is_kept)

    def _arrays(self, schema: TableSchema, leave_out: Collection[str] = ()) -> dict[str, pa.Array]:
        """Return the columns of a table that have a line of cells, as arrays by name."""
        masks = self.cells[layout.HAS : layout.HAS + 2, : self.rows].view(np.uint64)
        arrays = {}
        for column in schema.columns:
            slot = FIXED_SLOTS.get(column.name, SLOTS.get(column.name))
            if slot is not None and column.name not in leave_out:
                is_valid = (masks[slot >> 6] >> np.uint64(slot & 63) & np.uint64(1)).astype(np.bool_)
                if column.name == "time_utc":
                    is_valid = self.cells[slot, : self.rows] >= NUMBERS_END
                elif column.name == "retransmits_ss_count":
                    is_valid &= self.cells[slot, : self.rows] < NOT_COUNTED_FROM
                arrays[column.name] = self._to_array(column, slot, is_valid)
        return arrays

    def _to_array(self, column: Column, slot: int, is_valid: npt.NDArray[np.bool_]) -> pa.Array:
        cells = self.cells[slot, : self.rows]
        values = np.packbits(cells != 0, bitorder="little") if column.type == "bool" else cells
        bits = pa.py_buffer(np.packbits(is_valid, bitorder="little")) if column.nullable else None
        return pa.Array.from_buffers(ARROW_TYPES[column.type], self.rows, [bits, pa.py_buffer(values)])

    def _words(self, name: str, slot: int) -> pl.Series:
        """Return the names that are packed in two lines of the cells; none is null."""
        packed = pl.DataFrame({"head": self.cells[slot, : self.rows], "tail": self.cells[slot + 1, : self.rows]})
        distinct = packed.unique(maintain_order=True)
        words = [
            b"".join(part.to_bytes(8, "big").lstrip(b"\0") for part in parts).decode() or None
            for parts in distinct.rows()
        ]
        distinct = distinct.with_columns(pl.Series(name, words, pl.String))
        return packed.join(distinct, on=["head", "tail"], how="left", maintain_order="left")[name]


@cache
def _zero_bits(seen: int) -> tuple[np.int64, np.int64]:
    """Return one bit for each slot in which a missing value means zero, as the two words of HAS."""
    known = sum(1 << SLOTS[column] for column in columns_known_zero(seen))
    low, high = np.uint64(known % 2**64), np.uint64(known >> 64)
    return low.view(np.int64), high.view(np.int64)


def _type_of(column: str) -> pl.DataType:
    return load_schema("samples").polars[column]


def _describe_flow(file: RawFile, text: str) -> Flow:
    """Return what the samples of the flow `10.0.0.1:43802 10.0.0.2:5201 ` share."""
    local, remote, _ = text.split(" ")
    local_name, _, local_port_name = local.rpartition(":")
    remote_name, _, remote_port_name = remote.rpartition(":")
    local_port, remote_port = _read_port(local_port_name), _read_port(remote_port_name)
    run_id = file.run_id or ""
    flow_id = None
    if local_port is not None and remote_port is not None:
        flow_id = flow_id_of_connection(run_id, local_name, local_port, remote_name, remote_port)
    local_address, remote_address = normalise_address(local_name), normalise_address(remote_name)
    return Flow(run_id, flow_id, file.raw_file_id, local_address, local_port, remote_address, remote_port)


def _ends_of(flow: Flow) -> Ends:
    return flow.local_address, flow.local_port or 0, flow.remote_address, flow.remote_port or 0


def _read_port(name: str) -> int | None:
    return int(name) if name.isdigit() else NAMED_PORTS.get(name)
