"""Fuzz the readers: `python scripts/fuzz.py --seconds 20`, or with `--parser iperf3 ss` some of them only.

Each reader runs in a process of its own, in which atheris (libFuzzer) changes real files so that as much as possible of
the reader's Python runs; compiled code is run and checked, but cannot be steered. An input that a reader does not end
well on is kept below tests/fuzz/corpus, where the tests find it; then this ends with 1. After each reader stand its
executions, those per second, and what was found.
"""

import argparse
import hashlib
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import traceback
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# As in the workflow; several threads for tables of a few rows take most of the time.
os.environ["POLARS_MAX_THREADS"] = "1"
sys.path[:0] = [str(ROOT / name) for name in ("src", "tests", "tests/support", "tests/ingest/captures")]

# numba compiles these; it cannot read what atheris makes of a function.
COMPILED = [
    ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)
    for path in (ROOT / "src/ccreport/ingest").rglob("*.py")
    if re.search(r"^from ccreport\.ingest\.compiled import|^@(?:inlined|called)", path.read_text(), re.MULTILINE)
]
LENGTH_BYTES = 16_384
MEMORY_MB = 3_000
# One input may take so long.
TIMEOUT_S = 60
EXECUTED = re.compile(r"stat::number_of_executed_units:\s+(\d+)")


def fuzz_one(name: str, seconds: int, executions: int, seed_number: int) -> None:
    """Fuzz one reader in this process, and end it."""
    import atheris  # noqa: PLC0415 (only the processes that fuzz need it)

    with atheris.instrument_imports(include=["ccreport"], exclude=[*COMPILED, "ccreport.ingest.compiled"]):
        from fuzz.targets import CORPUS, TARGETS, list_inputs, write_nothing  # noqa: PLC0415
    from fuzz.mutations import mutate  # noqa: PLC0415

    write_nothing()
    finds: set[tuple[str, ...]] = set()

    def try_one(data: bytes) -> None:
        try:
            TARGETS[name](data)
        except Exception as error:  # noqa: BLE001 (any is a find)
            frames = [f"{Path(f.filename).name}:{f.lineno}" for f in traceback.extract_tb(error.__traceback__)]
            place = (type(error).__name__, *[frame for frame in frames if not frame.startswith("fuzz")][-3:])
            if place not in finds:
                finds.add(place)
                keep(CORPUS / name, data)
                print(f"FIND {name}: {type(error).__name__}: {str(error)[:300]}", *frames[-5:], sep="\n  ", flush=True)

    def change(data: bytes, longest: int, seed: int) -> bytes:
        chance = random.Random(seed)  # noqa: S311 (not for secrets)
        return bytes(mutate(data, chance)[:longest]) if seed % 3 else bytes(atheris.Mutate(data, longest))

    with tempfile.TemporaryDirectory() as folder:
        for number, seed in enumerate(list_inputs(name)):
            (Path(folder) / f"seed-{number}").write_bytes(seed)
        (CORPUS / name).mkdir(parents=True, exist_ok=True)
        options = [
            f"-max_total_time={seconds}",
            f"-runs={executions}",
            f"-seed={seed_number}",
            "-reload=0",
            f"-max_len={LENGTH_BYTES}",
            f"-rss_limit_mb={MEMORY_MB}",
            f"-timeout={TIMEOUT_S}",
            f"-report_slow_units={TIMEOUT_S}",
            f"-artifact_prefix={CORPUS / name}/",
            "-print_final_stats=1",
            "-verbosity=0",
        ]
        atheris.Setup([sys.argv[0], *options, folder], try_one, custom_mutator=change)
        atheris.Fuzz()


def keep(folder: Path, data: bytes) -> None:
    """Keep an input in a corpus, named by its content."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / hashlib.sha256(data).hexdigest()[:12]).write_bytes(data)


def run_one(name: str, asked: argparse.Namespace) -> bool:
    """Fuzz one reader in a process of its own, say how it went, and return whether it went well."""
    limits = ("--seconds", str(asked.seconds), "--executions", str(asked.executions), "--seed", str(asked.seed))
    command = [sys.executable, __file__, "--one", name, *limits]
    memory = Path("/dev/shm")  # noqa: S108 (only a folder of a name of its own is made there)
    with tempfile.TemporaryDirectory(dir=memory if os.access(memory, os.W_OK) else None) as folder:
        environment = os.environ | {"TMPDIR": folder, "PYTHONHASHSEED": str(asked.seed)}
        begin = time.monotonic()
        done = subprocess.run(  # noqa: S603 (no shell)
            command, env=environment, capture_output=True, text=True, errors="replace", check=False
        )
    seconds = time.monotonic() - begin
    executed = EXECUTED.search(done.stderr)
    count = int(executed[1]) if executed else 0
    finds = done.stdout.count("FIND ")
    is_well = not done.returncode and not finds and count > 0
    print(f"{name:14} {count:8} executions {count / seconds:7.0f} /s  {finds} finds", flush=True)
    if not is_well:
        print(done.stdout, done.stderr[-3000:] if done.returncode or not count else "", flush=True)
    return is_well


def main() -> int:
    """Fuzz the readers that the command line names; return 1 where one did not end well on an input."""
    parser = argparse.ArgumentParser(description="Fuzz the readers of raw files.")
    parser.add_argument("--seconds", type=int, default=20, help="how long each reader is fuzzed")
    parser.add_argument("--executions", type=int, default=-1, help="how often each reader is run at most")
    parser.add_argument("--seed", type=int, default=0, help="begins the same changes each time; 0 for others each time")
    parser.add_argument("--parser", nargs="*", default=["all"], help="readers, or all")
    parser.add_argument("--processes", type=int, default=2, help="how many readers are fuzzed at the same time")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        fuzz_one(asked.one, asked.seconds, asked.executions, asked.seed)
        return 0
    from fuzz.seeds import SEEDS  # noqa: PLC0415 (the readers are for the processes)

    names = list(SEEDS) if asked.parser == ["all"] else asked.parser
    if unknown := set(names) - set(SEEDS):
        parser.error(f"no reader {', '.join(sorted(unknown))}; there are {', '.join(SEEDS)}")
    with ThreadPoolExecutor(asked.processes) as threads:
        results = list(threads.map(lambda name: run_one(name, asked), names))
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
