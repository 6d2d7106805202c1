import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from archives import ROOT, at, save_table
from client_outputs import RESULTS
from hypothesis import given, settings
from hypothesis import strategies as st
from ss_inputs import read_versions
from synthesise.__main__ import main as synthesise_command
from synthesise.defects import DEFECTS, OF_JOB, assign_defects, parse_shares
from synthesise.draws import draw_runs, draw_scores, share_out
from synthesise.plan import CLIENTS, SS_VERSIONS, Order, plan_job
from synthesise.synthesise import synthesise
from synthesised import Built, build, make

from ccreport.core.errors import InputError
from ccreport.measure.connections import summarise_connections

# Every number of a run stands in its files to the last digit: bytes and segments are whole, times whole µs, which
# six digits hold. What is left is the rounding of the arithmetic. Only rates of ss are shortened, and no key has those.
TOLERANCE = 1e-9
# A byte more or less of 25 MB, the least that a flow sends here.
BYTE_TOLERANCE = 1e-7
# What files with these defects tell is the whole truth of their runs.
HARMLESS = ["doubled_json", "text_before_json", "two_files", "non_utf8_name", "retried", OF_JOB]
OF_RUN = [
    *("host", "iteration", "tool", "tool_version", "cc_list", "mode", "flows_count", "rtt_min_ms", "loss_pct"),
    *("limit_packets_count", "parameter_value", "throughput_bps", "goodput_bps", "retransmits_count"),
    *("segments_count", "cpu_sender_mean_pct", "is_counted"),
]
OF_JOBMETA = ["rtt_ms", "rtt_source", "nic_bps"]
OF_FLOW = [
    *("local_port", "cc", "sender_bytes", "sender_s", "receiver_bytes", "receiver_s"),
    *("retransmits_count", "segments_count", "rtt_min_ms"),
]


def differences(known: pl.DataFrame, built: pl.DataFrame, key: list[str], columns: list[str]) -> list[tuple[Any, ...]]:
    """Return every value of the key that the tables have otherwise, with theirs; a row of one side only counts."""
    joined = known.join(built, on=key, how="full", suffix="_built", coalesce=True)
    found = []
    for name in columns:
        for *place, told, read in joined.select(*key, name, f"{name}_built").iter_rows():
            is_close = isinstance(told, float) and read is not None and math.isclose(told, read, rel_tol=TOLERANCE)
            if not is_close and told != read:
                found.append((name, *place, told, read))
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return runs of every client and every ss, without defects."""
    folder = tmp_path_factory.mktemp("whole")
    return build(make(folder / "archive", 60, runs_per_job=6, bytes_per_run=15_000), folder / "work")


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Return runs of every client with every defect."""
    folder = tmp_path_factory.mktemp("broken")
    made = make(folder / "archive", 120, seed=2, runs_per_job=12, bytes_per_run=15_000, defects="0.07")
    return build(made, folder / "work")


def test_runs_and_flows_are_as_the_key_says(whole: Built) -> None:
    runs, flows = whole.made.key("runs"), whole.made.key("flows")
    assert (runs.height, runs["run_number"].to_list()) == (60, list(range(60)))
    assert runs.select("tool", "tool_version", "is_stream", "has_diags").n_unique() == len(CLIENTS)
    assert set(runs["ss_version"]) == set(SS_VERSIONS)
    assert {"both", "cubic"} < set(runs["mode"])
    assert set(runs["rtt_source"]) == {"nominal", "ping", "ss"}
    assert differences(runs, whole.tables["runs"], ["path"], [*OF_RUN, *OF_JOBMETA]) == []
    assert differences(flows, whole.tables["flows"], ["path", "stream_number"], OF_FLOW) == []
    assert whole.tables["rejects"].is_empty()


def test_conditions_have_the_means_and_deviations_chosen(whole: Built, broken: Built) -> None:
    for built in (whole, broken):
        known = built.made.key("runs").select("path", "point", "defect")
        pooled = (
            built.tables["runs"]
            .join(known, on="path")
            .filter(pl.col("is_counted") & pl.col("defect").ne_missing("non_utf8_name"))
            .group_by("condition_id")
            .agg(
                pl.col("session", "job", "host", "point").first(),
                pl.len().cast(pl.Int64).alias("runs_count"),
                pl.col("goodput_bps", "throughput_bps").mean(),
                (pl.col("goodput_bps").std() / pl.col("goodput_bps").mean()).alias("goodput_cv"),
                (pl.col("throughput_bps").std() / pl.col("throughput_bps").mean()).alias("throughput_cv"),
                (pl.col("retransmits_count").sum() / pl.col("segments_count").sum()).alias("retransmit_ratio"),
            )
        )
        conditions = built.made.key("conditions")
        rates = ["runs_count", "goodput_bps", "throughput_bps", "goodput_cv", "throughput_cv"]
        key = ["session", "job", "host", "point"]
        assert differences(conditions, pooled, key, rates) == []
        for got, chosen in (
            ("goodput_bps", "goodput_chosen_bps"),
            ("throughput_bps", "throughput_chosen_bps"),
            ("goodput_cv", "rate_chosen_cv"),
            ("throughput_cv", "rate_chosen_cv"),
        ):
            off = (conditions[got] / conditions[chosen] - 1).abs().max()
            assert isinstance(off, float)
            assert off < BYTE_TOLERANCE * (100 if got.endswith("cv") else 1)
    assert differences(whole.made.key("conditions"), pooled_ratio(whole), key, ["retransmit_ratio"]) == []


def pooled_ratio(built: Built) -> pl.DataFrame:
    """Return the retransmit ratio of every condition, from the flows."""
    sums = built.tables["flows"].group_by("path").agg(pl.col("retransmits_count", "segments_count").sum())
    runs = built.made.key("runs").select("path", "session", "job", "host", "point")
    return (
        runs.join(sums, on="path")
        .group_by("session", "job", "host", "point")
        .agg((pl.col("retransmits_count").sum() / pl.col("segments_count").sum()).alias("retransmit_ratio"))
    )


def test_the_ledger_of_defects_is_as_the_key_says(broken: Built) -> None:
    runs, files = broken.made.key("runs"), broken.made.key("files")
    counts = dict(runs.group_by("defect").len().iter_rows())
    # 0.07 of 120 runs, and of 10 jobs, to the nearest whole number.
    assert {name: counts[name] for name in DEFECTS} == dict.fromkeys(DEFECTS, 8) | {OF_JOB: 12}
    reasons = (
        broken.tables["rejects"].group_by("path").agg(pl.col("reason").sort_by("part_number").str.join(","))
    ).rename({"reason": "reasons"})
    ledger = (
        broken.tables["raw_files"].join(reasons, on="path", how="left").with_columns(pl.col("reasons").fill_null(""))
    )
    assert differences(files, ledger, ["path"], ["state", "reasons", "size_bytes"]) == []
    assert set(files["reasons"].str.split(",").explode()) >= {
        *("truncated_json", "error_only", "empty", "doubled", "repaired", "truncated_compression", "no_metadata"),
        *("truncated_text", "interrupted", "duplicate_run", "no_measurement"),
    }
    assert differences(runs, broken.tables["runs"], ["path"], ["is_counted", "iteration", "host"]) == []


def test_harmless_defects_change_no_number(broken: Built) -> None:
    whole = broken.made.key("runs").filter(pl.col("defect").is_null() | pl.col("defect").is_in(HARMLESS))
    runs = broken.tables["runs"].join(whole.select("path"), on="path", how="semi")
    assert differences(whole, runs, ["path"], OF_RUN) == []
    flows = [table.join(whole.select("path"), on="path", how="semi") for table in flows_of(broken)]
    assert differences(*flows, ["path", "stream_number"], OF_FLOW) == []


def flows_of(built: Built) -> tuple[pl.DataFrame, pl.DataFrame]:
    return built.made.key("flows"), built.tables["flows"]


def test_the_number_of_processes_changes_no_byte(tmp_path: Path) -> None:
    options = {"runs_per_job": 2, "bytes_per_run": 15_000, "defects": "0.05"}
    for workers in (1, 2):
        make(tmp_path / str(workers), 20, workers=workers, **options)
    one, two = ({p.relative_to(f): p for p in f.rglob("*")} for f in (tmp_path / "1", tmp_path / "2"))
    assert one.keys() == two.keys()
    assert [p for p in one if one[p].is_file() and one[p].read_bytes() != two[p].read_bytes()] == []
    keys = [sorted((tmp_path / f"{workers}.key").iterdir()) for workers in (1, 2)]
    assert [path.read_bytes() for path in keys[0]] == [path.read_bytes() for path in keys[1]]
    other = make(tmp_path / "other", 20, seed=2, **options)
    assert not other.key("runs").equals(pl.read_parquet(keys[0][-1]))


@settings(max_examples=3, deadline=None)
@given(
    st.integers(1, 4),
    st.integers(0, 2**62),
    st.integers(1, 20),
    st.integers(1, 3),
    st.sampled_from([0.0, 0.25]),
    st.sampled_from([1000, 40_000]),
)
def test_any_order_gives_what_its_key_says(
    tmp_path_factory: pytest.TempPathFactory,
    runs: int,
    seed: int,
    flows: int,
    duration_s: int,
    sample_interval_s: float,
    bytes_per_run: int,
) -> None:
    folder = tmp_path_factory.mktemp("any")
    options = {"flows": flows, "duration_s": duration_s, "sample_interval_s": sample_interval_s}
    made = make(folder / "a", runs, seed=seed, runs_per_job=2, bytes_per_run=bytes_per_run, **options)
    built = build(made, folder / "w")
    assert differences(made.key("runs"), built.tables["runs"], ["path"], [*OF_RUN, *OF_JOBMETA]) == []
    assert differences(made.key("flows"), built.tables["flows"], ["path", "stream_number"], OF_FLOW) == []


@given(st.lists(st.booleans(), min_size=1, max_size=40), st.integers(0, 2**32))
def test_scores_are_standard_where_they_count(is_in: list[bool], seed: int) -> None:
    scores = draw_scores(np.random.default_rng(seed), np.array(is_in))[np.array(is_in)]
    if len(scores) > 1:
        assert np.std(scores, ddof=1) == pytest.approx(1, rel=1e-12)
    assert sum(scores) == pytest.approx(0, abs=1e-12)


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=40), st.floats(0, 1e13))
def test_shares_are_whole_and_add_up(weights: list[float], total: float) -> None:
    parts = share_out(total, np.array(weights))
    assert sum(parts) == round(total)
    assert min(parts) >= 0
    wanted = [weight / sum(weights) * total for weight in weights]
    assert max(abs(part - want) for part, want in zip(parts, wanted, strict=True)) <= 1.5 + 1e-9 * total


def test_retransmits_of_a_condition_add_up_to_the_nearest_whole_number() -> None:
    order = Order(20, 3, 20, 4, 10, 0, 50_000)
    job = plan_job(order, 0)
    runs = draw_runs(order, job, [None] * 20)
    for point in job.points:
        flows = [flow for run in runs if run.point == point for flow in run.flows]
        retransmits = sum(flow.retransmits for flow in flows)
        fresh = sum(flow.segments for flow in flows) - retransmits
        # r of the segments sent are r / (1 - r) of those that were new.
        assert abs(retransmits - point.retransmit_ratio / (1 - point.retransmit_ratio) * fresh) <= 0.5 + 1e-6


def key_paths(text: str) -> list[str]:
    """Return every key of a JSON text with those above it, repeated ones too, but of lists' equal elements once."""

    def walk(value: Any, above: str) -> list[str]:
        if isinstance(value, dict) and "pairs" in value:
            return [path for key, part in value["pairs"] for path in (f"{above}/{key}", *walk(part, f"{above}/{key}"))]
        return walk(value[0], above) if isinstance(value, list) and value else []

    return walk(json.loads(text, object_pairs_hook=lambda pairs: {"pairs": pairs}), "")


@pytest.mark.parametrize(
    "name", ["cli-3.1.7-p2", "cli-3.7-p2", "cli-3.9-p2", "iperf3_p2", "cli-3.17.1-p2", "cli-3.20-p2"]
)
def test_iperf3_prints_the_keys_of_its_version(name: str, whole: Built) -> None:
    real = (RESULTS / f"{name}.json").read_text()
    runs = whole.made.key("runs").filter(
        (pl.col("tool") == "iperf3")
        & ~pl.col("is_stream")
        & (pl.col("tool_version") == json.loads(real)["start"]["version"])
    )
    path, flows_count = runs.select("path", "flows_count").row(0)
    # Buffers of each stream stand there again before 3.14, so the numbers of streams must be taken into account.
    buffers = re.compile("/start/(?:sock_bufsize|sndbuf_actual|rcvbuf_actual)")
    made, told = (
        [key for key in key_paths(text) if not buffers.fullmatch(key)]
        for text in ((whole.made.folder / path).read_text(), real)
    )
    assert made == told
    times = len([key for key in key_paths(real) if key == "/start/sock_bufsize"])
    repeats = {0: 0, 1: 1, 2: flows_count}[times]
    assert (whole.made.folder / path).read_text().count('"sock_bufsize"') == repeats


# Printed only where they are not zero, so that one of the two lines may lack them.
SOMETIMES = {"app_limited", "lastsnd", "lastack", "unacked", "retrans", "bytes_retrans", "notsent", "cubic"}


@pytest.mark.parametrize("version", SS_VERSIONS)
def test_ss_prints_the_tokens_of_its_version(version: str, whole: Built) -> None:
    real = read_versions()[f"{version}.0"]
    made = read_ss(whole, version)
    (of_real,) = (row for row in real["-tinm"].splitlines() if "skmem" in row)
    # The header, then two lines of the control connection, which is a flow as any other.
    of_made = made[2]
    names = [
        [name for name in re.findall(r"(?<![\w/.])([a-z_]+)(?=[: ]|$)", row) if name not in SOMETIMES]
        for row in (re.sub(r"\(.*?\)", "", of_real), re.sub(r"\(.*?\)", "", of_made))
    ]
    assert names[1] == names[0]
    rates = [re.sub(r"\d+", "1", rate) for row in (of_made, of_real) for rate in re.findall(r"\bsend (\S+)", row)]
    assert rates[0] == rates[1]
    assert made[0].split() == real["header"].replace("<pad>", "").split()
    assert bool(re.search(r"[^\n]# \d{9}", "".join(made))) == (version == "5.4")


def read_ss(built: Built, version: str) -> list[str]:
    """Return the lines of a log of this version, less the first stamp."""
    path = built.made.key("runs").filter(pl.col("ss_version") == version)["path"][0]
    return (built.made.folder / path.replace("src-cmd:", "ss:")).read_text().splitlines(keepends=True)[1:]


def test_connections_are_ranked_by_what_was_new(tmp_path: Path) -> None:
    # The second sent 2000 bytes again: 1 001 000 less those are 999 000, fewer than the first's 1 000 000.
    ends = {"run_id": "r", "connection_number": 0, "local_address": "a", "remote_address": "b", "time_utc": at(0)}
    rows = [
        ends | {"flow_id": "1", "sent_bytes": 1_000_000, "retransmitted_bytes": 0, "acked_bytes": 900_000},
        ends | {"flow_id": "2", "sent_bytes": 1_001_000, "retransmitted_bytes": 2000, "acked_bytes": 990_000},
        ends | {"flow_id": "3", "acked_bytes": 5},
    ]
    connections = summarise_connections(save_table("samples", rows, tmp_path / "samples.parquet"))
    assert dict(connections.select("flow_id", "sent_bytes").iter_rows()) == {"1": 1_000_000, "2": 999_000, "3": 5}


def test_shares_of_defects() -> None:
    assert parse_shares(" ") == {}
    assert parse_shares("0.01") == dict.fromkeys(DEFECTS, 0.01)
    assert parse_shares("empty_ss=0.1, retried=1") == {"empty_ss": 0.1, "retried": 1.0}
    for wrong in ("nonsense=0.1", "empty_ss=a", "empty_ss=1.1", "empty_ss=-1", "empty_ss"):
        with pytest.raises(InputError, match="--defects"):
            parse_shares(wrong)
    # A quarter of 4 jobs is one, whose 2 runs have it; a quarter of 8 runs are two.
    assigned = assign_defects({OF_JOB: 0.25, "retried": 0.25}, 8, 2, 1)
    assert sorted(map(str, assigned)) == ["None"] * 4 + [OF_JOB] * 2 + ["retried"] * 2
    assert assigned.index(OF_JOB) % 2 == 0
    with pytest.raises(InputError, match="more than all runs"):
        assign_defects({"retried": 0.6, "empty_ss": 0.6}, 10, 2, 1)


def test_the_command_says_what_it_wrote_and_what_reads_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "made"
    monkeypatch.setattr("sys.argv", ["synthesise", "--folder", str(folder), "--runs", "1", "--workers", "1"])
    synthesise_command()
    assert capsys.readouterr().out == (
        f"wrote {folder}, and the answers into {folder}.key; `make report ARCHIVE={folder}` reports on it\n"
    )
    monkeypatch.setattr("sys.argv", ["synthesise", "--foldr", str(folder)])
    with pytest.raises(SystemExit):
        synthesise_command()
    assert "no option `--foldr`; did you mean `--folder`?" in capsys.readouterr().err


def test_what_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a/file").touch()
    with pytest.raises(InputError, match="not empty"):
        synthesise(tmp_path / "a", 1)
    wrong: tuple[dict[str, Any], ...] = ({"runs": 0}, {"runs": 1, "flows": 0}, {"runs": 1, "sample_interval_s": 11})
    for options in (*wrong, {"runs": 10**8, "duration_s": 86_400}):
        with pytest.raises(InputError, match=r"--|2099"):
            synthesise(tmp_path / "b", **options)
    command = [sys.executable, "-m", "benchmarks.synthesise", "--folder", str(tmp_path / "c"), "--runs", "1"]
    first, again = (
        subprocess.run([*command, "--workers", "1"], cwd=ROOT, capture_output=True, text=True, check=False)
        for _ in range(2)
    )
    assert (first.returncode, first.stderr) == (0, "")
    assert (again.returncode, again.stderr) == (
        1,
        f"synthesise: {tmp_path / 'c'} exists and is not empty; name a new folder\n",
    )
    # About as large as asked for.
    (size,) = (
        pl.read_parquet(tmp_path / "c.key/files.parquet")
        .filter(pl.col("run_number") == 0)
        .select(pl.col("size_bytes").sum())["size_bytes"]
    )
    assert size == pytest.approx(150_000, rel=0.05)
