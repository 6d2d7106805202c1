"""The compiled kernels of the readers, made once before many jobs start at the same time.

numba compiles at the first call and keeps the machine code beside the sources; it takes about 12 s, and jobs that start
together on a fresh checkout would each do it.
"""

import tempfile
from pathlib import Path
from typing import Final

from ccreport.ingest.ss import ingest_ss
from ccreport.raw import Manifest, RawFile

SAMPLE: Final = b"""# 1795215548.405388
ESTAB 0      104256    10.200.1.1:56112   10.201.1.2:5201
\t cubic wscale:11,11 rto:230 rtt:25.505/1.328 mss:1448 cwnd:24 bytes_acked:98502 data_segs_out:75 minrtt:10.069
"""


def compile_kernels(kernels: Path) -> None:
    """Compile all kernels by a first use, and write what was compiled to a text file."""
    file = RawFile("f", "ss", "ss", "ss", len(SAMPLE), "", "ingest", rule="ingest_ss", run_id="r")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / file.path).write_bytes(SAMPLE)
        Manifest("e", None, None, (), (file,)).write(folder / "manifest.json")
        ingest_ss(folder / "manifest.json", folder, folder / "samples.parquet", folder / "rejects.parquet")
    kernels.write_text("ss\n", encoding="ascii")
