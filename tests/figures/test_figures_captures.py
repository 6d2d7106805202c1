"""Figures of captured runs, from tables to files: which flows, steps and episodes they draw, and what they say."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest
from archives import at, make_table, save_table, write_yaml
from figure_inputs import DRAWN_FILES, LABELLED_RUNS

from ccreport.core.errors import InputError
from ccreport.core.evaluation import load_evaluation
from ccreport.figures.captures.episodes import MARKS_AT_MOST, find_episodes
from ccreport.figures.captures.marks import choose_byte_unit
from ccreport.figures.captures.series import (
    bin_steps,
    choose_width_s,
    distribute_rtts,
    find_quantile,
    list_captured_flows,
    place_steps,
)
from ccreport.figures.select.declaration import read_declaration
from ccreport.figures.select.queries import COLUMNS
from ccreport.figures.write import number_anew, plot_declaration

KINDS = ("time_sequence", "loss_episodes", "rtt_in_flight", "rtt_distribution")
TABLES = ("runs", "flows", "packet_flows", "packet_intervals", "packets")
NAMES = {"raw_file_id": "c1", "run_id": "r1", "connection_number": 0}


def link(run: str, flow: str, **changes: Any) -> dict[str, Any]:
    """Return a row of packet_flows: data out, seen beside the sender."""
    names = {"run_id": run, "raw_file_id": f"c-{run}", "flow_id": flow, "connection_number": 0, "direction": "out"}
    facts = {
        "local_port": 4001,
        "remote_port": 5201,
        "payload_bytes": 1000,
        "capture_side": "sender",
        "first_utc": at(0),
    }
    return names | facts | changes


def step(number: int, **changes: Any) -> dict[str, Any]:
    """Return a row of packet_intervals: the step of 100 ms that has this number."""
    names = {"run_id": "r1", "raw_file_id": "c-r1", "flow_id": "f1", "connection_number": 0, "direction": "out"}
    return names | {"interval_utc": at(0) + timedelta(milliseconds=100 * number)} | changes


def packet(second: float, number: int, **changes: Any) -> dict[str, Any]:
    """Return a row of packets: data out, or, with an acknowledgement, the answer to it."""
    names = {"run_id": "r1", "raw_file_id": "c-r1", "flow_id": "f1", "connection_number": 0}
    direction = "in" if "acknowledgement_bytes" in changes else "out"
    facts = {"packet_number": number, "capture_s": second, "captured_utc": at(second), "direction": direction}
    return names | facts | {"role": "ack" if direction == "in" else "data"} | changes


def place(*steps: dict[str, Any]) -> pl.DataFrame:
    captured = pl.DataFrame([link("r1", "f1", cc="cubic"), link("r1", "f2", cc="bbr", local_port=4002)])
    return place_steps(make_table("packet_intervals", list(steps)), captured)


def test_a_flow_is_seen_in_the_direction_with_more_payload_and_beside_the_sender() -> None:
    connections = make_table(
        "packet_flows",
        [
            link("r1", "f1", direction="in", payload_bytes=10, capture_side="receiver"),
            link("r1", "f1"),
            # A second capture of the same flow beside the receiver has more of it, but not the path's RTT.
            link("r1", "f1", raw_file_id="c0", payload_bytes=2000, capture_side="receiver"),
            link("r1", "f2", direction="in", local_port=4000),
            link("r1", "f2", payload_bytes=0, local_port=4000),
            link("r1", "control", local_port=3999),
        ],
    )
    flows = pl.DataFrame({"run_id": ["r1", "r1"], "flow_id": ["f1", "f2"], "cc": ["cubic", None]})
    captured = list_captured_flows(connections, flows).select("flow_id", "raw_file_id", "direction", "cc")
    assert captured.rows() == [("f2", "c-r1", "in", "unknown"), ("f1", "c-r1", "out", "cubic")]


def test_steps_are_joined_until_there_are_few_enough() -> None:
    # 40 s are 400 steps; 300 s are 3000: at 1 s 300 bins, at 0.5 s 600.
    assert [choose_width_s(duration_s) for duration_s in (5, 40, 40.1, 300, 3600)] == [0.1, 0.1, 0.2, 1.0, 10.0]
    assert choose_width_s(300, 60) == 5.0


def test_bins_sum_counts_and_weigh_means() -> None:
    rtts = {"ack_rtt_min_ms": 20.0, "ack_rtt_max_ms": 30.0}
    placed = place(
        step(
            0, retransmits_capture_count=1, ack_rtt_samples_count=1, ack_rtt_mean_ms=20.0, sequence_end_bytes=10, **rtts
        ),
        step(
            1, retransmits_capture_count=2, ack_rtt_samples_count=3, ack_rtt_mean_ms=24.0, sequence_end_bytes=30, **rtts
        ),
        step(2, in_flight_mean_bytes=5.0, data_packets_count=2),
        step(1, flow_id="f2", ack_rtt_samples_count=0),
    )
    bins = bin_steps(placed, 0.2)
    # (1 × 20 + 3 × 24) / 4 = 23 ms.
    columns = ("number", "start_s", "end_s", "retransmits_capture_count", "sequence_end_bytes", "ack_rtt_mean_ms")
    assert bins.select(pl.col(columns).round(6)).rows() == [
        (0, 0.0, 0.2, 3, 30, 23.0),
        (0, 0.2, 0.4, 0, None, None),
        (1, 0.0, 0.2, 0, None, None),
    ]
    assert bins["in_flight_mean_bytes"].to_list() == [None, 5.0, None]


def test_a_distribution_weighs_steps_by_their_samples() -> None:
    placed = place(
        step(0, ack_rtt_samples_count=1, ack_rtt_mean_ms=40.0),
        step(1, ack_rtt_samples_count=3, ack_rtt_mean_ms=20.0),
        step(2, flow_id="f2", ack_rtt_samples_count=5, ack_rtt_mean_ms=10.0),
        step(3, ack_rtt_samples_count=0),
    )
    distribution = distribute_rtts(placed)
    assert sorted(distribution.rows()) == [("bbr", 10.0, 1.0), ("cubic", 20.0, 0.75), ("cubic", 40.0, 1.0)]
    cubic = distribution.filter(cc="cubic")
    assert [find_quantile(cubic, share) for share in (0.5, 0.75, 0.76)] == [20.0, 20.0, 40.0]


def test_a_long_distribution_is_thinned() -> None:
    steps = [step(number, ack_rtt_samples_count=1, ack_rtt_mean_ms=20 + number / 10) for number in range(3000)]
    distribution = distribute_rtts(place(*steps))
    assert distribution.height == 400
    assert distribution["share"].max() == 1
    # 1500 of 3000 steps have at most 20 + 1499 / 10 ms; one point stands for up to 8 of them.
    assert find_quantile(distribution, 0.5) == pytest.approx(169.9, abs=0.8)


def test_bytes_have_the_largest_unit_that_fits() -> None:
    assert [choose_byte_unit(length)[0] for length in (12, 31_000, 2_000_000, 3e9)] == ["kB", "kB", "MB", "GB"]


def test_episodes_end_where_nothing_is_sent_again_for_three_rtts() -> None:
    packets = [
        packet(0.0, 1, acknowledgement_bytes=1000, ack_rtt_ms=20.0),
        packet(1.0, 2, sequence_bytes=2000, payload_bytes=1000, role="retransmit_fast"),
        # 50 ms after the last: within 3 × 20 = 60 ms.
        packet(1.05, 3, sequence_bytes=3000, payload_bytes=1000, role="retransmit_probe"),
        packet(1.08, 4, acknowledgement_bytes=3000, sack_start_bytes=4000, sack_end_bytes=5000),
        packet(1.1, 5, sequence_bytes=4000, payload_bytes=1000, role="retransmit_timeout"),
        packet(1.13, 6, sequence_bytes=9000, payload_bytes=1000),
        # Beyond the 40 ms after it.
        packet(1.2, 7, sequence_bytes=10000, payload_bytes=1000),
        packet(2.0, 8, sequence_bytes=9000, payload_bytes=500, role="retransmit_fast"),
    ]
    episodes, total = find_episodes(make_table("packets", packets), "out")
    assert total == 2
    assert [(one.number, one.retransmits_count, one.is_cut) for one in episodes] == [(1, 3, False), (2, 1, False)]
    assert [round(time_s, 6) for time_s in (episodes[0].start_s, episodes[0].end_s)] == [0.96, 1.14]
    assert episodes[0].marks.rows() == [
        ("retransmit_fast", 40.0, 0.0, 1.0),
        ("retransmit_probe", 90.0, 1.0, 2.0),
        ("ack", 120.0, 1.0, 1.0),
        ("sack", 120.0, 2.0, 3.0),
        ("retransmit_timeout", 140.0, 2.0, 3.0),
        ("data", 170.0, 7.0, 8.0),
    ]


def test_an_episode_of_too_many_packets_shows_its_first_part() -> None:
    packets = [
        packet(number / 1000, number + 1, sequence_bytes=1000 * number, payload_bytes=1000, role="retransmit_timeout")
        for number in range(3000)
    ]
    (episode,), total = find_episodes(make_table("packets", packets), "out")
    assert total == 1
    assert episode.is_cut
    assert episode.retransmits_count == 3000
    assert episode.marks.height == MARKS_AT_MOST
    # The 2000th packet: number 1999.
    assert (episode.shown_until_s, episode.end_s) == (1.999, 2.999)


def test_without_retransmits_there_is_no_episode() -> None:
    assert find_episodes(make_table("packets", [packet(0.0, 1, payload_bytes=1)]), "out") == ([], 0)


# Files.


def make_run(run: str, condition: str, iteration: int, mode: str, flows_count: int) -> dict[str, Any]:
    names = {"run_id": run, "condition_id": condition, "iteration": iteration, "mode": mode, "host": "10.0.0.2"}
    facts = {"flows_count": flows_count, "sender_host": "sender", "rtt_ms": 20.0, "is_counted": True}
    return names | facts | {"retransmit_ratio": 0.01 * iteration}


def make_tables(steps_count: int, flows_count: int, runs: tuple[str, ...] = ("r1", "r2")) -> dict[str, Any]:
    """Return runs of a condition, each with flows that alternate between CUBIC and BBR, all at 10 Mbit/s.

    Every tenth step has a retransmit (two in flow 1) and SACK blocks; RTTs are 20 ms, in BBR 30 ms.
    """
    ccs = ["cubic", "bbr"][: max(1, min(2, flows_count))]
    mode = "both" if len(ccs) > 1 else "cubic"
    tables: dict[str, list[dict[str, Any]]] = {name: [] for name in TABLES}
    for iteration, run in enumerate(runs, 1):
        tables["runs"].append(make_run(run, "condition", iteration, mode, flows_count))
        for number in range(flows_count):
            flow, cc = f"{run}/{number}", ccs[number % len(ccs)]
            rates = {"goodput_bps": 1e7, "throughput_bps": 1e7, "sender_s": 1.0, "receiver_s": 1.0}
            tables["flows"].append({"run_id": run, "flow_id": flow, "cc": cc, "is_reverse": False} | rates)
            resent = steps_count // 10 * (2 if number == 1 else 1)
            tables["packet_flows"].append(
                link(run, flow, local_port=4001 + number, retransmits_capture_count=resent, payload_bytes=125_000)
            )
            for at_step in range(steps_count):
                tables["packet_intervals"].append(make_step(run, flow, at_step, cc, is_second=number == 1))
    return tables


def make_step(run: str, flow: str, at_step: int, cc: str, *, is_second: bool) -> dict[str, Any]:
    is_lossy = at_step % 10 == 5
    rtt_ms = 30.0 if cc == "bbr" else 20.0
    ends = {"sequence_end_bytes": 125_000 * (at_step + 1), "acknowledged_end_bytes": 125_000 * at_step}
    # Uneven, so that no path of the drawing is shorter than a measured one.
    wave = (at_step * 7919) % 1000 / 1000
    rtts = {"ack_rtt_min_ms": rtt_ms, "ack_rtt_mean_ms": rtt_ms + wave, "ack_rtt_max_ms": rtt_ms + 2 * wave}
    facts = {"run_id": run, "raw_file_id": f"c-{run}", "flow_id": flow, "data_packets_count": 80}
    counts = {"retransmits_capture_count": (1 + is_second) * is_lossy, "sack_blocks_count": 3 * is_lossy}
    more = {"ack_rtt_samples_count": 40, "in_flight_mean_bytes": 50_000 + 9000 * wave, "window_end_bytes": 200_000_000}
    return step(at_step, **facts, **counts, **rtts, **ends, **more)


def make_database(folder: Path, tables: dict[str, list[dict[str, Any]]]) -> Path:
    database = folder / "archive.duckdb"
    with duckdb.connect(str(database)) as connection:
        for name in TABLES:
            path = save_table(name, tables[name], folder / f"{name}.parquet")
            connection.execute(f"CREATE VIEW {name} AS FROM read_parquet(['{path}'])")
        connection.execute(LABELLED_RUNS)
    return database


def plot(folder: Path, database: Path, kind: str, **changes: Any) -> Path:
    declared = {"kind": kind, "title": "Captured", "where": "true"} | changes
    evaluation = {"title": "t", "algorithms": {"CUBIC": {"members": ["cubic"]}}, "labels": {}, "tables": {}}
    path = folder / "evaluation.yaml"
    write_yaml(path, evaluation | {"figures": {"f": declared}})
    plot_declaration(read_declaration(path, "f"), database, folder / "out")
    return folder / "out"


def read(output: Path, name: str) -> str:
    return (output / name).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tables = make_tables(steps_count=20, flows_count=2)
    tables["packets"] = [
        packet(1.0, 1, flow_id="r1/1", payload_bytes=1000, role="retransmit_fast"),
        packet(1.02, 2, flow_id="r1/1", acknowledgement_bytes=1000, ack_rtt_ms=20.0),
    ]
    return make_database(tmp_path_factory.mktemp("captured"), tables)


def test_columns_that_figures_read_are_columns_of_the_tables() -> None:
    for table in ("packet_flows", "packet_intervals", "packets"):
        names = [name.strip() for name in COLUMNS[table].split(",")]
        assert set(names) <= set(make_table(table, []).columns)


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_files(kind: str, database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, kind)
    assert {path.name for path in output.iterdir()} == DRAWN_FILES
    assert read(output, "caption.txt").count("\n") == 2
    assert "Captured beside the sender." in read(output, "caption.txt")
    assert "CUBIC and BBR, 2 flows, both — sender to 10.0.0.2, RTT 20 ms" in read(output, "alt.txt")


def test_a_time_sequence_draws_one_run(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, "time_sequence")
    drawn = pl.read_csv(output / "figure.csv").filter(drawn_as="mark")
    # Both iterations are alike but for the ratio: a tie, which the lower one takes.
    assert drawn["run_id"].unique().to_list() == ["r1"]
    assert drawn.group_by("flow_id").agg(pl.col("retransmits_capture_count").sum()).sort("flow_id").rows() == [
        ("r1/0", 2),
        ("r1/1", 4),
    ]
    assert "Run shown: r1 (iteration 1), representative of 2 iterations." in read(output, "caption.txt")
    assert "CUBIC, port 4001: 2 retransmits; BBR, port 4002: 4 retransmits" in read(output, "alt.txt")
    svg = read(output, "figure.svg")
    for text in ("CUBIC, sent", "BBR, sent", "edge of the window", "retransmits in 0.1 s", "Sequence number (MB)"):
        assert text in svg


def test_a_declared_run_is_drawn(database: Path, tmp_path: Path) -> None:
    output = plot(tmp_path, database, "rtt_in_flight", run="r2")
    assert "Run shown: r2 (iteration 2), chosen by name from 2." in read(output, "caption.txt")


def test_rtt_figures_say_levels(database: Path, tmp_path: Path) -> None:
    # Two runs with a flow of each algorithm. The most uneven step is the 13th: 13 × 7919 mod 1000 is 947.
    alternative = read(plot(tmp_path, database, "rtt_distribution"), "alt.txt")
    assert "CUBIC, 2 flows: smallest 20.0 ms, median 20." in alternative
    assert "BBR, 2 flows: smallest 30.0 ms, median 30." in alternative
    levels = read(plot(tmp_path, database, "rtt_in_flight"), "alt.txt")
    assert "CUBIC: RTT 20.0 to 20.9 ms" in levels
    assert "kB in flight" in levels


def test_more_than_four_flows_leave_those_with_the_most_retransmits(tmp_path: Path) -> None:
    output = plot(tmp_path, make_database(tmp_path, make_tables(20, 6, ("r1",))), "time_sequence")
    drawn = pl.read_csv(output / "figure.csv")["flow_id"].unique().sort().to_list()
    assert drawn == ["r1/0", "r1/1", "r1/2", "r1/3"]
    assert "Drawn are the 4 flows with the most retransmits of 6." in read(output, "caption.txt")


def test_without_packets_the_message_says_what_to_configure(tmp_path: Path) -> None:
    output = plot(tmp_path, make_database(tmp_path, make_tables(20, 1)), "loss_episodes")
    assert {path.name for path in output.iterdir()} == {"missing.txt"}
    assert "to `packet_runs` in config.yaml; these match: r1, r2" in read(output, "missing.txt")


def test_a_run_without_packets_is_said_to_be_that(database: Path, tmp_path: Path) -> None:
    said = read(plot(tmp_path, database, "loss_episodes", run="r2"), "missing.txt")
    assert said == "The packets of r2 are not stored. Add this identifier to `packet_runs` in config.yaml\n"
    said = read(plot(tmp_path, database, "loss_episodes", run="gone"), "missing.txt")
    assert said == "Run gone is none of the 2 captured runs that match: r1, r2.\n"
    # Of several only the stored ones can be drawn.
    assert "chosen by name" in read(plot(tmp_path, database, "loss_episodes", run="r"), "caption.txt")


@pytest.mark.parametrize("kind", KINDS)
def test_without_captures_the_figure_is_missing(kind: str, tmp_path: Path) -> None:
    tables = make_tables(0, 1)
    tables["packet_flows"] = []
    output = plot(tmp_path, make_database(tmp_path, tables), kind)
    assert "Of 2 runs that match, none has a capture" in read(output, "missing.txt")


@pytest.mark.parametrize("kind", ["time_sequence", "rtt_in_flight", "rtt_distribution"])
def test_without_steps_the_figure_is_missing(kind: str, tmp_path: Path) -> None:
    output = plot(tmp_path, make_database(tmp_path, make_tables(0, 1)), kind)
    assert {path.name for path in output.iterdir()} == {"missing.txt"}


@pytest.mark.slow
def test_figures_of_long_runs_are_small(tmp_path: Path) -> None:
    # 5 minutes of 16 flows, and an episode that never ends.
    tables = make_tables(steps_count=3000, flows_count=16, runs=("r1",))
    tables["packets"] = [
        one
        for number in range(20_000)
        for one in (
            packet(number / 5000, 2 * number + 1, flow_id="r1/1", sequence_bytes=1448 * number, payload_bytes=1448)
            | ({"role": "retransmit_fast"} if number % 4 == 0 else {}),
            packet(number / 5000, 2 * number + 2, flow_id="r1/1", acknowledgement_bytes=1448 * number)
            | {"sack_start_bytes": 1448 * number + 1448, "sack_end_bytes": 1448 * number + 2896, "ack_rtt_ms": 20.0},
        )
    ]
    database = make_database(tmp_path, tables)
    for kind in KINDS:
        sizes = {path.name: path.stat().st_size for path in plot(tmp_path, database, kind).iterdir()}
        assert set(sizes) == DRAWN_FILES
        assert max(sizes.values()) < 1_000_000, sizes


def test_the_schema_knows_the_kinds_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.yaml"
    for kind in (*KINDS, "packets_per_port"):
        figures = {"f": {"kind": kind, "title": "t", "where": "true"}}
        evaluation = {"title": "t", "algorithms": {"C": {"members": ["cubic"]}}, "labels": {}, "tables": {}}
        write_yaml(path, evaluation | {"figures": figures})
        if kind in KINDS:
            assert load_evaluation(path)["figures"]["f"]["kind"] == kind
        else:
            with pytest.raises(InputError, match="packets_per_port"):
                load_evaluation(path)


def test_a_drawing_does_not_tell_what_was_drawn_before(database: Path, tmp_path: Path) -> None:
    drawn = [read(plot(tmp_path, database, "time_sequence"), "figure.svg") for _ in range(2)]
    assert "clip" in drawn[0]
    assert drawn[0] == drawn[1]


def test_clips_are_numbered_in_their_order_and_text_is_left_alone() -> None:
    drawing = '<clipPath id="clip7"/><g clip-path="url(#clip9)"/><g clip-path="url(#clip7)"/><text>host clip7</text>'
    assert number_anew(drawing) == drawing.replace('id="clip7"', 'id="clip0"').replace(
        "url(#clip9)", "url(#clip1)"
    ).replace("url(#clip7)", "url(#clip0)")
