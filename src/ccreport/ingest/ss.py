"""Samples of TCP sockets by `ss` (iproute2 4.9 to 7.1) into the `samples` table.

The test harness appends to one file, every half second or so, a stamp and the output of `ss -tinm` or `ss -neit`:

    # 1795211351.663251
    State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
    ESTAB 0      0          127.0.0.1:48238    127.0.0.1:6300
             skmem:(r0,rb131072,…) bbr wscale:10,10 rto:204 rtt:0.032/0.015 … minrtt:0.008

Columns of the first line are missing (State, where ss filters for one; the header, with -H) or added (Netid, and tails
such as `timer:(on,204ms,0)`); with -O both lines are one. iproute2 5.3 and 5.4 glue the next stamp to the last line. A
stopped ss leaves half a line. Written down in iproute2's `misc/ss.c`; which token is what stands in `ss_columns`.
"""

from pathlib import Path

from ccreport.raw import RawFileError, read_manifest
from ccreport.rejects import Rejects
from ccreport.tables import TableWriter


def ingest_ss(manifest: Path, root: Path, samples: Path, rejects: Path) -> None:
    """Write the ss samples of one experiment, and what could not be used of its ss files.

    Rows stand in the order of the files, then as printed. Names the tokens without a column on stderr.
    """
    rejected = Rejects()
    files = read_manifest(manifest).files_for("ingest_ss")
    with TableWriter("samples", samples) as writer:
        if files:
            # Here, because numba takes half a second to load.
            from ccreport.ingest.ss_batch import SampleBatch  # noqa: PLC0415
            from ccreport.ingest.ss_file import SsFile  # noqa: PLC0415

            batch = SampleBatch()
            for file in files:
                try:
                    SsFile(file, batch, writer).read(root / file.path, rejected)
                except RawFileError as error:
                    rejected.add_error(file, error)
            writer.write(batch.to_frame())
    rejected.write(rejects)
