"""The files of a job and of its runs, with their defects, and what the ledger must say of each.

What a reader can make of a defect depends on the format: an object cut in its only interval says nothing, one cut
later keeps its whole intervals. States and reasons follow from what was written here, never from what a reader said.
"""

import zlib
from dataclasses import dataclass
from typing import Final

from .defects import OF_JOB
from .draws import Run
from .intervals import Intervals, draw_intervals
from .iperf3_output import print_iperf3, print_refusal
from .plan import Job, Order
from .pscheduler_output import print_failure, print_pscheduler
from .side_files import print_host_meta, print_jobmeta, print_mpstat, print_netem
from .ss_output import print_silence, print_ss

INGESTED: Final = "ingested"
IGNORED: Final = "ignored"
REJECTED: Final = "rejected"
# A name in Latin-1, as a shell of another age wrote it.
FOREIGN_NAME: Final = b"caf\xe9.example.net"
WARNING: Final = "warning: this system does not seem to support IPv6 - trying IPv4\n"
# The share of a compressed log, or of a log's last line, that is left.
CUT_SHARE: Final = 0.8


@dataclass(frozen=True)
class File:
    """One file, by its name below the job's folder, with what must become of it; reasons of parts where ingested."""

    name: bytes
    content: bytes
    state: str = INGESTED
    reasons: tuple[str, ...] = ()


def suffix_of(job: Job, run: Run) -> bytes:
    """Return the end of the names of a run's files."""
    host = FOREIGN_NAME if run.defect == "non_utf8_name" else job.destination.name.encode()
    return host + f":{run.iteration}{run.point.tail}".encode()


def files_of_job(order: Order, job: Job, runs: list[Run]) -> list[File]:
    """Return what lies in a job's folder, sorted by name, its runs' files included."""
    iterations = max(run.iteration for run in runs)
    files = [File(f"{job.destination.name}-meta.json".encode(), print_host_meta(job).encode())]
    has_jobmeta = runs[0].defect != OF_JOB
    if has_jobmeta:
        files.append(File(b"jobmeta.json", print_jobmeta(job, order.duration_s, iterations).encode()))
    files += [file for run in runs for file in files_of_run(order, job, run)]
    files.sort(key=lambda file: file.name)
    if not has_jobmeta:
        # Noted at the first file, for want of one of its own.
        files[0] = File(files[0].name, files[0].content, files[0].state, ("no_metadata",))
    return files


def files_of_run(order: Order, job: Job, run: Run) -> list[File]:
    """Return the files of one run."""
    suffix = suffix_of(job, run)
    results = _result_files(order, job, run, suffix)
    mpstat = print_mpstat(job, run).encode()
    netem = print_netem(job, run).encode()
    room = order.bytes_per_run - len(results[0].content) - len(mpstat) - len(netem)
    return [
        *results,
        _ss_file(order, job, run, suffix, room),
        File(b"mpstat-sender:" + suffix + b".json", mpstat),
        File(b"pre-netem:" + suffix, netem, INGESTED if netem else IGNORED),
    ]


def _result_files(order: Order, job: Job, run: Run, suffix: bytes) -> list[File]:
    name = b"src-cmd:" + suffix
    is_pscheduler = job.client.tool == "pscheduler"
    if run.defect == "error_only":
        text = print_failure(job, order.duration_s) if is_pscheduler else print_refusal(job)
        return [File(name, text.encode(), REJECTED, ("error_only",))]
    intervals = draw_intervals(order, job, run)
    if run.defect == "truncated_json":
        return [_truncated(name, _print(order, job, run, intervals), job, len(intervals.ends_us))]
    if run.defect == "interrupted":
        kept = intervals.cut(max(1, len(intervals.ends_us) // 2))
        text = _print(order, job, run, kept, is_interrupted=True)
        return [File(name, text.encode(), INGESTED, ("interrupted",))]
    text = _print(order, job, run, intervals)
    match run.defect:
        case "doubled_json":
            return [File(name, 2 * text.encode(), INGESTED, ("doubled",))]
        case "text_before_json":
            return [File(name, (WARNING + text).encode(), INGESTED, ("repaired",))]
        case "two_files":
            copy = File(b"retry/" + name, text.encode(), REJECTED, ("duplicate_run",))
            return [File(name, text.encode()), copy]
        case _:
            return [File(name, text.encode())]


def _print(order: Order, job: Job, run: Run, intervals: Intervals, *, is_interrupted: bool = False) -> str:
    print_result = print_pscheduler if job.client.tool == "pscheduler" else print_iperf3
    return print_result(job, run, intervals, order.duration_s, is_interrupted=is_interrupted)


def _truncated(name: bytes, text: str, job: Job, intervals_count: int) -> File:
    """Return a result that ends in the middle of a word of its last interval."""
    content = text[: text.rindex('"omitted"') + len('"omi')].encode()
    has_whole = intervals_count > 1 and job.client.tool == "iperf3"
    # A stream whose header is whole is not broken JSON, but holds no measurement.
    reason = "no_measurement" if job.client.is_stream and not has_whole else "truncated_json"
    return File(name, content, INGESTED if has_whole else REJECTED, (reason,))


def _ss_file(order: Order, job: Job, run: Run, suffix: bytes, room_bytes: int) -> File:
    name = b"ss:" + suffix
    if run.defect == "empty_ss":
        return File(name, b"", REJECTED, ("empty",))
    if run.defect == "error_only":
        return File(name, print_silence(order, job, run).encode(), REJECTED, ("no_measurement",))
    text = print_ss(order, job, run, room_bytes, is_retried=run.defect == "retried")
    if run.defect == "cut_ss":
        last = text.rindex("\n\t ")
        cut = last + int(CUT_SHARE * (text.index("rcv_space:", last) - last))
        return File(name, text[:cut].encode(), INGESTED, ("truncated_text",))
    if run.defect == "cut_gzip":
        return File(name + b".gz", _cut_gzip(text), INGESTED, ("truncated_compression",))
    return File(name, text.encode())


def _cut_gzip(text: str) -> bytes:
    """Return the first samples of a log as a gzip file without its end."""
    # Cut between two samples: within one, it would depend on the place whether a reader can tell.
    end = text.rindex("# ", 0, max(int(CUT_SHARE * len(text)), text.index("# ", 1) + 2))
    packer = zlib.compressobj(wbits=31)
    return packer.compress(text[:end].encode()) + packer.flush(zlib.Z_SYNC_FLUSH)
