"""One dump of `ss -neit`: as an ss file, but its name may tell the time in place of stamps."""

from typing import Final

from ccreport.archive.manifest import RawFile
from ccreport.archive.raw_file import RawFileError
from ccreport.core.tables import TableWriter
from ccreport.ingest.edge.rows import NO_TIME, EdgeBatch
from ccreport.ingest.ss.file import SsFile

MICROSECONDS: Final = 1_000_000


class EdgeFile(SsFile):
    """One file that is read block by block into a batch, which goes to the writer when it is full."""

    def __init__(self, file: RawFile, batch: EdgeBatch, writer: TableWriter) -> None:
        super().__init__(file, batch, writer)
        time_utc = batch.place.time_utc
        self._state.now = NO_TIME if time_utc is None else round(time_utc.timestamp() * MICROSECONDS)

    def _explain(self) -> RawFileError:
        """Say why there is not one connection."""
        if self._offset and not self._has_nul:
            message = "no connected TCP socket with information in it; record with ss -neit"
            return RawFileError("no_measurement", message)
        return super()._explain()
