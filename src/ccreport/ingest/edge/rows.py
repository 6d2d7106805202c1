"""Rows of `connections` on their way from the cells of the compiled reader of ss to a frame.

As `SampleBatch`, but without anything that is done in Python for each flow: a dump has as many flows as rows.
"""

import math
from typing import Final

import numpy as np
import polars as pl
import pyarrow as pa

from ccreport.archive.manifest import RawFile
from ccreport.core.tables import load_schema
from ccreport.ingest.edge.paths import EdgePlace
from ccreport.ingest.ss import layout
from ccreport.ingest.ss.flows import FlowTable
from ccreport.ingest.ss.layout import Bytes, Ints, State
from ccreport.ingest.ss.rows import SampleBatch
from ccreport.ingest.ss.service_names import NAMED_PORTS

# `10.0.0.1:43802 10.0.0.2:5201 `, as `FlowTable` keeps it.
ADDRESSES: Final = r"^([0-9A-Fa-f.:]+):([0-9a-z-]+) ([0-9A-Fa-f.:]+):([0-9a-z-]+) $"
ENDS: Final = ("local_address", "local_port", "remote_address", "remote_port")
NO_TIME: Final = 0
PORT_TEXTS: Final = {name: str(port) for name, port in NAMED_PORTS.items()}
# A token of `ss -e`: the cookie by which the kernel knows a socket as long as it lives.
SOCKET_COOKIE: Final = "sk"


class EdgeBatch(SampleBatch):
    """Cells and notes for `parse_block`, and the connections that they are of."""

    def __init__(self) -> None:
        super().__init__()
        self._connections: list[pl.DataFrame] = []
        self._connections_count = 0
        self.place = EdgePlace(None, None, None, None)

    def clear(self) -> None:
        """Forget all rows."""
        super().clear()
        self._connections = []
        self._connections_count = 0

    def seal(self, file: RawFile, state: State, table: FlowTable) -> list[str]:
        """Finish the rows added since the last call, all of this file, which is at `place`.

        Return the addresses that are none; their rows are left out.
        """
        rows = slice(self.rows, int(state.rows))
        self._fill_zeros(rows, sum(int(word) % 2**64 << 64 * place for place, word in enumerate(state.seen)))
        numbers, places = np.unique(self.cells[layout.FLOW, rows], return_inverse=True)
        self.cells[layout.FLOW, rows] = places + self._connections_count
        texts = _to_texts(table.texts[numbers], table.flows[numbers, layout.TEXT_LENGTH])
        connections = _split_addresses(texts).with_columns(
            raw_file_id=pl.lit(file.raw_file_id),
            **{"cc_of_path" if name == "cc" else name: value for name, value in self.place.columns.items()},
        )
        is_none = pl.any_horizontal(pl.col(name).is_null() for name in ENDS)
        left_out = connections.select(is_none).to_series()
        self.cells[layout.IS_LEFT_OUT, rows] |= left_out.to_numpy().astype(np.int64)[places]
        self._connections.append(connections)
        self._connections_count += len(numbers)
        self.rows = rows.stop
        return texts.filter(left_out).to_list()

    def to_frame(self) -> pl.DataFrame:
        """Return the sealed rows as a frame of the table `connections`, all of them the last of their connection."""
        schema = load_schema("connections")
        times = pl.Series("time_utc", self.cells[layout.TIME, : self.rows]).replace(NO_TIME, None)
        words = [self._words("tcp_state", layout.STATE_HEAD), self._words("cc", layout.CC_HEAD)]
        frame = pl.DataFrame(pa.table(self._arrays(schema, leave_out=("time_utc",))))
        frame = frame.with_columns(times.cast(schema.polars["time_utc"]), self._socket_ids(), *words)
        if self._connections:
            frame = frame.hstack(pl.concat(self._connections)[self.cells[layout.FLOW, : self.rows]])
            frame = frame.with_columns(pl.col("cc").fill_null(pl.col("cc_of_path")))
        frame = frame.with_columns(
            is_last=pl.lit(value=True),
            # The kernel counts a SYN that is sent again, but not the SYN itself, so that few segments make no ratio.
            retransmit_ratio=_share("retransmits_ss_count", "data_segments_out_count", most=1.0),
            rwnd_limited_ratio=_share("rwnd_limited_ms", "busy_ms").clip(upper_bound=1.0),
        )
        is_kept = pl.Series(self.cells[layout.IS_LEFT_OUT, : self.rows] == 0)
        return frame.filter(is_kept).select(list(schema.polars)) if self._connections else pl.DataFrame()

    def _socket_ids(self) -> pl.Series:
        """Return the cookies of the sockets, null where `ss` was called without `-e`."""
        ids = np.full(self.rows, None, object)
        for rows, keys, values in zip(self.extras.rows, self.extras.keys, self.extras.values, strict=True):
            is_cookie = pl.Series(keys) == SOCKET_COOKIE
            ids[rows[is_cookie.to_numpy()]] = pl.Series(values).filter(is_cookie).to_numpy()
        # Of an array of objects polars takes the type from the first, which may be none.
        return pl.Series("socket_id", ids.tolist(), pl.String)


def _share(part: str, whole: str, most: float = math.inf) -> pl.Expr:
    share = pl.col(part) / pl.col(whole)
    return pl.when((pl.col(whole) > 0) & (share <= most)).then(share)


def _to_texts(rows: Bytes, lengths: Ints) -> pl.Series:
    """Return the first bytes of each row as a text; a byte that is no ASCII becomes a question mark."""
    kept = rows[np.arange(rows.shape[1]) < lengths[:, None]]
    kept = np.where(kept < 128, kept, ord("?")).astype(np.uint8)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    array = pa.StringArray.from_buffers(len(lengths), pa.py_buffer(offsets), pa.py_buffer(kept))
    return pl.Series("addresses", array, pl.String)


def _split_addresses(texts: pl.Series) -> pl.DataFrame:
    """Return local and remote address and port of each text, null where it is not a connection."""
    fields = texts.str.extract_groups(ADDRESSES).struct.rename_fields(list(ENDS)).struct.unnest()
    ports = pl.col("local_port", "remote_port")
    typed = fields.with_columns(ports.cast(pl.Int64, strict=False))
    if typed["local_port"].null_count() + typed["remote_port"].null_count() > 2 * fields["local_port"].null_count():
        typed = fields.with_columns(ports.replace(PORT_TEXTS).cast(pl.Int64, strict=False))
    return typed
