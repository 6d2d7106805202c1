"""Two files of one kind in one run, whatever tells them apart: each is in a table, or rejected with a reason."""

import gzip
from pathlib import Path

import polars as pl
import pytest
from archives import FIXTURES, list_archive, write_archive
from captures import Conversation, write_pcap
from own_files import MPSTAT, client_output, socket_samples

from ccreport.archive.layout_groups import KINDS as WORDS
from ccreport.core.declarations import SCHEMAS, load_yaml
from ccreport.core.tables import read_table
from ccreport.ingest.batch import ingest_batch
from ccreport.inventory.kinds import KINDS
from ccreport.measure.ledger import measure_ledger

NETPERF = "THROUGHPUT=9.40\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=1.00\nPROTOCOL=TCP\nDIRECTION=Send\n"
# By kind of `raw_files`; of each, both files have the same, so that their rows have the same keys.
CONTENTS: dict[str, str | bytes] = {
    "src-cmd": client_output(4001),
    "ss": socket_samples(4001),
    "mpstat": MPSTAT,
    "pre-netem": "qdisc netem 1: dev c1 root refcnt 2 limit 10000 delay 40ms loss 0.1%\n",
    "tcpdump": write_pcap(Conversation().packets),
    "tcpdump-log": "3 packets captured\n3 packets received by filter\n0 packets dropped by kernel\n",
    "jobmeta": '{"loss": 0.1}',
    "host-meta": '{"rtt": 10}',
    "kernel-drops": '[{"host": "h1", "counter": "TcpExtTCPLost", "before": 0, "after": 1, "is_path": false}]',
    "nstat": "#kernel\nTcpRetransSegs 11 0.0\n",
    "netperf": NETPERF,
    "flent": gzip.decompress((FIXTURES / "flent/tcp_1up.flent.gz").read_bytes()),
}
DECLARED = load_yaml(SCHEMAS / "layout.schema.yaml")["properties"]["files"]["items"]["properties"]["kind"]["enum"]
READ = {word: WORDS[word] for word in DECLARED if WORDS[word] in KINDS}
ITEMS = sorted((kind.name, item) for kind in KINDS.values() for item in kind.items)


def settle(tmp_path: Path, files: dict[str, str | bytes]) -> tuple[list[str], list[str]]:
    """Return what became of an archive's files called `two…`, in order, and why not all is used."""
    root = write_archive(tmp_path / "raw", files)
    tables, rejected, manifests = tmp_path / "tables", tmp_path / "rejected", tmp_path / "w/manifests"
    settings = ([], ".*", "$request_time $bytes_sent")
    for experiment in list_archive(root, tmp_path / "w"):
        ingest_batch(experiment, manifests / f"{experiment}.json", root, tables, rejected, *settings)
    out = tmp_path / "raw_files.parquet", tmp_path / "rejects.parquet"
    measure_ledger(tmp_path / "w/experiments.txt", manifests, tables, rejected, *out)
    is_own = pl.col("path").str.contains("two") & (pl.col("reason").ne_missing("no_metadata"))
    ledger, rejects = (
        read_table(name, [path]).filter(is_own).sort("path")
        for name, path in zip(("raw_files", "rejects"), out, strict=True)
    )
    return ledger["state"].to_list(), rejects["message"].to_list()


def declare_two(word: str, told: str) -> dict[str, str | bytes]:
    """Return a run with two files of a kind, which a group tells apart, or nothing."""
    group = f"(?P<{told}>sender|receiver)" if told else "(?:sender|receiver)"
    layout = f"""files:
  - {{pattern: '(?P<run>t[0-9])-two-{group}', kind: {word}, set: {{job: all}}}}
  - {{pattern: '(?P<run>t[0-9])\\.json', set: {{job: all, flow: first}}}}
"""
    both = dict.fromkeys(("t1-two-receiver", "t1-two-sender"), CONTENTS[READ[word]])
    return {"layout.yaml": layout, "t1.json": client_output(4009)} | both


@pytest.mark.parametrize("told", ["flow", "side", "host", ""])
@pytest.mark.parametrize("word", READ)
def test_each_of_two_declared_files_is_in_a_table_or_rejected(word: str, told: str, tmp_path: Path) -> None:
    states, messages = settle(tmp_path, declare_two(word, told))
    assert len(states) == 2
    assert all(messages) if "rejected" in states else states[0] in ("ingested", "ignored")
    assert "report a fault of ccreport" not in " ".join(messages)


@pytest.mark.parametrize(("kind", "item"), ITEMS)
def test_each_of_two_files_of_the_harness_is_in_a_table_or_rejected(kind: str, item: str, tmp_path: Path) -> None:
    names = (f"two/{item}:10.0.0.2:1", f"two/{item}-2:10.0.0.2:1")
    files = dict.fromkeys(names, CONTENTS[kind]) | {"two/src-cmd:10.0.0.2:1": client_output(4009), "notes.txt": ""}
    states, messages = settle(tmp_path, files)
    assert {*states} <= {"ingested", "rejected"}
    assert len(messages) >= states.count("rejected")


@pytest.mark.parametrize("word", ["mpstat", "netem"])
def test_a_run_takes_one_file_about_all_of_its_flows(word: str, tmp_path: Path) -> None:
    states, (message,) = settle(tmp_path, declare_two(word, "flow"))
    assert states == ["ingested", "rejected"]
    assert message.startswith(f"t1-two-receiver already is this run's {READ[word]}, and a run takes one")
    assert ("`set: {side: receiver}`" in message) == (word == "mpstat")


def test_a_run_takes_the_loads_of_sender_and_receiver(tmp_path: Path) -> None:
    assert settle(tmp_path, declare_two("mpstat", "side")) == (["ingested", "ingested"], [])


@pytest.mark.parametrize("word", ["jobmeta", "host-meta"])
def test_a_job_takes_one_file_about_it(word: str, tmp_path: Path) -> None:
    states, messages = settle(tmp_path, declare_two(word, "flow"))
    assert states[1] == "rejected"
    assert messages[-1].startswith(f"t1-two-receiver already is this job's {word}, and a job takes one")


def test_a_file_about_a_host_says_which(tmp_path: Path) -> None:
    states, (message, _) = settle(tmp_path, declare_two("host-meta", "flow"))
    assert (states[0], "call it <host>-meta.json" in message) == ("rejected", True)
    layout = declare_two("host-meta", "flow")["layout.yaml"]
    layout = f"{layout}  - {{pattern: '.*-meta\\.json', kind: host-meta, set: {{job: all}}}}\n"
    files = {"layout.yaml": layout, "t1.json": client_output(4009), "two-meta.json": CONTENTS["host-meta"]}
    assert settle(tmp_path / "named", files) == (["ingested"], [])
