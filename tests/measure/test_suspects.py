"""Each rule for suspect runs by hand-made values: a run that breaks it, and one just within its bound."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from archives import ROOT, at, list_batches, make_table, save_table

from ccreport.archive.unpack import unpack_archive
from ccreport.core.tables import load_schema, read_table
from ccreport.ingest.batch import ingest_batch
from ccreport.measure.batch import measure_batch
from ccreport.measure.suspects.measure import RULES, find_suspects, measure_suspects
from ccreport.measure.suspects.sampled import measure_clock_steps, measure_sampling, measure_sockets

# A path that carries 100 Mbit/s, and a window that would carry twice that.
PATH = {"host": "h", "condition_id": "c", "mode": "cubic", "cc_list": "cubic", "flows_count": 1, "experiment_id": "e"}
SOUND = {"goodput_bps": 100e6, "retransmits_count": 0, "window_bps": 200e6, "limited_ratio": 0.0}
NO_ATTEMPTS: list[dict[str, Any]] = []


def suspects(*runs: dict[str, Any], attempts: list[dict[str, Any]] = NO_ATTEMPTS) -> list[tuple[Any, ...]]:
    """Return run number, rule, observed and bound of the runs that break a rule."""
    rows = [PATH | {"run_id": f"{number}"} | run for number, run in enumerate(runs)]
    found = find_suspects(make_table("runs", rows), make_table("attempts", attempts))
    return found.select(pl.col("run_id").cast(int), "suspect_rule", "observed", "bound").rows()


@pytest.mark.parametrize(
    ("rule", "within", "beyond", "observed", "bound"),
    [
        # A gap of two intervals is no longer than two.
        ("sample_gap", {"sample_gap_max_s": 1.0}, {"sample_gap_max_s": 1.01}, 1.01, 1.0),
        ("clock_step", {"clock_step_s": 0.5}, {"clock_step_s": 0.51}, 0.51, 0.5),
        ("kernel_drops", {"host_drops_count": 0}, {"host_drops_count": 1}, 1, 0),
        ("receiver_not_drained", {"undelivered_bytes": 2000}, {"undelivered_bytes": 2001}, 2001, 2000),
        ("flows_missing", {"flows_asked_count": 1}, {"flows_asked_count": 2}, 1, 2),
    ],
)
def test_what_a_run_tells_of_itself(
    rule: str, within: dict[str, Any], beyond: dict[str, Any], observed: float, bound: float
) -> None:
    known = {"sample_interval_s": 0.5, "socket_buffers_bytes": 1000}
    assert suspects(known | within, known | beyond) == [(1, rule, observed, bound)]


def test_a_run_that_tells_nothing_is_not_suspect() -> None:
    assert suspects({}, {}, {}, {}, {}) == []


def test_a_run_that_was_tried_again_is_suspect_but_not_one_that_was_broken_off() -> None:
    outcomes = {"0": ["completed"], "1": ["failed", "completed"], "2": ["interrupted", "completed"]}
    attempts = [
        {"run_id": run, "attempt_number": number, "line_number": number, "attempt_outcome": outcome}
        for run, ended in outcomes.items()
        for number, outcome in enumerate(ended, start=1)
    ]
    assert suspects({}, {}, {}, attempts=attempts) == [(1, "attempt_repeated", 2, 1)]


def test_a_test_that_is_there_twice_counts_once() -> None:
    test = {"start_utc": at(5), "duration_s": 30.0, "throughput_bps": 9.5e9, "retransmits_count": 3}
    # A third copy is one too many as well; a bit/s more is another test, and so is what says no start or no rate.
    others = [test | other for other in ({"throughput_bps": 9.5e9 + 1}, {"host": "i"}, {"start_utc": at(6)})]
    unknown = [test | {name: None} for name in ("start_utc", "throughput_bps") for _ in range(2)]
    found = suspects(test, test, test, *others, *unknown)
    assert found == [(1, "test_twice", 2, 1), (2, "test_twice", 3, 1)]


@pytest.mark.parametrize("side", ["sender", "receiver"])
def test_a_processor_is_compared_with_those_of_its_condition(side: str) -> None:
    # Median 40; deviations 0, 1, 1, 2, 60: their median 1, and 3.5 · 1.4826 is below the floor of 10 points.
    loads = [{f"cpu_{side}_busiest_pct": load} for load in (38.0, 39.0, 40.0, 41.0, 100.0)]
    assert suspects(*loads) == [(4, f"{side}_cpu_above_siblings", 100.0, 50.0)]
    # Three runs have two siblings each, which is too few.
    assert suspects(*loads[2:]) == []
    # Another condition may well cost more.
    assert suspects(*loads[:4], loads[4] | {"condition_id": "d"}) == []


def test_a_wide_spread_of_siblings_widens_the_bound() -> None:
    # Median 50; deviations 0, 10, 10, 20, 45: 3.5 · 1.4826 · 10 = 51.9 points.
    assert suspects(*({"cpu_sender_busiest_pct": load} for load in (30.0, 40.0, 50.0, 60.0, 95.0))) == []


SLOW = SOUND | {"goodput_bps": 80e6}


def test_a_rate_is_compared_with_all_over_the_same_path() -> None:
    bbr = [SOUND | {"mode": "bbr", "condition_id": "b"}] * 4
    # Most runs of CUBIC are slow, and one shows that it can do it.
    assert suspects(*bbr, SOUND, SLOW, SLOW) == [(n, "rate_below_siblings", 80e6, 90e6) for n in (5, 6)]
    # None does: CUBIC is slower.
    assert suspects(*bbr, SLOW, SLOW) == []
    assert suspects(*bbr, SOUND, SLOW | {"host": "other"}) == []


@pytest.mark.parametrize(
    "excuse",
    [
        {"retransmits_count": 1},
        {"retransmits_count": None},
        {"window_bps": 99e6},
        # A fifth of the rate is missing.
        {"limited_ratio": 0.2},
        {"goodput_bps": 90e6},
    ],
)
def test_a_rate_that_something_known_limits_is_not_suspect(excuse: dict[str, Any]) -> None:
    assert suspects(*[SOUND] * 4, SLOW) == [(4, "rate_below_siblings", 80e6, 90e6)]
    assert suspects(*[SOUND] * 4, SLOW | excuse) == []


def sample(second: float, **facts: Any) -> dict[str, Any]:
    busy = {"run_id": "r", "flow_id": "f", "time_utc": at(second), "unacked_count": 1, "busy_ms": int(1000 * second)}
    return busy | facts


def measure(function: Any, *samples: dict[str, Any]) -> Any:
    return function(make_table("samples", list(samples)))


@pytest.mark.parametrize(
    ("samples", "step_s"),
    [
        ([sample(0.0), sample(0.5), sample(1.0)], 0.0),
        # The clock was set forward by 3 s, then back.
        ([sample(0.0), sample(3.5, busy_ms=500)], 3.0),
        ([sample(1.0), sample(1.5, busy_ms=4500)], 3.0),
        # The second sample was read 0.7 s after its stamp.
        ([sample(0.0), sample(0.5, busy_ms=1200), sample(1.0), sample(1.5)], 0.0),
        # Of three flows one counts busy time of its own.
        (
            [sample(t, flow_id=f, busy_ms=ms) for f, t, ms in [("a", 0, 0), ("a", 1, 9000)]]
            + [sample(t, flow_id=f) for f in "bc" for t in (0, 1)],
            0.0,
        ),
        # Between these it had nothing to send.
        ([sample(0.0), sample(9.0, busy_ms=100, unacked_count=0), sample(9.5, busy_ms=600)], None),
    ],
)
def test_clock_steps_are_where_stamps_and_busy_time_part(samples: list[dict[str, Any]], step_s: float | None) -> None:
    assert measure(measure_clock_steps, *samples)["clock_step_s"].to_list() == ([] if step_s is None else [step_s])


def test_what_flows_waited_for_is_weighed_by_their_bytes() -> None:
    # 3/4 of the bytes waited for 200 + 300 of 1000 ms, the rest for its application in both samples.
    data = sample(1.0, sent_bytes=3000, rwnd_limited_ms=200, sndbuf_limited_ms=300)
    idle = [sample(t, flow_id="g", sent_bytes=1000, is_app_limited=True, snd_wnd_bytes=7) for t in (0.5, 1.0)]
    row = measure(measure_sockets, data, *idle).row(0, named=True)
    assert row == {"run_id": "r", "limited_ratio": 0.75 * 0.5 + 0.25, "socket_buffers_bytes": None}


@pytest.mark.parametrize("seed", range(20))
def test_what_flows_waited_for_does_not_depend_on_their_order(seed: int) -> None:
    drawn = np.random.default_rng(seed).integers(1, 1000, (16, 3)).tolist()
    rows = [
        sample(1.0, flow_id=f"f{number}", busy_ms=1000 + busy_ms, sent_bytes=sent_bytes, rwnd_limited_ms=waiting_ms)
        for number, (busy_ms, sent_bytes, waiting_ms) in enumerate(drawn)
    ]
    found = {measure(measure_sockets, *rows[n:], *rows[:n])["limited_ratio"][0] for n in range(16)}
    assert len(found) == 1


def test_buffers_add_up_over_connections() -> None:
    facts = [{"skmem_sndbuf_bytes": 100, "snd_wnd_bytes": 10}, {"skmem_sndbuf_bytes": 50, "snd_wnd_bytes": 20}]
    rows = [sample(t, flow_id=flow, **of) for flow in "ab" for t, of in enumerate(facts)]
    assert measure(measure_sockets, *rows)["socket_buffers_bytes"].to_list() == [240]


def test_runs_without_stamps_have_no_clock(tmp_path: Path) -> None:
    path = save_table("samples", [sample(0.0, time_utc=None)], tmp_path / "samples.parquet")
    assert measure_sampling(path).select("run_id", "clock_step_s").rows() == [("r", None)]


def test_a_lost_syn_is_no_step_of_the_clock(tmp_path: Path) -> None:
    # The SYN is sent again after a second; no busy time is counted until data are sent.
    lost = {"tcp_state": "SYN-SENT", "busy_ms": 0, "is_app_limited": True, "sent_bytes": 0}
    connecting = [sample(t, **lost) for t in (0.0, 0.5, 1.0)]
    sending = [sample(t, tcp_state="ESTAB", busy_ms=int(1000 * t) - 1200, sent_bytes=9) for t in (1.5, 2.0)]
    path = save_table("samples", [*connecting, *sending], tmp_path / "samples.parquet")
    assert measure_sampling(path).select("clock_step_s", "limited_ratio").rows() == [(0.0, 0.0)]


def test_siblings_may_lie_in_any_batch(tmp_path: Path) -> None:
    (tmp_path / "batches.txt").write_text("a e\nb f\n")
    loads = {"a": [40.0, 41.0], "b": [39.0, 40.0, 90.0]}
    for batch, of_batch in loads.items():
        rows = [PATH | {"run_id": f"{batch}{n}", "cpu_sender_busiest_pct": load} for n, load in enumerate(of_batch)]
        save_table("runs", rows, tmp_path / f"runs/{batch}.parquet")
        save_table("attempts", [], tmp_path / f"attempts/{batch}.parquet")
    measure_suspects(tmp_path / "batches.txt", tmp_path, tmp_path / "suspects.parquet")
    found = read_table("suspects", [tmp_path / "suspects.parquet"])
    assert found.rows() == [("b2", "sender_cpu_above_siblings", 90.0, 50.0, "%")]


def test_the_schema_names_the_rules() -> None:
    columns = {column.name: column for column in load_schema("suspects").columns}
    assert columns["suspect_rule"].enum == tuple(rule.name for rule in RULES)
    assert set(columns["bound_unit"].enum or ()) == {rule.unit for rule in RULES}


def test_a_job_that_was_disturbed_is_found(tmp_path: Path) -> None:
    # Two jobs of a sweep of 500 runs in real time, 50 Mbit/s: something kept one of them from the processor.
    unpack_archive(ROOT / "tests/fixtures/disturbed_job.tar.xz", tmp_path / "raw")
    (batch,) = list_batches(tmp_path / "raw", tmp_path / "w")
    manifest, tables = tmp_path / f"w/batches/{batch}.json", tmp_path / "tables"
    ingest_batch(batch, manifest, tmp_path / "raw", tables, tmp_path / "rejects", [], ".*", "$request_time $bytes_sent")
    measure_batch(batch, manifest, tables, include_interrupted=False, include_cpu_bound=True)
    measure_suspects(tmp_path / "w/batches.txt", tables, tmp_path / "suspects.parquet")
    found = pl.read_parquet(tmp_path / "suspects.parquet").filter(suspect_rule="rate_below_siblings")
    runs = pl.read_parquet(tables / f"runs/{batch}.parquet").join(found, on="run_id", how="left")
    slow = runs.filter(pl.col("observed").is_not_null())
    assert set(slow["job"]) == {"cubic_p1_lossnone"}
    # 23 to 41 Mbit/s where 45 to 48 are right.
    assert slow.height >= 9
    assert slow["observed"].max() < 42e6 < 44e6 < runs.filter(job="bbr_p1_lossnone")["goodput_bps"].min()
