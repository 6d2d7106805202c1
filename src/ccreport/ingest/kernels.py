"""The compiled kernels of the readers, made once before many jobs start at the same time.

numba compiles at the first call and keeps the machine code beside the sources; it takes 10 to 16 s, and jobs that start
together on a fresh checkout would each do it.
"""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from ccreport.ingest.captures.file import compile_capture_reader
from ccreport.ingest.ss.file import compile_reader
from ccreport.workflow_fixes.orphans import end_with_build


def compile_kernels(kernels: Path) -> None:
    """Compile the kernels of all readers, and write the names of these readers to a text file."""
    # Most jobs wait for them, so at the start of a build nothing else would use a second core.
    with ProcessPoolExecutor(2, get_context("spawn"), end_with_build) as pool:
        for compiled in [pool.submit(compile_one) for compile_one in (compile_capture_reader, compile_reader)]:
            compiled.result()
    kernels.write_text("ss\ntcpdump\n", encoding="ascii")
