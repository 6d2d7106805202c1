from collections.abc import Set
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from archives import ROOT, at, make_table, save_table, summarise_one

from ccreport.core.identifiers import flow_id_of_connection
from ccreport.core.tables import read_table
from ccreport.measure import ARCHIVE_TABLES, EXPERIMENT_TABLES
from ccreport.measure.clients import CLIENT_SCHEMA
from ccreport.measure.flows import join_flows
from ccreport.measure.reconcile.captured_flows import STEP_US, Steps, select_captured
from ccreport.measure.reconcile.reconcile import reconcile_flows
from ccreport.summarise.database import list_views

NO_CLIENTS = pl.DataFrame(schema=CLIENT_SCHEMA)
NO_INTERVALS = pl.DataFrame(schema={"run_id": pl.String(), "sample_interval_s": pl.Float64()})

FLOW = flow_id_of_connection("r", "10.0.0.1", 1, "10.0.0.2", 5201)
ENDS = {"local_address": "10.0.0.1", "local_port": 1, "remote_address": "10.0.0.2", "remote_port": 5201}
OWN = {"run_id": "r", "flow_id": FLOW}
KEY = OWN | {"raw_file_id": "c", "connection_number": 0, "direction": "out"}
SEGMENT = 1000

# One flow of ten steps of 100 ms: 37 bytes of cookie at 0 s, data from 0.1 s on, 10 segments a step, all acknowledged
# in the step after; 1 retransmit at 0.3 s, 2 at 0.6 s and 4 at 0.9 s, in the last step.
RETRANSMITS = [0, 0, 0, 1, 0, 0, 2, 0, 0, 4]
SENT = [37 + 10 * SEGMENT * n for n in range(10)]


def steps(retransmits: list[int] = RETRANSMITS) -> list[dict[str, Any]]:
    return [
        KEY
        | {
            "interval_utc": at(n / 10),
            "retransmits_capture_count": count,
            "retransmitted_capture_bytes": count * SEGMENT,
            "sequence_end_bytes": SENT[n],
            "acknowledged_end_bytes": SENT[n - 1] if n else 0,
            "ack_rtt_min_ms": 20.0,
            "ack_rtt_max_ms": 30.0,
        }
        for n, count in enumerate(retransmits)
    ]


def capture(**facts: Any) -> dict[str, Any]:
    # 90,037 B in 1 s.
    return (
        KEY
        | ENDS
        | {
            "first_utc": at(0.0),
            "last_utc": at(0.999),
            "syn_utc": at(0.0),
            "handshake_rtt_ms": 20.0,
            "capture_side": "sender",
            "ended": "fin",
            "completion_capture_s": 0.99,
            "ack_rtt_min_ms": 20.0,
            "mss_announced_bytes": SEGMENT,
            "data_packets_count": 98,
            "payload_bytes": 97_037,
            "unique_bytes": 90_037,
            "retransmits_capture_count": sum(RETRANSMITS),
            "retransmitted_capture_bytes": SEGMENT * sum(RETRANSMITS),
            "goodput_capture_bps": 720_296.0,
        }
        | facts
    )


def sample(second: float, retransmits: int, **facts: Any) -> dict[str, Any]:
    counters = {"retransmits_ss_count": retransmits, "data_segments_out_count": 108, "mss_bytes": SEGMENT, "cc": "bbr"}
    return OWN | ENDS | {"time_utc": at(second)} | counters | facts


def stream(**facts: Any) -> dict[str, Any]:
    # The receiver takes 90,000 B in 1 s: 720 kbit/s, as the capture.
    known = {"stream_number": 5, "sender_bytes": 90_000, "sender_s": 1.0, "receiver_bytes": 90_000, "receiver_s": 1.0}
    return OWN | ENDS | known | facts


def reconcile(
    folder: Path,
    captured: dict[str, Any],
    samples: list[dict[str, Any]],
    tool: dict[str, Any] | None = None,
    log: dict[str, Any] | None = None,
    of_steps: list[dict[str, Any]] | None = None,
    pauses: Set[datetime] = frozenset(),
    **test: Any,
) -> dict[str, Any]:
    packet_flows = make_table("packet_flows", [captured])
    path = save_table("samples", samples, folder / "samples.parquet")
    tests = [{"run_id": "r", "protocol": "TCP", "mss_bytes": SEGMENT} | test] if tool else []
    streams = [tool] if tool else []
    flows = join_flows(make_table("tests", tests), make_table("streams", streams), path, NO_INTERVALS, None, NO_CLIENTS)
    captures = make_table("captures", [OWN_CAPTURE])
    logs = make_table("capture_logs", [{"run_id": "r", "raw_file_id": "l"} | log] if log else [])
    intervals = save_table("packet_intervals", steps() if of_steps is None else of_steps, folder / "steps.parquet")
    stamps = make_table("sample_stamps", [{"time_utc": time} for time in {row["time_utc"] for row in samples} | pauses])
    (row,) = reconcile_flows(flows, packet_flows, path, stamps, captures, logs, intervals).iter_rows(named=True)
    assert make_table("reconciliation", [row]).height == 1
    return row


OWN_CAPTURE = {"run_id": "r", "raw_file_id": "c", "last_utc": at(0.999)}


def test_witnesses_that_agree(tmp_path: Path) -> None:
    # ss: 50 segments of 1000 B between 0.4 s and 0.95 s: 727 kbit/s.
    samples = [
        sample(0.4, 1, acked_bytes=30_038),
        sample(0.95, 7, acked_bytes=80_038, dsack_dups_count=2, retransmitted_bytes=7000, rtt_min_ms=20.5),
    ]
    row = reconcile(tmp_path, capture(), samples, stream(retransmits_iperf3_count=7, rtt_min_ms=20.9))
    assert (row["explanation"], row["is_explained"]) == ("all agree", True)
    assert (row["cc"], row["retransmits_ss_net_count"], row["retransmitted_ss_bytes"]) == ("bbr", 5, 7000)
    assert row["goodput_ss_bps"] == pytest.approx(50_000 * 8 / 0.55)
    assert (row["rtt_min_iperf3_ms"], row["rtt_min_ss_ms"], row["rtt_min_capture_ms"]) == (20.9, 20.5, 20.0)
    assert (row["ss_difference_count"], row["iperf3_difference_count"]) == (0, 0)


@pytest.mark.parametrize(
    ("retransmits", "acked", "is_explained"),
    [
        (1, None, True),  # at 0.55 s: one before, none in the step that had begun, the next stamp being 0.1 s later
        (3, None, True),  # the two of the step at 0.6 s, which had begun by then
        (0, None, False),
        (4, None, False),
        # 50,037 B (and SYN) were acknowledged in the step at 0.6 s: one or three, none or four are wrong.
        (1, 50_038, True),
        (3, 50_038, True),
        (4, 50_038, False),
        # As many were acknowledged at 0.4 s, before the stamp.
        (1, 20_038, False),
    ],
)
def test_sampling_that_ended_early(tmp_path: Path, retransmits: int, acked: int | None, is_explained: bool) -> None:
    samples = [sample(0.45, min(1, retransmits)), sample(0.55, retransmits, acked_bytes=acked)]
    row = reconcile(tmp_path, capture(), samples)
    assert row["ss_difference_count"] == 7 - retransmits
    assert row["is_explained"] is is_explained, row["explanation"]
    assert "sampling ended early" in row["explanation"]
    assert row["explanation"].startswith("unexplained") is not is_explained


def test_a_stamp_without_sockets_ends_a_sample_too(tmp_path: Path) -> None:
    samples = [sample(0.45, 1), sample(0.55, 3)]
    assert not reconcile(tmp_path, capture(), samples, pauses={at(0.59)})["is_explained"]


def test_a_late_sample_is_found_by_what_was_acknowledged(tmp_path: Path) -> None:
    """The machine was busy: a sample stamped 0.15 s counts what the capture shows at 0.6 s, before the next stamp."""
    samples = [sample(0.15, 3, acked_bytes=50_038), sample(0.8, 3, acked_bytes=70_038)]
    assert reconcile(tmp_path, capture(), samples)["is_explained"]
    early = [sample(0.15, 3, acked_bytes=50_038), sample(0.55, 2, acked_bytes=50_038)]
    assert not reconcile(tmp_path, capture(), early)["is_explained"]


def test_a_flow_without_samples_is_compared_with_the_tool_alone(tmp_path: Path) -> None:
    row = reconcile(tmp_path, capture(), [], stream(retransmits_iperf3_count=7))
    assert (row["retransmits_ss_count"], row["is_explained"]) == (None, True)
    assert row["explanation"] == "ss took no sample of it"


@pytest.mark.parametrize(("retransmits", "is_explained"), [(0, False), (1, True), (3, True), (4, False)])
def test_iperf3_that_ended_early(tmp_path: Path, retransmits: int, is_explained: bool) -> None:
    # It began between 0.1 s and 0.2 s, so after 0.45 s it ended between 0.55 s and 0.65 s: 1 or 3 by then.
    row = reconcile(tmp_path, capture(), [], stream(retransmits_iperf3_count=retransmits, sender_s=0.45))
    assert row["is_explained"] is is_explained
    assert "iperf3 ended after 0.45 s" in row["explanation"]


@pytest.mark.parametrize(("retransmits", "is_explained"), [(1, False), (2, True), (6, True), (7, True), (8, False)])
def test_an_omitted_interval(tmp_path: Path, retransmits: int, is_explained: bool) -> None:
    # Counting began between 0.35 s and 0.45 s, when 0 or 1 had been sent again, and ended 0.4 s later between 0.75 s
    # and 0.85 s with 3 by then: 2 or 3.
    measured = [0, 0, 0, 1, 0, 0, 2, 0, 0, 9]
    if retransmits > 3:
        # 0.5 s later, between 0.85 s and 0.95 s: 3 to 7, of which 0 or 1 were omitted.
        measured = RETRANSMITS
    tool = stream(retransmits_iperf3_count=retransmits, sender_s=0.5 if retransmits > 3 else 0.4)
    captured = capture(retransmits_capture_count=sum(measured))
    row = reconcile(tmp_path, captured, [], tool, of_steps=steps(measured), omit_s=0.25)
    if row["iperf3_difference_count"] != 0:
        assert "omitted interval of 0.25 s" in row["explanation"]
    assert row["is_explained"] is is_explained, row["explanation"]


@pytest.mark.parametrize(("drops", "is_explained"), [(0, False), (2, False), (3, True)])
def test_drops_of_the_capture(tmp_path: Path, drops: int, is_explained: bool) -> None:
    log = {"kernel_drops_count": drops, "interface_drops_count": 0, "captured_packets_count": 100}
    row = reconcile(tmp_path, capture(), [sample(0.95, 10)], log=log | {"received_packets_count": 100})
    assert row["is_explained"] is is_explained
    assert (f"capture drops, {drops} packets" in row["explanation"]) is (drops > 0)


@pytest.mark.parametrize(("later", "is_explained"), [(5, True), (6, False)])
def test_a_capture_that_ended_early(tmp_path: Path, later: int, is_explained: bool) -> None:
    # tcpdump had captured 98 of 103 packets; ss counts 3 inside the capture and more behind its end.
    log = {"captured_packets_count": 98, "received_packets_count": 103, "kernel_drops_count": 0}
    samples = [sample(0.7, 3, acked_bytes=60_038), sample(1.2, 3 + later, acked_bytes=100_038)]
    row = reconcile(tmp_path, capture(ended="open"), samples, log=log | {"interface_drops_count": 0})
    assert f"capture ended early: ss counts {later} more" in row["explanation"]
    assert row["is_explained"] is is_explained, row["explanation"]


@pytest.mark.parametrize(
    ("packets", "size", "retransmitted", "is_explained"),
    [(40, 2426, 7_000, True), (40, 2426, 8_000, False), (40, 2426, 2_000, False), (90, 1078, 7_000, True)],
)
def test_merged_segments_are_compared_by_bytes(
    tmp_path: Path, packets: int, size: int, retransmitted: int, is_explained: bool
) -> None:
    # 97,037 B in 40 packets are 2426 B a packet, in 90 they are 1078 B: more than an MSS. The kernel counts 12 segments
    # where the capture saw 7 packets of 7000 B: as many bytes, 3000 before the last step and 7000 after.
    captured = capture(data_packets_count=packets)
    row = reconcile(tmp_path, captured, [sample(0.95, 12, retransmitted_bytes=retransmitted)])
    assert f"offload aggregates, {size} B a packet" in row["explanation"]
    assert row["is_explained"] is is_explained


@pytest.mark.parametrize(("received", "is_explained"), [(20_000, True), (40_000, True), (60_000, False)])
def test_the_receivers_rate(tmp_path: Path, received: int, is_explained: bool) -> None:
    # Began between 0.1 s and 0.2 s and lasted 0.3 s, so it ended between 0.4 s and 0.5 s, when between 20,000 B (steps
    # over at 0.3 s, a step for reading) and 40,000 B were acknowledged.
    row = reconcile(tmp_path, capture(), [], stream(receiver_bytes=received, receiver_s=0.3, sender_s=0.2))
    assert f"iperf3's receiver took {received} B in 0.30 s" in row["explanation"]
    assert row["is_explained"] is is_explained, row["explanation"]


@pytest.mark.parametrize(("by_ss", "by_tool", "is_explained"), [(23.0, 25.0, False), (20.9, 29.0, True)])
def test_smallest_rtts(tmp_path: Path, by_ss: float, by_tool: float, is_explained: bool) -> None:
    # The capture saw 20 ms before the sample; iperf3 reads smoothed values, which may be larger.
    samples = [sample(0.95, 7, rtt_min_ms=by_ss)]
    row = reconcile(tmp_path, capture(), samples, stream(retransmits_iperf3_count=7, rtt_min_ms=by_tool))
    assert "RTT: iperf3 reads smoothed values" in row["explanation"]
    assert row["is_explained"] is is_explained, row["explanation"]


@pytest.mark.parametrize(
    ("side", "by_ss", "is_explained"),
    [
        ("sender", (44.0, 46.5), True),  # 2 ms, a tenth of the smallest, may lie between the witnesses' readings
        ("sender", (44.0, 45.5), False),
        ("sender", (), False),  # nobody else saw a queue
        ("between", (44.0, 46.5), False),  # which at another place than the sender does not hide from the capture
    ],
)
def test_a_queue_above_the_capture(tmp_path: Path, side: str, by_ss: tuple[float, ...], is_explained: bool) -> None:
    # Nothing was sent again, and no round trip of the capture took more than 30 ms; iperf3 never read less than 48 ms.
    samples = [sample(0.4 + 0.5 * n, 0, rtt_ms=rtt) for n, rtt in enumerate(by_ss)]
    captured = capture(capture_side=side, retransmits_capture_count=0)
    tool = stream(retransmits_iperf3_count=0, rtt_min_ms=48.0)
    row = reconcile(tmp_path, captured, samples, tool, of_steps=steps([0] * 10))
    assert "RTT: iperf3 reads smoothed values, 48.0 ms, the capture 20.0 to 30.0 ms" in row["explanation"]
    assert ("below the queue of the sender, ss 44.0 to" in row["explanation"]) is (side == "sender" and bool(by_ss))
    assert row["is_explained"] is is_explained, row["explanation"]


def test_a_capture_at_the_receiver_knows_the_path_by_the_handshake(tmp_path: Path) -> None:
    row = reconcile(tmp_path, capture(capture_side="receiver", ack_rtt_min_ms=0.05), [sample(0.95, 7, rtt_min_ms=20.0)])
    assert (row["rtt_min_capture_ms"], row["is_explained"]) == (20.0, True)


def test_a_connection_without_data_is_compared_too(tmp_path: Path) -> None:
    nothing = {"data_packets_count": 0, "payload_bytes": 0, "unique_bytes": 0, "goodput_capture_bps": None}
    captured = capture(retransmits_capture_count=0, retransmitted_capture_bytes=0, **nothing)
    row = reconcile(tmp_path, captured, [], stream(retransmits_iperf3_count=2), of_steps=[])
    assert (row["retransmits_capture_count"], row["is_explained"]) == (0, False)
    assert "when it began or ended is not known" in row["explanation"]


def test_the_published_table(tmp_path: Path) -> None:
    flow = OWN | ENDS | {"cc": "cubic", "goodput_bps": 1e6}
    of_witnesses = {"goodput_iperf3_bps": 1e6, "retransmits_capture_count": 7, "is_explained": True, "cc": "cubic"}
    rows = {
        "runs": [{"run_id": "r", "session": "s", "job": "capture_p1", "iteration": 2}],
        "flows": [flow],
        "reconciliation": [OWN | {"raw_file_id": "c", "explanation": "all agree"} | of_witnesses],
    }
    (tmp_path / "experiments.txt").write_text("e\n")
    for table in EXPERIMENT_TABLES:
        save_table(table, rows.get(table, []), tmp_path / table / "e.parquet")
    for table in ARCHIVE_TABLES:
        save_table(table, [], tmp_path / table / "archive.parquet")
    evaluation = ROOT / "evaluations/esnet-dtn.yaml"
    list_views(tmp_path / "experiments.txt", tmp_path, evaluation, tmp_path / "archive.duckdb")
    summarise_one("witnesses", evaluation, tmp_path / "archive.duckdb", tmp_path)
    (row,) = read_table("witnesses", [tmp_path / "witnesses.parquet"]).iter_rows(named=True)
    assert (row["job"], row["iteration"], row["algorithm"], row["local_port"]) == ("capture_p1", 2, "CUBIC", 1)
    assert (row["retransmits_capture_count"], row["explanation"]) == (7, "all agree")
    assert "Goodput iperf3 (Mbit/s)" in (tmp_path / "witnesses.html").read_text()


def test_a_run_without_captures_has_no_rows(tmp_path: Path) -> None:
    path = save_table("samples", [sample(0.5, 1)], tmp_path / "samples.parquet")
    nothing = make_table("packet_flows", [])
    flows = join_flows(make_table("tests", []), make_table("streams", []), path, NO_INTERVALS, None, NO_CLIENTS)
    intervals = save_table("packet_intervals", [], tmp_path / "steps.parquet")
    captures, logs = make_table("captures", []), make_table("capture_logs", [])
    rows = reconcile_flows(flows, nothing, path, make_table("sample_stamps", []), captures, logs, intervals)
    assert make_table("reconciliation", rows.to_dicts()).height == 0


def test_the_connection_that_ss_sampled_is_the_flow() -> None:
    """A 4-tuple was used three times; the second connection is the one that ss sampled."""
    packet_flows = make_table(
        "packet_flows",
        [
            capture(connection_number=number, first_utc=at(10.0 * number), last_utc=at(10.0 * number + 5))
            for number in range(3)
        ],
    )
    flows = pl.DataFrame({"flow_id": [FLOW], "is_reverse": [False], "first_utc": [at(11.0)], "last_utc": [at(14.0)]})
    assert select_captured(flows, packet_flows)["connection_number"].to_list() == [1]
    unsampled = flows.with_columns(first_utc=pl.lit(None, pl.Datetime("us", "UTC")))
    assert select_captured(unsampled, packet_flows)["connection_number"].to_list() == [2]
    assert select_captured(flows.with_columns(is_reverse=pl.lit(value=True)), packet_flows).height == 0


def test_bounds_of_a_time_inside_a_step() -> None:
    counted = Steps(make_table("packet_intervals", steps()))
    start = round(at(0.0).timestamp() * 1e6)
    # At 0.35 s the steps up to 0.3 s are over (none) and that from 0.3 s has begun (one).
    window = counted.window(start + 350_000, start + 350_000)
    assert counted.bounds("retransmits_capture_count", window) == (0, 1)
    assert counted.window(start - STEP_US, start - 1) == (0, 0)
    assert counted.start_of(37) == round((at(0.0) + timedelta(microseconds=STEP_US)).timestamp() * 1e6)
    assert counted.start_of(10**9) is None
