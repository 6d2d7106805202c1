"""Archives of strangers, made on the spot: files of any names, as people keep them who never saw the test harness."""

import itertools
import json
from pathlib import Path
from typing import Any

from archives import iperf3_json, write_archive

# What the first worked example of the documentation declares.
RUNS_LAYOUT = r"""files:
  - pattern: '(?P<run>run\d+)_(?P<cc>[a-z0-9]+)_(?P<rtt_ms>[0-9.]+)ms\.json'
  - pattern: '(?P<run>run\d+)_(?P<kind>ss|mpstat)\.txt'
"""
# And the second: a file a flow, the condition in the folder's name.
FLOWS_LAYOUT = r"""files:
  - pattern: >-
      (?P<rtt_ms>[0-9.]+)ms_(?P<loss_pct>[0-9.]+)pct/(?P<flow>h\d+)_(?P<cc>[a-z0-9]+)_(?P<bdp>[0-9.]+)BDP_out\.json
"""
START_S = 1795212600
MPSTAT = """Linux 6.1.0 (sender)  11/20/26  _x86_64_  (1 CPU)

22:10:00     CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   %idle
22:10:01     all   15.66    0.00    4.04    0.00    0.00    0.51    0.00    0.00    0.00   79.80
"""


def client_output(port: int, cc: str | None = "cubic", start_s: int = START_S, host: str = "10.0.0.1") -> str:
    """Return a result of iperf3 with this local port; without an algorithm it is as of a version that tells none."""
    facts: dict[str, Any] = json.loads(iperf3_json())
    facts["start"]["connected"][0] |= {"local_port": port, "local_host": host}
    facts["start"]["timestamp"]["timesecs"] = start_s
    for key in ("sender_tcp_congestion", "receiver_tcp_congestion"):
        facts["end"][key] = cc
        if cc is None:
            del facts["end"][key]
    return json.dumps(facts)


def socket_samples(port: int, cc: str = "cubic", start_s: int = START_S) -> str:
    """Return two samples of ss of the connection with this local port: 900 segments sent, 9 of them again."""
    sample = (
        f"ESTAB 0 0 10.0.0.1:{port} 10.0.0.2:5201\n\t {cc} wscale:7,7 rto:204 rtt:10.2/0.5 mss:1448 cwnd:10"
        " bytes_sent:1303200 bytes_retrans:13032 bytes_acked:1290168 segs_out:901 segs_in:400 data_segs_out:900"
        " retrans:0/9 rcv_space:14480 rcv_ssthresh:64088 minrtt:10\n"
    )
    return "".join(f"# {start_s + second}.5\n{sample}" for second in (0, 1))


def write_runs(folder: Path) -> Path:
    """Write the first worked example: two runs of CUBIC and two of BBR over 20 ms, beside their samples."""
    files = {}
    for number, cc in enumerate(("cubic", "cubic", "bbr", "bbr"), start=1):
        port, start_s = 4000 + number, START_S + 60 * number
        files[f"results/run{number}_{cc}_20ms.json"] = client_output(port, cc, start_s)
        files[f"results/run{number}_ss.txt"] = socket_samples(port, cc, start_s)
        files[f"results/run{number}_mpstat.txt"] = MPSTAT
    return write_archive(folder, files)


def write_flows(folder: Path) -> Path:
    """Write the second: three flows of one run each over two paths and two buffers; iperf3 does not tell algorithms."""
    files = {}
    for run, (condition, bdp) in enumerate(itertools.product(("20ms_0.01pct", "50ms_0pct"), ("0.5", "2"))):
        for number, cc in ((1, "bbr"), (2, "cubic"), (10, "cubic")):
            name = f"{condition}/h{number}_{cc}_{bdp}BDP_out.json"
            files[name] = client_output(4000 + number, None, START_S + 60 * run, f"10.0.0.{10 + number}")
    return write_archive(folder, files)
