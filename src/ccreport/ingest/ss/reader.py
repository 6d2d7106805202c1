"""Samples of TCP sockets by `ss` (iproute2 4.9 to 7.1) into the tables `samples` and `sample_stamps`.

The test harness appends to one file, every half second or so, a stamp and the output of `ss -tinm` or `ss -neit`:

    # 1795211351.663251
    State Recv-Q Send-Q Local Address:Port  Peer Address:PortProcess
    ESTAB 0      0          127.0.0.1:48238    127.0.0.1:6300
             skmem:(r0,rb131072,…) bbr wscale:10,10 rto:204 rtt:0.032/0.015 … minrtt:0.008

Columns of the first line are missing (State, where ss filters for one; the header, with -H) or added (Netid, and tails
such as `timer:(on,204ms,0)`); with -O both lines are one. iproute2 5.3 and 5.4 glue the next stamp to the last line. A
stopped ss leaves half a line. Of a file without stamps the last sample of each connection is used, at a time that is
null. Written down in iproute2's `misc/ss.c`; which token is what is in `tokens`. Files
whose names tell no run are joined to tests by `owners`.
"""

from ccreport.archive.manifest import RawFile
from ccreport.ingest.reading import Reading
from ccreport.ingest.ss.file import SsFile
from ccreport.ingest.ss.owners import Owners
from ccreport.ingest.ss.rows import SampleBatch


def read_ss(reading: Reading) -> None:
    """Write the samples and stamps of one experiment, in the order of the files, then as printed.

    Files whose names tell no run are joined to the tests with their connections, by the tables `tests` and `streams`.
    Names the tokens without a column on stderr.
    """
    owners = None
    if any(file.run_id is None for file in reading.files):
        named = {file.run_id for file in reading.files if file.run_id is not None}
        owners = Owners(reading.tables.read("tests"), reading.tables.read("streams"), named)
    batch = SampleBatch(owners)
    with reading.open("samples") as writer, reading.open("sample_stamps") as stamps:

        def read(file: RawFile) -> None:
            text = SsFile(file, batch, writer, owners)
            text.read(reading.root / file.path, reading.rejected)
            stamps.write(text.list_stamps())

        reading.read_each(read)
        writer.write(batch.to_frame())
