"""The compiled kernels of the readers, made once before many jobs start at the same time.

numba compiles at the first call and keeps the machine code beside the sources; it takes 10 to 16 s, and jobs that start
together on a fresh checkout would each do it.
"""

from pathlib import Path

from ccreport.ingest.captures.file import compile_capture_reader
from ccreport.ingest.ss.file import compile_reader


def compile_kernels(kernels: Path) -> None:
    """Compile the kernels of all readers, and write the names of these readers to a text file."""
    compile_reader()
    compile_capture_reader()
    kernels.write_text("ss\ntcpdump\n", encoding="ascii")
