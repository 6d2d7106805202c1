from pathlib import Path
from typing import Any

import pytest
from test_measure_runs import measure, stream

UDP = {"run_id": "r", "protocol": "UDP", "tool_version": "iperf 3.17", "duration_s": 10.0}


def datagrams(port: int, **facts: Any) -> dict[str, Any]:
    known = {"sender_bytes": 10_000_000, "sender_s": 10.0, "packets_count": 10_000, "lost_packets_count": 100}
    return stream(port, **(known | {"receiver_bytes": 5_000_000, "receiver_s": 8.0, "jitter_ms": 0.25} | facts))


def test_a_run_of_datagrams_has_rates_loss_and_jitter(tmp_path: Path) -> None:
    # 10 MB in 10 s and 5 MB in 8 s of each of two streams; 100 and 300 of 10,000 datagrams lost.
    streams = [datagrams(1), datagrams(2, lost_packets_count=300, jitter_ms=0.75)]
    run, flows = measure(tmp_path, tests=[UDP], streams=streams)
    assert (run["throughput_bps"], run["goodput_bps"]) == (16e6, 10e6)
    assert (run["packets_count"], run["lost_packets_count"], run["lost_packets_ratio"]) == (20_000, 400, 0.02)
    assert run["jitter_mean_ms"] == 0.5
    assert (run["retransmits_count"], run["retransmit_ratio"], run["is_counted"]) == (None, None, False)
    assert flows.is_empty()


@pytest.mark.parametrize("missing", ["lost_packets_count", "packets_count", "jitter_ms", "receiver_bytes"])
def test_what_one_stream_does_not_say_is_unknown_of_the_run(missing: str, tmp_path: Path) -> None:
    run, _ = measure(tmp_path, tests=[UDP], streams=[datagrams(1), datagrams(2, **{missing: None})])
    columns = {"jitter_ms": ["jitter_mean_ms"], "receiver_bytes": ["goodput_bps"]}
    assert [run[name] for name in columns.get(missing, [missing, "lost_packets_ratio"])] == [
        None for _ in columns.get(missing, [missing, "lost_packets_ratio"])
    ]


def test_a_run_of_tcp_has_no_datagrams(tmp_path: Path) -> None:
    facts = {"packets_count": None, "lost_packets_count": None, "jitter_ms": None}
    run, _ = measure(tmp_path, tests=[UDP | {"protocol": "TCP"}], streams=[datagrams(1, **facts)])
    assert (run["packets_count"], run["lost_packets_ratio"], run["jitter_mean_ms"]) == (None, None, None)
    assert run["throughput_bps"] == 8e6


def test_a_receiver_s_rate_without_its_bytes(tmp_path: Path) -> None:
    facts = {"receiver_bytes": None, "receiver_s": None, "receiver_bps": 3e6}
    for protocol in ("TCP", "UDP"):
        run, _ = measure(tmp_path, tests=[UDP | {"protocol": protocol}], streams=[datagrams(1, **facts)])
        assert run["goodput_bps"] == 3e6
