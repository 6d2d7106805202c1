"""What researchers write around tcptrace and tshark: retransmits and data packets of every capture, by job.

    python benchmarks/today/captures.py ARCHIVE OUTPUT

Both programs are asked, as is usual: tcptrace for counts per connection, tshark for the packets that it marks.
"""

import glob
import gzip
import io
import os
import shutil
import subprocess
import sys

import pandas as pd


def run_tcptrace(path):
    done = subprocess.run(["tcptrace", "-l", "-n", "--csv", path], capture_output=True, text=True, check=True)
    lines = [line for line in done.stdout.splitlines() if line.strip() and not line.startswith("#")]
    flows = pd.read_csv(io.StringIO("\n".join(lines)), skipinitialspace=True, index_col=False)
    return flows[["actual_data_pkts_a2b", "rexmt_data_pkts_a2b"]].sum()


def run_tshark(path):
    fields = ["tcp.srcport", "tcp.len", "tcp.analysis.retransmission"]
    options = [word for field in fields for word in ("-e", field)]
    command = ["tshark", "-n", "-r", path, "-Y", "tcp.len > 0 && tcp.dstport in {5201..5299}", "-T", "fields", *options]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    packets = pd.DataFrame(rows, columns=["port", "payload", "retransmission"])
    return len(packets), packets["payload"].astype(int).sum(), (packets["retransmission"] != "").sum()


def read_captures(archive, folder):
    rows = []
    for path in sorted(glob.glob(f"{archive}/*/*/tcpdump:*")):
        plain = f"{folder}/capture.pcap"
        with gzip.open(path) if path.endswith(".gz") else open(path, "rb") as source, open(plain, "wb") as target:
            shutil.copyfileobj(source, target)
        traced = run_tcptrace(plain)
        packets, payload, marked = run_tshark(plain)
        rows.append(
            {
                "job": os.path.basename(os.path.dirname(path)),
                "data_packets": traced["actual_data_pkts_a2b"],
                "retransmits": traced["rexmt_data_pkts_a2b"],
                "tshark_data_packets": packets,
                "payload_bytes": payload,
                "tshark_retransmits": marked,
            }
        )
        os.unlink(plain)
    return pd.DataFrame(rows)


archive, output = sys.argv[1:]
os.makedirs(output, exist_ok=True)
captures = read_captures(archive, output)
captures.groupby("job").sum().reset_index().to_csv(f"{output}/captures.csv", index=False)
