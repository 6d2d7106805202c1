"""What the page "Your own archive" shows: its recordings made over loopback, its layouts and metadata read."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from archives import ROOT, list_archive, write_archive
from own_files import FLOWS_LAYOUT, RUNS_LAYOUT

from ccreport.adopt.adopt import adopt
from ccreport.archive.layout_groups import KINDS, KNOWN
from ccreport.archive.manifest import Manifest, read_manifest
from ccreport.archive.read_layout import load_layout
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.tables import read_table
from ccreport.ingest.harness.jobmeta import PLAIN_KEYS, read_jobmeta
from ccreport.ingest.readers import READERS
from ccreport.ingest.reading import Settings, read_experiment
from ccreport.ingest.rejects import Rejects
from ccreport.inventory.experiment_listing import reject

PAGE = (ROOT / "reports/own_archive.qmd").read_text(encoding="utf-8")
COMMANDS = re.search(r"^```sh\n(while :;.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
LAYOUT = r"""files:
  - {pattern: '(?P<run>run\d)_(?P<kind>ss|mpstat|netem)\.(txt|json)'}
  - {pattern: '(?P<run>run\d)\.(json|pcap)'}
"""


def list_commands() -> dict[str, str]:
    """Return the commands of the page by the program that each runs."""
    assert COMMANDS is not None
    lines = COMMANDS[1].splitlines()
    return {
        next(name for name in ("ss -", "mpstat", "tcpdump", "tc -s", "iperf3") if name in line): line for line in lines
    }


def require(*programs: str) -> None:
    for program in programs:
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (Debian: iperf3, iproute2, sysstat, tcpdump)")


def stop(process: subprocess.Popen[bytes], sign: int) -> None:
    """Stop a recording with all that it has started."""
    os.killpg(process.pid, sign)
    process.wait(10)


def run_ss() -> str:
    return subprocess.run(["ss", "-ltn"], capture_output=True, text=True, check=True).stdout


def wait_for(is_so: Callable[[], bool]) -> None:
    """Wait until something is so, for half a minute at most."""
    end_s = time.monotonic() + 30
    while not is_so() and time.monotonic() < end_s:
        time.sleep(0.1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with what the page's commands leave of one test of 4 s over loopback."""
    require("iperf3", "ss", "mpstat")
    folder = tmp_path_factory.mktemp("recorded")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    commands = list_commands()
    # The port that is free here, and as little time as shows something.
    replaced = {"HOST": f"127.0.0.1 -p {port}", "INTERFACE": "lo", "port 5201": f"port {port}", "-t 30": "-t 4"}
    for text, own in replaced.items():
        commands = {name: line.replace(text, own) for name, line in commands.items()}
    server = subprocess.Popen(
        ["iperf3", "-s", "-1", "-p", str(port)], stdout=subprocess.DEVNULL, start_new_session=True
    )
    started = {}
    for name in ("ss -", "mpstat", "tcpdump"):
        if shutil.which(name.split()[0]):
            # Debian's tcpdump gives up root, and may then not write here.
            line = commands[name].replace("tcpdump -i", "tcpdump -Z root -i") if os.geteuid() == 0 else commands[name]
            started[name] = subprocess.Popen(
                ["bash", "-c", line], cwd=folder, stderr=subprocess.DEVNULL, start_new_session=True
            )
    try:
        # Until the server listens and the recordings have begun, however busy the machine is.
        wait_for(lambda: f":{port} " in run_ss() and (folder / "run1_ss.txt").stat().st_size > 0)
        time.sleep(1)
        done = subprocess.run(["bash", "-c", commands["iperf3"]], cwd=folder, timeout=60, check=False)
        time.sleep(1)
    finally:
        for process in started.values():
            stop(process, signal.SIGINT if process is not started["ss -"] else signal.SIGKILL)
        if server.poll() is None:
            stop(server, signal.SIGKILL)
    assert done.returncode == 0, (folder / "run1.json").read_text()
    if shutil.which("tc"):
        subprocess.run(["bash", "-c", commands["tc -s"]], cwd=folder, timeout=60, check=True)
    return write_archive(folder, {"layout.yaml": LAYOUT})


@pytest.fixture(scope="module")
def tables(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tables of what was recorded."""
    work = tmp_path_factory.mktemp("tables")
    (experiment,) = list_archive(recorded, work)
    manifest = read_manifest(work / f"manifests/{experiment}.json")
    settings = Settings((), ".*", "$body_bytes_sent $request_time")
    (work / "out").mkdir()
    for reader in READERS:
        read_experiment(reader, manifest, recorded, work / "out", settings)
    return work / "out"


def test_the_test_and_its_sockets_are_joined(tables: Path) -> None:
    streams = read_table("streams", [tables / "streams.parquet"])
    samples = read_table("samples", [tables / "samples.parquet"])
    assert streams.height == 1
    own = samples.filter(samples["flow_id"].is_in(streams["flow_id"].to_list()))
    # 4 s with a sample each half second, of which a busy machine takes fewer.
    assert own["time_utc"].n_unique() >= 2
    assert own["cc"].unique().to_list() == ["cubic"]


def test_loads_of_processors_are_read(tables: Path) -> None:
    loads = read_table("cpu_samples", [tables / "cpu_samples.parquet"])
    assert loads["sample_number"].n_unique() >= 2
    assert loads["side"].unique().to_list() == ["sender"]


def test_the_capture_is_read(recorded: Path, tables: Path) -> None:
    require("tcpdump")
    if not (recorded / "run1.pcap").exists():
        pytest.skip("tcpdump may not capture here (it needs root or the capability CAP_NET_RAW)")
    flows = read_table("packet_flows", [tables / "packet_flows.parquet"])
    # Data and control connection of the test.
    assert flows.height >= 2
    captures = read_table("captures", [tables / "captures.parquet"])
    assert captures["run_id"].to_list() == flows["run_id"].unique().to_list()


def test_the_check_finds_the_recording_complete(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    adopt(recorded, check=True)
    said = capsys.readouterr().out
    assert re.search(r"^run1 +cubic +1 .*  iperf3, (?=.*\bss\b)(?=.*\bmpstat\b)", said, re.MULTILINE), said
    assert "no ss" not in said
    assert "no mpstat" not in said


def test_commands_that_the_check_shows_are_those_of_the_page(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (recorded / "bare").mkdir()
    shutil.copy(recorded / "run1.json", recorded / "bare")
    adopt(recorded / "bare", check=True)
    shown = [line.strip() for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    shutil.rmtree(recorded / "bare")
    assert COMMANDS is not None
    # The check knows the port of the test that was recorded; the page has iperf3's own.
    port = json.loads((recorded / "run1.json").read_text())["start"]["connecting_to"]["port"]
    for line in shown:
        said = line.partition("    (")[0].replace("NAME", "run1").replace(f"tcp port {port}", "tcp port 5201")
        assert said in COMMANDS[1], line


def list_blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_layouts_of_the_page_fit_the_names_beside_them(tmp_path: Path) -> None:
    layouts = [block for block in list_blocks("yaml") if "pattern" in block]
    assert [yaml.safe_load(one) for one in layouts[:2]] == [yaml.safe_load(one) for one in (RUNS_LAYOUT, FLOWS_LAYOUT)]
    examples = [block for block in list_blocks("text") if not block.startswith("2026")]
    # The names of the example with a table of conditions have no folders.
    conditions, table, page_layout = *examples[5:7], layouts.pop(5)
    del examples[5:7]
    write_archive(tmp_path, {"runs.csv": examples[4], "conditions.csv": table, "layout.yaml": page_layout})
    read = load_layout(tmp_path / "layout.yaml")
    names = re.findall(r"^(c0\S+)", conditions, re.MULTILINE)
    assert [(told.values["run"], told.values["iteration"]) for told in read.read_paths(names).values()] == [
        *(("c01", 1), ("c01", 1), ("c01", 2), ("c02", 1))
    ]
    assert {run: row["rtt_ms"] for run, row in read.by_run.items()} == {"c01": 10, "c02": 10}
    for number, (layout, shown) in enumerate(zip(layouts, examples, strict=True)):
        (tmp_path / "layout.yaml").write_text(layout)
        read = load_layout(tmp_path / "layout.yaml")
        paths = re.findall(r"^(\S+/\S+)", shown, re.MULTILINE)
        assert set(read.read_paths(paths)) == set(paths)
        assert len(paths) == (4, 3, 5, 2, 0)[number]
    assert read.by_run["monday"] == {
        "run": "monday",
        "rtt_ms": 20,
        "loss_pct": 0.01,
        "bottleneck_bps": 1e9,
        "buffer_bytes": 250000,
    }


def test_every_group_kind_and_key_is_on_the_page() -> None:
    ticked = set(re.findall(r"`([^`\n]+)`", PAGE))
    assert ticked >= KNOWN
    kinds = load_yaml(SCHEMAS / "layout.schema.yaml")["properties"]["files"]["items"]["properties"]["kind"]["enum"]
    assert set(kinds) <= ticked
    assert set(kinds) <= set(KINDS)
    read = {key for key, _ in PLAIN_KEYS.values()} | {"loss", "lat", "src_cmd", "MTU", "clients", "stages"}
    assert read <= ticked


def test_the_metadata_of_the_page_are_read_without_a_reject() -> None:
    (block,) = list_blocks("json")
    file, rejected = reject("0", "jobmeta.json", "", ""), Rejects()
    (row,) = read_jobmeta(file, json.loads(block), Manifest("e", None, None, (), ()), rejected)
    told = {
        column: row[column] for column in ("sender_host", "cc_command", "rtt_nominal_ms", "loss_pct", "bottleneck_bps")
    }
    # Twice 10 ms; 1 Gbit/s.
    assert told == {
        "sender_host": "sender.example.net",
        "cc_command": "cubic",
        "rtt_nominal_ms": 20,
        "loss_pct": 0.01,
        "bottleneck_bps": 1e9,
    }
    assert row["buffer_bytes"] == 250000
