"""The drawing of the testbed: senders, paths, destinations and their names."""

import json
from pathlib import Path
from typing import Any

import polars as pl
from condition_figures import HOSTILE, plot, read, texts_of
from condition_runs import Rows, gather, make_run

from ccreport.figures.conditions.topology_drawing import Box, Lane, draw_topology
from ccreport.figures.kit.axes import shorten


def make_testbed() -> Rows:
    paths = [("a", "10.0.0.1", 10.0, 0.0), ("a", "far.example.net", 80.0, 0.1), ("b", "10.0.0.1", 5.0, 0.0)]
    tables: dict[str, Any] = gather(
        *(
            make_run(
                n,
                {"bbr": 1.0},
                sender_host=sender,
                host=host,
                host_address="10.0.0.1",
                rtt_ms=rtt,
                loss_pct=loss,
                nic_bps=10e9,
                mtu_bytes=9000,
                kernel="5.10",
                bottleneck_bps=1e9 if sender == "b" else None,
            )
            for n, (sender, host, rtt, loss) in enumerate(paths)
        )
    )
    netem = {"raw_file_id": "q", "line_number": 1, "device": "e", "qdisc": "netem", "limit_packets_count": 10000}
    tables["qdiscs"] = [
        netem | {"run_id": f"r{n:03}", "delay_ms": rtt / 2, "loss_pct": loss}
        for n, (sender, _, rtt, loss) in enumerate(paths)
        if sender == "a"
    ]
    return tables


def test_the_topology_has_senders_paths_and_destinations(tmp_path: Path) -> None:
    output = plot(tmp_path, make_testbed(), kind="topology")
    shown, _, rest = read(output, "caption.txt").partition("\n")
    # As many as there are boxes, though two of them have the same address.
    assert (
        "3 runs between 2 senders and 3 destinations (of 2 names; each sender has its own), at RTTs of 5–80 ms."
        in shown
    )
    assert "an address under two of them need not be the same host" in rest
    texts = texts_of(output)
    for text in (
        "a",
        "interface 10 Gbit/s",
        "MTU 9,000 B",
        "Linux 5.10",
        "Network emulator (netem)",
        "delay 5–40 ms, loss none, 0.1 %",
        "limit 10,000 packets",
        "far.example.net",
        "10.0.0.1, RTT 80 ms, 1 run",
        # An address in place of a name.
        "10.0.0.1",
        "RTT 10 ms, 1 run",
        "b",
        "Network",
        "bottleneck 1 Gbit/s",
    ):
        assert text in texts
    assert pl.read_csv(output / "figure.csv").rows() == [
        ("a", "10.0.0.1", "10.0.0.1", 10.0, 10.0, 1),
        ("a", "far.example.net", "10.0.0.1", 80.0, 80.0, 1),
        ("b", "10.0.0.1", "10.0.0.1", 5.0, 5.0, 1),
    ]
    assert "From b, interface 10 Gbit/s" in read(output, "alt.txt")


def test_lines_of_a_box_break_at_a_comma_or_a_space_and_lose_nothing() -> None:
    sender = Box("a", ["interface 100 Mbit/s to 100 Gbit/s and more", "MTU 1,500 B"])
    chart = draw_topology("t", [Lane(sender, Box("b", []), [Box("c", [])])]).to_dict()
    texts = [layer["mark"]["text"] for layer in chart["layer"] if layer["mark"]["type"] == "text"]
    (lines,) = (text for text in texts if "MTU 1,500 B" in text)
    assert len(lines) == 3
    assert " ".join(lines) == "interface 100 Mbit/s to 100 Gbit/s and more MTU 1,500 B"


def test_loss_and_limit_are_those_towards_the_receiver_and_swept_queues_are_named(tmp_path: Path) -> None:
    queues = ("fifo", "fq_codel")
    tables = gather(*(make_run(n, {"bbr": 1.0}, queue_discipline=queue) for n, queue in enumerate(queues)))
    netem = {"raw_file_id": "q", "device": "e", "qdisc": "netem", "delay_ms": 5.0}
    # The way back loses nothing and has another limit.
    ways = [{"line_number": 1, "loss_pct": 0.0, "limit_packets_count": 100_000}]
    ways += [{"line_number": 2, "loss_pct": 0.1, "limit_packets_count": 10_000}]
    tables["qdiscs"] = [netem | way | {"run_id": f"r{n:03}"} for n in range(2) for way in ways]
    texts = texts_of(plot(tmp_path, tables, kind="topology"))
    for text in ("delay 5 ms, loss 0.1 %", "limit 10,000 packets", "queue fifo, fq_codel"):
        assert text in texts


def test_a_topology_needs_a_destination(tmp_path: Path) -> None:
    output = plot(tmp_path, gather(make_run(1, {"bbr": 1.0}, host=None)), kind="topology")
    assert read(output, "missing.txt") == "Of 1 run that matches, none names its destination.\n"


def test_the_caption_of_a_topology_says_which_runs_and_destinations_it_does_not_show(tmp_path: Path) -> None:
    tables = gather(
        make_run(1, {"bbr": 1.0}, destinations_count=3),
        make_run(2, {"bbr": 1.0}, is_counted=False),
        make_run(3, {"bbr": 1.0}, host=None),
        make_run(4, {"bbr": 1.0}),
    )
    tables["suspects"] = [{"run_id": "r004", "suspect_rule": "sample_gap"}]
    shown, _, rest = read(plot(tmp_path, tables, kind="topology"), "caption.txt").partition("\n")
    assert shown.endswith(
        " 1 run between 1 sender and 1 destination, at RTTs of 10 ms; "
        "1 more run not counted (interrupted, or without a bulk transfer); 1 more run not counted (suspect); "
        "1 more run without a destination."
    )
    assert "1 run to several destinations at once: only the first is drawn." in rest
    assert "same host" not in rest


def test_many_destinations_are_counted(tmp_path: Path) -> None:
    tables = gather(*(make_run(n, {"bbr": 1.0}, host=f"h{n:02}", rtt_ms=1.0 + n) for n in range(15)))
    output = plot(tmp_path, tables, kind="topology")
    texts = texts_of(output)
    assert "and 3 more destinations" in texts
    assert "h11" in texts
    assert "h12" not in texts
    assert pl.read_csv(output / "figure.csv").height == 15


def test_hostile_names_of_hosts_are_only_text(tmp_path: Path) -> None:
    tables = gather(make_run(1, {"bbr": 1.0}, sender_host=HOSTILE, host=HOSTILE))
    output = plot(tmp_path, tables, kind="topology")
    assert "<script" not in read(output, "figure.svg")
    assert read(output, "alt.txt").count("\n") == 1


def test_a_long_name_is_cut_in_the_drawing() -> None:
    # A letter has 6.6 px: four fit into 28 px.
    assert shorten("abcdef", 28.0) == "abc…"
    chart = draw_topology("t", [Lane(Box("x" * 90, []), Box("p", []), [Box("y", ["z" * 90, "one, two"])])])
    marks = json.dumps(chart.to_dict())
    assert "x" * 30 not in marks
    assert "z" * 40 not in marks
    assert '"one, two"' in marks
