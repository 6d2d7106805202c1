"""What researchers write: one script that reads every result of a sweep, and makes a table and a figure.

    python benchmarks/today/rates.py ARCHIVE OUTPUT

For each job and RTT: mean and CV of the runs' throughput, iperf3's retransmits, and the ratio that ss counted.
"""

import glob
import json
import os
import sys

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd


def read_iperf3(path):
    with open(path) as stream:
        result = json.load(stream)
    sent = result["end"]["sum_sent"]
    ports = [connection["local_port"] for connection in result["start"]["connected"]]
    return sent["bits_per_second"], sent["retransmits"], ports


def read_ss(path, ports):
    """Return the last retransmits and data segments of the data connections, summed."""
    last = {}
    with open(path) as stream:
        for line in stream:
            words = line.split()
            if not line.startswith(("#", "State", "\t")):
                port = int(words[3].rsplit(":", 1)[1])
            elif line.startswith("\t") and port in ports:
                retransmits = segments = 0
                for word in words:
                    if word.startswith("retrans:"):
                        retransmits = int(word.split("/")[1])
                    elif word.startswith("data_segs_out:"):
                        segments = int(word.split(":")[1])
                last[port] = retransmits, segments
    return sum(r for r, _ in last.values()), sum(s for _, s in last.values())


def read_runs(archive):
    rows = []
    for path in sorted(glob.glob(f"{archive}/*/*/src-cmd:*")):
        folder, name = os.path.split(path)
        _, host, iteration, rtt = name.split(":")
        suffix = name.removeprefix("src-cmd")
        clients = [read_iperf3(client) for client in (path, *sorted(glob.glob(f"{folder}/src-cmd-*{suffix}")))]
        ports = [port for _, _, own in clients for port in own]
        again, segments = read_ss(f"{folder}/ss{suffix}", ports)
        rows.append(
            {
                "job": os.path.basename(folder),
                "rtt_ms": float(rtt.removesuffix("ms")),
                "throughput_bps": sum(throughput for throughput, _, _ in clients),
                "retransmits": sum(retransmits for _, retransmits, _ in clients),
                "ss_retransmits": again,
                "ss_segments": segments,
            }
        )
    return pd.DataFrame(rows)


def summarise(runs):
    groups = runs.groupby(["job", "rtt_ms"])
    table = groups.agg(
        runs=("throughput_bps", "size"),
        throughput_mean_bps=("throughput_bps", "mean"),
        throughput_std_bps=("throughput_bps", "std"),
        retransmits=("retransmits", "sum"),
        ss_retransmits=("ss_retransmits", "sum"),
        ss_segments=("ss_segments", "sum"),
    )
    table["throughput_cv"] = table.pop("throughput_std_bps") / table["throughput_mean_bps"]
    table["retransmit_ratio"] = table.pop("ss_retransmits") / table.pop("ss_segments")
    return table.reset_index()


def plot(table, path):
    figure, axes = plt.subplots(figsize=(8, 5))
    for cc in ("cubic", "bbr"):
        own = table[table["job"] == f"{cc}_p16_loss0.1"]
        error = own["throughput_cv"] * own["throughput_mean_bps"]
        axes.errorbar(own["rtt_ms"], own["throughput_mean_bps"] / 1e6, error / 1e6, label=cc, marker="o", capsize=4)
    axes.set_xlabel("RTT (ms)")
    axes.set_ylabel("Throughput (Mbit/s)")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path)


archive, output = sys.argv[1:]
os.makedirs(output, exist_ok=True)
table = summarise(read_runs(archive))
table.to_csv(f"{output}/rates.csv", index=False)
plot(table, f"{output}/rates.svg")
