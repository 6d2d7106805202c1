"""From a run to the commands of its testbed: links, routes, disciplines, stages, kernel settings."""

from dataclasses import replace
from pathlib import Path

import pytest

from ccreport.collect.plan import Bottleneck, Client, Loss, Route, Run, Sender, Stage, VirtualClock
from ccreport.collect.testbed import qdiscs
from ccreport.collect.testbed.testbed import of_devices, set_module_parameter
from ccreport.collect.testbed.topology import (
    buffer_bytes,
    discipline_commands,
    link_words,
    network_commands,
    places,
    receiver_of,
    required_modules,
    stage_changes,
    sysctls,
)
from ccreport.core.errors import InputError

ROUTE = Route("near", "10.201.1.2", None, 40.0)
FIFO = Bottleneck(50_000_000, 250_000)
RUN = Run(
    session="s",
    job="j",
    suffix="near:1",
    iteration=1,
    routes=(ROUTE,),
    senders=(Sender(1),),
    clients=(Client(1, "near", duration_s=5.0),),
    expected_s=5.0,
    bottleneck=FIFO,
)


def lines(run: Run, place: str) -> list[str]:
    return [" ".join(command.words) for command in discipline_commands(run) if command.place == place]


def test_two_senders_and_two_destinations_are_six_hosts_with_links_and_routes() -> None:
    run = replace(
        RUN, senders=(Sender(1), Sender(2)), routes=(ROUTE, replace(ROUTE, host="far-one", address="10.201.2.2"))
    )
    assert places(run) == ["sender1", "sender2", "router", "far", "receiver1", "receiver2"]
    assert receiver_of(run, "far-one") == "receiver2"
    words = [" ".join(line) for line in link_words(run, {place: f"x-{place}" for place in places(run)})]
    assert words[:6] == [f"netns add x-{place}" for place in places(run)]
    assert [(line.split()[3], line.split()[14]) for line in words[6:]] == [
        ("s0", "r1"),
        ("s0", "r2"),
        ("r0", "c0"),
        ("c1", "d0"),
        ("c2", "d0"),
    ]
    assert all(line.count("mtu 1500") == 2 and line.count("netns x-") == 2 for line in words[6:])
    commands = {(command.place, " ".join(command.words)) for command in network_commands(run)}
    assert ("sender2", "ip addr add 10.202.2.2/24 dev s0") in commands
    assert ("sender2", "ip route add default via 10.202.2.1") in commands
    assert ("router", "ip route add 10.201.2.0/24 via 10.203.0.2") in commands
    assert ("receiver2", "ip route add default via 10.201.2.1") in commands


def test_an_unknown_destination_is_named() -> None:
    with pytest.raises(InputError, match="no route to elsewhere; there are near"):
        receiver_of(RUN, "elsewhere")


def test_half_of_the_rtt_lies_on_either_way_and_loss_where_it_is_declared() -> None:
    route = replace(ROUTE, jitter_ms=2.0, reordering_pct=1.0, loss=Loss("random", 0.001))
    run = replace(RUN, routes=(route,))
    assert lines(run, "far") == [
        "tc qdisc add dev c1 root handle 1: netem limit 10000 delay 20000us 2000us reorder 1% loss random 0.001%"
    ]
    assert lines(run, "receiver1") == ["tc qdisc add dev d0 root handle 1: netem limit 100000 delay 20000us"]
    bursts = replace(ROUTE, loss=Loss("gilbert-elliott", 0.5, 0.1, 20.0, 90.0, 0.01), loss_direction="return")
    run = replace(RUN, routes=(bursts,))
    assert lines(run, "far")[0].endswith("delay 20000us")
    assert lines(run, "receiver1")[0].endswith("loss gemodel 0.1% 20% 90% 0.01%")


def test_a_sender_queues_fairly_below_its_line_rate() -> None:
    run = replace(RUN, senders=(Sender(1, rate_bps=100_000_000, flow_maxrate_bps=5_000_000),))
    # 10 ms of 100 Mbit/s are 125,000 bytes.
    assert lines(run, "sender1") == [
        "tc qdisc add dev s0 root handle 1: tbf rate 100000000bit burst 125000 limit 125000",
        "tc qdisc add dev s0 parent 1:1 handle 10: fq limit 100000 flow_limit 100000 maxrate 5000000bit",
    ]
    assert lines(RUN, "sender1") == ["tc qdisc add dev s0 root handle 1: fq limit 100000 flow_limit 100000"]


def test_in_virtual_time_no_timer_is_late_and_aggregates_are_taken_apart() -> None:
    senders = (Sender(1, rate_bps=10_000_000_000, flow_maxrate_bps=9_900_000_000),)
    run = replace(RUN, senders=senders, mtu_bytes=9000, has_offloads=True, virtual_clock=VirtualClock(0, "1"))
    # Two frames of 9,014 bytes, less than an aggregate has.
    line, queue = lines(run, "sender1")
    assert line.endswith("tbf rate 10000000000bit burst 18028 limit 18028")
    assert queue.endswith("fq limit 100000 flow_limit 100000 timer_slack 0ns maxrate 9900000000bit")


def test_deliveries_can_be_coalesced() -> None:
    run = replace(RUN, receive_coalescing_us=62.5)
    assert lines(run, "far")[0].endswith("delay 20000us slot 62.5us")
    assert lines(run, "receiver1")[0].endswith("delay 20000us slot 62.5us")


@pytest.mark.parametrize(
    ("discipline", "has_ecn", "expected"),
    [
        # RED: maximum 250,000 / 2, minimum a third of that, burst (2 · 41,666 + 125,000) / 3000 = 69.4
        (
            "red",
            False,
            "red limit 250000 min 41666 max 125000 avpkt 1000 burst 70 probability 0.1 bandwidth 50000000bit",
        ),
        # 250,000 / 1514 = 165.1 packets
        ("fq_codel", False, "fq_codel limit 166 quantum 1514 target 5000us noecn"),
        ("fq_codel", True, "fq_codel limit 166 quantum 1514 target 5000us ecn"),
    ],
)
def test_a_discipline_stands_below_a_tbf(discipline: str, has_ecn: bool, expected: str) -> None:
    run = replace(RUN, bottleneck=replace(FIFO, discipline=discipline, has_ecn=has_ecn))
    assert lines(run, "router") == [
        # 10 ms of 50 Mbit/s are 62,500 bytes.
        "tc qdisc add dev r0 root handle 1: tbf rate 50000000bit burst 62500 limit 250000",
        f"tc qdisc add dev r0 parent 1:1 handle 10: {expected}",
    ]


def test_cake_shapes_itself_and_always_marks() -> None:
    run = replace(RUN, bottleneck=replace(FIFO, discipline="cake"))
    # 166 packets of 256 + 2048 bytes of memory
    assert lines(run, "router") == [
        "tc qdisc add dev r0 root handle 1: cake bandwidth 50000000bit besteffort memlimit 382464"
    ]
    with pytest.raises(InputError, match="cake cannot leave ECN out"):
        discipline_commands(replace(run, clients=(replace(RUN.clients[0], has_ecn=True),)))


def test_red_marks_dctcp_by_a_step() -> None:
    run = replace(
        RUN,
        bottleneck=replace(FIFO, discipline="red", has_ecn=True),
        clients=(replace(RUN.clients[0], congestion_control="dctcp"),),
    )
    # 50 Mbit/s · 40 ms / 7 = 35,714.3 bytes
    assert "min 35715 max 35715 avpkt 1000 burst 36 probability 1 bandwidth 50000000bit ecn" in lines(run, "router")[1]
    assert sysctls(run, "sender1")["net.ipv4.tcp_ecn"] == "1"
    assert sysctls(run, "receiver1")["net.ipv4.tcp_ecn"] == "2"
    assert {"sch_red", "sch_tbf", "tcp_dctcp", "tcp_cubic", "sch_netem"} <= set(required_modules(run))


def test_a_slow_link_has_a_burst_of_two_frames_and_a_target_of_more_than_one() -> None:
    slow = Bottleneck(1_000_000, 30_000, "fq_codel")
    run = replace(RUN, bottleneck=slow)
    assert qdiscs.burst_bytes(run, slow.rate_bps) == 3028
    # A frame takes 12.112 ms there.
    assert "target 18168us" in lines(run, "router")[1]


def test_stages_change_what_the_ones_before_left() -> None:
    stages = (Stage(20.0, rate_bps=20_000_000, loss=Loss("random", 1.0)), Stage(10.0, rtt_ms=60.0))
    first, second = stage_changes(replace(RUN, stages=stages))
    assert (first.at_s, second.at_s) == (10.0, 20.0)
    assert [" ".join(command.words) for command in first.commands] == [
        "tc qdisc change dev c1 root handle 1: netem limit 10000 delay 30000us",
        "tc qdisc change dev d0 root handle 1: netem limit 100000 delay 30000us",
    ]
    assert [" ".join(command.words) for command in second.commands[:2]] == [
        "tc qdisc change dev r0 root handle 1: tbf rate 20000000bit burst 25000 limit 250000",
        "tc qdisc change dev c1 root handle 1: netem limit 10000 delay 30000us loss random 1%",
    ]
    with pytest.raises(InputError, match="neither a bottleneck nor a sender's rate"):
        stage_changes(replace(RUN, bottleneck=None, stages=stages))


def test_hosts_have_buffers_for_the_bdp_and_only_settings_of_their_own() -> None:
    assert buffer_bytes(RUN) == 16 << 20
    long = replace(RUN, routes=(replace(ROUTE, rtt_ms=1000.0),))
    # 4 · (50 Mbit/s · 1 s + 250,000 bytes)
    assert buffer_bytes(long) == 26_000_000
    assert sysctls(RUN, "router")["net.ipv4.ip_forward"] == "1"
    assert sysctls(replace(RUN, sysctls={"net.ipv4.tcp_sack": "0"}), "sender1")["net.ipv4.tcp_sack"] == "0"
    with pytest.raises(InputError, match=r"vm\.swappiness would change more than the testbed"):
        sysctls(replace(RUN, sysctls={"vm.swappiness": "1"}), "sender1")


def test_module_parameters_are_set_and_set_back(tmp_path: Path) -> None:
    folder = tmp_path / "tcp_bbr/parameters"
    folder.mkdir(parents=True)
    (folder / "gain").write_text("320,192,256\n")
    restore = set_module_parameter("tcp_bbr.gain[2]", "300", tmp_path)
    assert (folder / "gain").read_text() == "320,192,300"
    restore()
    assert (folder / "gain").read_text() == "320,192,256"
    for name in ("tcp_bbr.gain[9]", "tcp_bbr.none", "gain"):
        with pytest.raises(InputError, match=r"gain|none"):
            set_module_parameter(name, "1", tmp_path)


def test_only_devices_of_the_routes_are_recorded() -> None:
    text = "qdisc noqueue 0: dev lo root refcnt 2 \n Sent 0\nqdisc netem 1: dev c1 root limit 1 delay 1ms\n Sent 1\n"
    assert of_devices(text, ["c1"]) == "qdisc netem 1: dev c1 root limit 1 delay 1ms\n Sent 1\n"
