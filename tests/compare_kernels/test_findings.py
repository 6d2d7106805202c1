"""Findings of made-up runs: verdicts, what was declared, exit codes, and what machines read of them."""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest
import yaml
from archives import ROOT

from ccreport.collect.declare.campaign import load_campaign
from ccreport.collect.declare.planning import plan_campaign
from ccreport.collect.kernel.find_kernel import UserKernel
from ccreport.compare_kernels import campaigns
from ccreport.compare_kernels.campaigns import list_steps, write_campaigns
from ccreport.compare_kernels.carry_out import Measured
from ccreport.compare_kernels.declaration import Comparison, Criterion, Side, load_comparison, make_comparison
from ccreport.compare_kernels.findings import Finding, check_names, count_more_pairs, find_all, find_exit_code
from ccreport.compare_kernels.measures import MEASURES, Runs
from ccreport.compare_kernels.outputs import write_json, write_junit, write_summary
from ccreport.compare_kernels.page import _write_findings
from ccreport.compare_kernels.scorecard import score
from ccreport.compare_kernels.wording import plan_more, summarise
from ccreport.core.errors import InputError

QUICK = ROOT / "campaigns/quick.yaml"
KERNEL = UserKernel(Path("linux-b"), "6.1.0", "c" * 64, "5" * 64, 1000, has_virtual_time=True, source=None)
MEASURED = Measured("virtual", {"a": None, "b": KERNEL}, 90.0, {})
# Side a and b of three blocks.
SAME = ([10.0, 11.0, 12.0], [10.0, 11.0, 12.0])
FASTER = ([10.0, 11.0, 12.0], [20.0, 22.1, 24.0])
OPEN = ([10.0, 11.0, 12.0], [11.0, 10.0, 14.0])


def make_runs(**measures: tuple[Sequence[float | None], Sequence[float | None]]) -> Runs:
    """Return runs of one condition for each keyword `<job>__<measure>`."""
    rows = [
        {"condition": name.split("__")[0], "side": side, "block": block, "iteration": 1, "is_counted": True}
        | dict.fromkeys(MEASURES)
        | {name.split("__")[1]: value}
        for name, values in measures.items()
        for side, of_side in zip("ab", values, strict=True)
        for block, value in enumerate(of_side, 1)
    ]
    return Runs(pl.DataFrame(rows, infer_schema_length=None))


def declare(expected: Sequence[Mapping[str, str]] = (), criteria: Sequence[Criterion] = ()) -> Comparison:
    return Comparison(
        "name", "A | B", QUICK, Side("old"), Side("new"), 3, 5.0, 0.1, expected=expected, criteria=criteria
    )


def find(expected: Sequence[Mapping[str, str]] = (), **measures: Any) -> list[Finding]:
    return find_all(declare(expected), make_runs(**measures))


@pytest.mark.parametrize(
    ("verdict", "values", "code"),
    [
        (None, SAME, 0),
        (None, FASTER, 1),
        (None, OPEN, 2),
        ("up", FASTER, 0),
        ("down", FASTER, 1),
        ("up", SAME, 1),
        ("up", OPEN, 2),
        ("any", OPEN, 0),
    ],
)
def test_exit_codes(verdict: str | None, values: Any, code: int) -> None:
    expected = [{"condition": "jo*", "measure": "goodput", "verdict": verdict}] if verdict else []
    assert find_exit_code(find(expected, job__goodput=values)) == code


def test_nothing_measured_is_not_equal() -> None:
    assert find_exit_code([]) == 2


def test_differences_come_first_and_a_longer_completion_is_slower() -> None:
    found = find(one__goodput=SAME, two__completion=FASTER, three__rtt_p99=OPEN)
    assert [(one.condition, one.text) for one in found] == [
        ("two", "slower"),
        ("three", "undecided"),
        ("one", "equal within ±5 %"),
    ]
    assert (count_more_pairs(found) or 0) > 0


def test_the_means_of_both_sides_have_the_ratio_that_is_told() -> None:
    # Arithmetic means of 37 and 77.3 would have 2.09, and a single large pair would carry them.
    (found,) = find(job__goodput=([1.0, 10.0, 100.0], [2.0, 30.0, 200.0]))
    assert found.mean_a == pytest.approx(10)
    assert (found.mean_b or 0) / (found.mean_a or 1) == pytest.approx(found.effect.value)
    assert found.effect.value == pytest.approx(12 ** (1 / 3))


def test_one_test_that_is_hard_to_tell_does_not_hide_what_half_of_them_take() -> None:
    found = find(one__goodput=OPEN, two__goodput=([10.0, 11.0, 12.0], [10.0, 11.5, 13.0]))
    assert [finding.status for finding in found] == ["undecided", "undecided"]
    half, whole = (count_more_pairs(found, share) for share in (0.5, 1))
    assert 0 < (half or 0) < (whole or 0)
    told = plan_more(found, 60.0)
    assert f"about {half} more blocks" in told
    assert "would tell half and about" in told
    assert f"{whole} more blocks" in told


def test_after_two_pairs_that_tell_nothing_more_than_two_blocks_are_advised() -> None:
    found = find(one__goodput=([10.0, 10.0], [1.0, 90.0]))
    assert [finding.status for finding in found] == ["undecided"]
    unknown = [replace(each, effect=replace(each.effect, needed_count=None)) for each in found]
    assert plan_more(unknown, 60.0).endswith("is not known; measure more blocks, 4 or more")
    lone = find(one__goodput=([10.0], [20.0]))
    assert plan_more(lone, 60.0).endswith("measure at least two blocks")


def test_a_run_without_a_value_is_no_pair_and_retransmits_may_be_none_at_all() -> None:
    found = find(one__goodput=([1.0, None, 3.0], [1.0, 2.0, 3.0]), two__retransmits=([0.0] * 3, [0.0, 0.01, 0.0]))
    assert {one.condition: (one.effect.pairs_count, one.effect.verdict) for one in found} == {
        "one": (2, "equal"),
        "two": (3, "equal"),
    }


NEVER = ([30.0, 31.0, 32.0], [None] * 3)


def test_what_no_run_of_a_side_has_is_not_measured_and_no_more_runs_are_advised(tmp_path: Path) -> None:
    comparison, found = declare(), find(one__goodput=FASTER, one__slow_start_cwnd=NEVER)
    assert [(finding.status, finding.text) for finding in found] == [
        ("differs", "faster"),
        ("not measured", "not measured: no run of B left slow start"),
    ]
    assert summarise(comparison, found, MEASURED) == (
        "1 of 2 tests differs, and 1 is not measured (no run of B left slow start): new is not as old."
    )
    write_junit(tmp_path / "junit.xml", comparison, found, MEASURED)
    suite = ElementTree.fromstring((tmp_path / "junit.xml").read_text())  # noqa: S314 (own file)
    assert suite.get("skipped") == "1"
    assert [one.get("message") for one in suite.iter("skipped")] == ["not measured: no run of B left slow start"]
    assert '<tr class="not-measured">' in _write_findings(comparison, found)
    # It is not equal, unless whatever is found is accepted.
    alike = find(one__goodput=SAME, one__slow_start_cwnd=NEVER)
    assert find_exit_code(alike) == 2
    assert summarise(comparison, alike, MEASURED) == "Of 2 tests, 1 is not measured (no run of B left slow start)."
    accepted = [{"condition": "*", "measure": "slow_start_cwnd", "verdict": "any"}]
    assert find_exit_code(find(accepted, one__goodput=SAME, one__slow_start_cwnd=NEVER)) == 0


@pytest.mark.parametrize("name", MEASURES)
def test_each_measure_says_what_no_run_of_a_side_did(name: str) -> None:
    nothing = [None] * 3 if MEASURES[name].scale == "points" else [0.0] * 3
    (found,) = find(**{f"job__{name}": (nothing, [1.0, 2.0, 3.0])})
    assert found.text == f"not measured: no run of A {MEASURES[name].needs}"


def test_values_that_never_meet_in_a_pair_are_undecided_as_more_runs_may_tell() -> None:
    (found,) = find(job__goodput=([1.0, None, None], [None, 2.0, None]))
    assert (found.text, found.effect.pairs_count) == ("undecided", 0)
    said = summarise(declare(), find(one__goodput=FASTER, two__goodput=OPEN), MEASURED)
    assert said.startswith("1 of 2 tests differs, and 1 is undecided: new is not as old. Of what is undecided, about ")
    assert summarise(declare(), [found], MEASURED).startswith("Of 1 test, 1 is undecided; how many more runs")
    assert summarise(declare(), [], MEASURED).startswith("Of 0 tests, none has a result; ")


def test_a_criterion_says_what_was_not_measured() -> None:
    comparison = declare(criteria=[Criterion("start", "5", "", "*", {"goodput": "high", "slow_start_cwnd": "high"})])
    for values, verdict in ((SAME, "not measured"), (FASTER, "better")):
        found = find_all(comparison, make_runs(one__goodput=values, two__slow_start_cwnd=NEVER))
        (scored,) = score(comparison, found)
        assert scored.verdict == verdict
        assert "1 of 2 tests not measured" in scored.basis


def test_an_expectation_of_nothing_that_was_measured_is_refused() -> None:
    with pytest.raises(InputError, match="expected"):
        find([{"condition": "x", "measure": "goodput", "verdict": "up"}], job__goodput=SAME)


@pytest.mark.parametrize(
    ("condition", "measure", "said"),
    [
        ("*", "godput", "there is no measure `godput`; did you mean `goodput`?"),
        ("cubic_p4_losnone", "goodput", "no job of the campaign is called `cubic_p4_losnone`; did you mean"),
    ],
)
def test_what_the_campaign_cannot_have_is_refused_before_it_is_measured(
    condition: str, measure: str, said: str
) -> None:
    expected = {"condition": condition, "measure": measure, "verdict": "up"}
    with pytest.raises(InputError, match=re.escape(f"expected: {said}")):
        check_names(declare([expected]), QUICK)
    criterion = Criterion("speed", "5.1", "", condition, {measure: "high"})
    with pytest.raises(InputError, match=re.escape(f"criteria, speed: {said}")):
        check_names(declare(criteria=[criterion]), QUICK)


def test_machines_read_what_was_found(tmp_path: Path) -> None:
    comparison = declare()
    found = find(jo_b__goodput=FASTER, two__goodput=OPEN, three__goodput=SAME)
    write_json(tmp_path / "comparison.json", comparison, found, [], MEASURED)
    write_junit(tmp_path / "junit.xml", comparison, found, MEASURED)
    write_summary(tmp_path / "summary.md", comparison, found, [], MEASURED)
    told = json.loads((tmp_path / "comparison.json").read_text())
    assert (told["exit_code"], [one["status"] for one in told["findings"]]) == (
        1,
        ["differs", "undecided", "as declared"],
    )
    suite = ElementTree.fromstring((tmp_path / "junit.xml").read_text())  # noqa: S314 (own file)
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "1")
    assert [[child.tag for child in case] for case in suite] == [["failure"], ["skipped"], []]
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("## A \\| B\n")
    assert "| jo\\_b | Goodput of all flows | faster |" in summary
    # Who reads it later sees what ran.
    assert told["sides"]["b"]["kernel"]["kernel_sha256"] == "5" * 64
    assert "| B: new | linux-b, Linux 6.1.0, SHA-256 555555555555 |" in summary
    assert "<summary>1 equal</summary>" in summary


def test_a_run_that_failed_is_an_error_to_machines_and_named_to_people(tmp_path: Path) -> None:
    comparison, found = declare(), find(job__goodput=SAME)
    failed = replace(MEASURED, failures={"side b: block-1/job": "no such setting"})
    assert (find_exit_code(found), find_exit_code(found, failed.failures)) == (0, 3)
    write_json(tmp_path / "comparison.json", comparison, found, [], failed)
    write_junit(tmp_path / "junit.xml", comparison, found, failed)
    write_summary(tmp_path / "summary.md", comparison, found, [], failed)
    assert json.loads((tmp_path / "comparison.json").read_text())["exit_code"] == 3
    suite = ElementTree.fromstring((tmp_path / "junit.xml").read_text())  # noqa: S314 (own file)
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")
    assert [error.get("message") for error in suite.iter("error")] == ["no such setting"]
    summary = (tmp_path / "summary.md").read_text()
    assert "1 run failed, so this comparison is not complete." in summary
    assert "| side b: block-1/job | no such setting |" in summary


def test_a_criterion_adds_up_its_measures() -> None:
    criteria = [
        Criterion("both", "5.1", "", "*", {"goodput": "high", "rtt_p99": "low"}),
        Criterion("rate", "5.2", "", "*", {"goodput": "high"}),
        Criterion("delay", "5.3", "", "*", {"rtt_p99": "low"}),
        Criterion("loss", "5.4", "", "*", {"retransmits": "low"}),
        Criterion("other", "5.5", "", "x*", {"goodput": "high"}),
    ]
    runs = make_runs(one__goodput=FASTER, one__rtt_p99=FASTER, one__retransmits=([1.0] * 3, [1.0] * 3))
    by_run = runs.rows.group_by("condition", "side", "block", maintain_order=True)
    runs = Runs(by_run.agg(pl.all().drop_nulls().first()))
    comparison = declare(criteria=criteria)
    scores = score(comparison, find_all(comparison, runs))
    assert [one.verdict for one in scores] == ["mixed", "better", "worse", "as the baseline", "not measured"]
    assert [one.basis for one in scores] == [
        "Goodput of all flows: faster in one; RTT, 99th percentile of samples: higher in one",
        "Goodput of all flows: faster in one",
        "RTT, 99th percentile of samples: higher in one",
        "1 of 1 test equal",
        "",
    ]


def test_a_difference_has_the_colour_of_its_criterion() -> None:
    criteria = [
        Criterion("delay", "5.3", "", "*", {"rtt_p99": "low"}),
        Criterion("rate", "5", "", "*", {"goodput": "high"}),
    ]
    comparison = declare(criteria=criteria)
    runs = make_runs(one__goodput=FASTER, two__rtt_p99=FASTER, three__goodput=OPEN)
    shown = _write_findings(comparison, find_all(comparison, runs))
    assert re.findall(r'<tr class="(\w+)"><td>(\w+)', shown) == [
        ("better", "one"),
        ("worse", "two"),
        ("undecided", "three"),
    ]
    assert 'class="differs"' in _write_findings(declare(), find(one__goodput=FASTER))


def test_with_criteria_only_what_they_cover_is_tested() -> None:
    criteria = [Criterion("rate", "5.2", "", "on*", {"goodput": "high"})]
    found = find_all(declare(criteria=criteria), make_runs(one__goodput=FASTER, one__rtt_p99=OPEN, two__goodput=OPEN))
    assert [(finding.condition, finding.measure.name) for finding in found] == [("one", "goodput")]


@pytest.mark.parametrize(("spread", "is_told"), [(1.0, True), (0.2, False)])
def test_longer_runs_are_planned_where_what_varies_within_them_is_to_blame(spread: float, is_told: bool) -> None:
    # Four pairs whose log(B / A) is 0 with a variance of 0.0033, and A at a constant rate.
    logs = np.array([-0.05, -0.05, 0.05, 0.05])
    variance = float(np.var(logs, ddof=1))
    rows = make_runs(job__goodput=([10.0] * 4, list(10 * np.exp(logs)))).rows
    rows = rows.with_columns(run_id=pl.format("{}{}", "side", "block"))
    # Rates in 100 steps of 0.5 s that are independent: their mean has a hundredth of their variance.
    random = np.random.default_rng(3)
    noise = random.normal(0, spread * math.sqrt(100 * variance), (4, 100))
    rates = {f"a{block}": np.ones(100) for block in range(1, 5)} | {
        f"b{block}": 1 + noise[block - 1] - noise[block - 1].mean() for block in range(1, 5)
    }
    runs = Runs(
        rows,
        pl.DataFrame({"run_id": [*rates], "rates_bps": [list(1e7 * rate) for rate in rates.values()]}).with_columns(
            step_s=0.5
        ),
    )
    (found,) = find_all(declare(), runs)
    assert (found.status, found.duration_s) == ("undecided", 50.0)
    factor = found.effect.needed_factor or 0
    # Equal within ±5 %: 0.0488 from the mean to the bound. What four pairs show with a power of 0.9 is 5.01 standard
    # errors (noncentral t, 3 degrees of freedom) of 0.0289.
    assert factor == pytest.approx((0.0488 / (5.01 * 0.0289)) ** 2, rel=0.01)
    if is_told:
        # All of the variance is noise: as many times as long as the variance is too large.
        assert found.needed_duration_s == pytest.approx(50 / factor, rel=0.35)
        assert "or as many blocks with runs of about" in plan_more([found], 60.0)
    else:
        # No duration takes the rest away.
        assert found.needed_duration_s is None
        assert "runs of" not in plan_more([found], 60.0)


def test_blocks_alternate() -> None:
    assert list(list_steps(3)) == [(1, "a"), (1, "b"), (2, "b"), (2, "a"), (3, "a"), (3, "b")]


def test_sides_differ_in_what_they_set_and_runs_have_the_same_names(tmp_path: Path) -> None:
    comparison = load_comparison(ROOT / "comparisons/hystart.yaml")
    paths = write_campaigns(comparison, tmp_path)
    first, second = (plan_campaign(load_campaign(path), path.stem) for path in paths.values())
    assert (first.campaign, second.campaign) == ("hystart-a", "hystart-b")
    # Of which the seed of a run in virtual time is made.
    assert [run.key for run in first.runs] == [run.key for run in second.runs]
    assert first.testbed.seed == second.testbed.seed
    assert {run.module_parameters["tcp_cubic.hystart"] for run in first.runs} == {"1"}
    assert {run.module_parameters["tcp_cubic.hystart"] for run in second.runs} == {"0"}
    assert len(first.runs) == 3 * 3


def test_the_command_line_names_sides() -> None:
    made = make_comparison("/opt/linux,net.ipv4.tcp_ecn=1", "bbr,tcp_bbr.x=2", QUICK, {})
    assert (made.a.kernel, made.a.sysctls, made.b.algorithm) == ("/opt/linux", {"net.ipv4.tcp_ecn": "1"}, "bbr")
    assert made.b.module_parameters == {"tcp_bbr.x": "2"}
    assert (made.a.name, made.blocks_count, make_comparison("default", "default", QUICK, {}).a.name) == (
        "linux, net.ipv4.tcp_ecn=1",
        4,
        "default",
    )


def test_a_kernel_goes_by_its_files_name_unless_both_have_the_same() -> None:
    different = make_comparison("/opt/before/linux-a", "/opt/after/linux-b", QUICK, {})
    assert different.title == "linux-a against linux-b"
    alike = make_comparison("/opt/before/linux", "/opt/after/linux", QUICK, {})
    assert (alike.a.name, alike.b.name) == ("/opt/before/linux", "/opt/after/linux")


def test_short_flows_of_the_scorecard_end_with_half_of_their_volume_acknowledged() -> None:
    """iperf3 ends them when the socket has the last byte: the rest is unsent, or on a path and buffer of a BDP each."""
    plan = plan_campaign(load_campaign(ROOT / "campaigns/rfc9743.yaml"), "rfc9743")
    short = {run.job: [one.volume_bytes for one in run.clients if one.volume_bytes] for run in plan.runs}
    assert {job for job, volumes in short.items() if volumes} == {"beside_short_flows", "itself_short_flows"}
    for run in plan.runs:
        unsent = int(run.sysctls.get("net.ipv4.tcp_notsent_lowat", 1 << 32))
        assert all(unsent + 2 * 20e6 * 0.04 / 8 < volume / 2 for volume in short[run.job])


def test_an_algorithm_needs_a_candidate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"no job of .*quick.yaml runs `candidate`"):
        write_campaigns(make_comparison("cubic", "bbr", QUICK, {}), tmp_path)
    campaign = tmp_path / "one.yaml"
    campaign.write_text(QUICK.read_text().replace("congestion_control: cubic\n", "congestion_control: candidate\n"))
    typed = "side a: .* say which algorithm it is, for cubic by `cubic,net.ipv4.tcp_sack=0` on the command line"
    monkeypatch.setattr(campaigns, "_find_unknown_setting", lambda *_: None)
    with pytest.raises(InputError, match=typed):
        write_campaigns(make_comparison("net.ipv4.tcp_sack=0", "bbr", campaign, {}), tmp_path / "out")
    # A setting that there is not is told before.
    monkeypatch.setattr(campaigns, "_find_unknown_setting", lambda *_: "the kernel has no setting")
    with pytest.raises(InputError, match=r"^side a: the kernel has no setting$"):
        write_campaigns(make_comparison("net.ipv4.tcp_snack=0", "bbr", campaign, {}), tmp_path / "out")


@pytest.mark.parametrize("path", sorted((ROOT / "comparisons").glob("*.yaml")), ids=lambda path: path.stem)
def test_declared_comparisons_can_be_planned_and_their_criteria_name_what_there_is(path: Path, tmp_path: Path) -> None:
    comparison = load_comparison(path)
    for side in write_campaigns(comparison, tmp_path).values():
        jobs = {run.job for run in plan_campaign(load_campaign(side), side.stem).runs}
        for criterion in comparison.criteria:
            assert any(fnmatchcase(job, criterion.conditions) for job in jobs), criterion.name
        check_names(comparison, side)


def test_the_docs_name_every_measure() -> None:
    page = (ROOT / "reports/collect.qmd").read_text()
    assert [name for name in MEASURES if f"`{name}`" not in page] == []


def test_the_documented_job_installs_what_ours_does_and_calls_what_there_is() -> None:
    page = (ROOT / "reports/collect.qmd").read_text()
    block = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[0]
    steps = yaml.safe_load(block)["jobs"]["congestion-control"]["steps"]
    commands = [line for step in steps for line in step.get("run", "").replace("\\\n", "").splitlines()]
    (installed,) = (line.split("recommends")[1].split() for line in commands if "install" in line)
    ours = re.findall(r"[a-z0-9.-]+", (ROOT / ".ci/run").read_text().split("packages=(")[1].split(")")[0])
    assert set(installed) - {"ca-certificates", "xz-utils"} <= set(ours)
    (arguments,) = (line.split("compare_kernels")[1].split("||")[0].split() for line in commands if "_kernels" in line)
    first, second, _, campaign, *_ = arguments
    assert make_comparison(first, second, ROOT / campaign, {}).title == "default against net.ipv4.tcp_window_scaling=0"
