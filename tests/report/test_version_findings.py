"""The first page's sentence on two versions of an algorithm, from the means of figures."""

from pathlib import Path

import pytest

from ccreport.figures.kit.theme import call_algorithms
from ccreport.report.fragments.first_page.version_findings import describe_versions

HEADER = "category,cc,runs_count,rate_mean_bps,rate_low_bps,rate_high_bps"
# Beside CUBIC the first is ahead, 9/6 = 1.5, and CUBIC is beside the second, 3/1; alone 9.1 and 8.9 may differ by
# 9.2/8.8, which is less than 5 %. CUBIC alone is of no version, and without an interval nothing is said.
NEAR = (
    "CUBIC alone,cubic,5,7e9,6.9e9,7.1e9",
    "BBRv1 alone,bbr,5,9.1e9,9e9,9.2e9",
    "BBRv1 beside CUBIC,bbr,5,9e9,8.8e9,9.2e9",
    "BBRv1 beside CUBIC,cubic,5,1e9,0.9e9,1.1e9",
    "BBRv2 alone,bbr2,5,8.9e9,8.8e9,9e9",
    "BBRv2 beside CUBIC,bbr2,5,6e9,5.8e9,6.2e9",
    "BBRv2 beside CUBIC,cubic,5,3e9,2.9e9,3.1e9",
)
# The second may be ahead, 8 and 9, and CUBIC of either as well.
FAR = (
    "BBRv1 beside CUBIC,bbr,3,8e9,7e9,9e9",
    "BBRv1 beside CUBIC,cubic,3,1e9,0.5e9,2e9",
    "BBRv2 beside CUBIC,bbr2,3,9e9,8.5e9,9.5e9",
    "BBRv2 beside CUBIC,cubic,3,1e9,,",
)
KIND = {"kind": "rate_by_version", "title": "Versions"}
DECLARED = {"figures": {"near": KIND, "far": KIND, "other": KIND | {"kind": "rate_by_rtt"}}, "equal_within_pct": 5}
DECLARED["algorithms"] = {"BBR": {"members": ["bbr2", "bbr3", "bbr"]}, "CUBIC": {"members": ["cubic"]}}


def write_figures(folder: Path, **figures: tuple[str, ...]) -> Path:
    for name in DECLARED["figures"]:
        (folder / name).mkdir()
        if name in figures:
            (folder / name / "figure.csv").write_text("\n".join([HEADER, *figures[name]]), encoding="utf-8")
        else:
            (folder / name / "missing.txt").write_text("No runs.", encoding="utf-8")
    return folder


def test_versions_are_compared_by_the_intervals_of_their_means(tmp_path: Path) -> None:
    with call_algorithms({"bbr": "BBRv1"}):
        (found,) = describe_versions(DECLARED, write_figures(tmp_path, near=NEAR, far=FAR))
    short, compared = found.split("\n\n")
    assert short == (
        "**BBRv1 or BBRv2?** **BBRv2:** leaves CUBIC more in 1 of 1.\\\n**BBRv1:** is faster in 1 of 3 comparisons."
    )
    assert compared.startswith("Of 3 comparisons of rates (figures [")
    assert "](figures.qmd#figure-near)" in compared
    assert compared.endswith(
        "): equal within ±5 &#37; in 1 alone; BBRv1 faster in 1 beside CUBIC (1.50 times the arithmetic mean rate, "
        "9.00 against 6.00 Gbit/s); undecided in 1 beside CUBIC. CUBIC keeps 1.00 Gbit/s beside BBRv1 and 3.00 beside "
        "BBRv2 ([1](figures.qmd#figure-near))."
    )


def test_what_another_algorithm_keeps_beside_either_is_said_where_it_is_not_clear(tmp_path: Path) -> None:
    far = (*FAR[:3], "BBRv2 beside CUBIC,cubic,3,1.2e9,0.6e9,2e9")
    with call_algorithms({"bbr": "BBRv1"}):
        (found,) = describe_versions(DECLARED, write_figures(tmp_path, near=NEAR, far=far))
    near, unclear = "([1](figures.qmd#figure-near))", "([2](figures.qmd#figure-far))"
    assert found.endswith(
        f" and 3.00 beside BBRv2 {near}; does not clearly keep more beside either in 1 comparison {unclear}."
    )


def test_retransmits_of_versions_go_first_and_what_was_not_measured_last(tmp_path: Path) -> None:
    ends = ("mean", "low", "high")
    header = ",".join([HEADER, *(f"retransmit_{end}_ratio" for end in ends)])
    shares = {"BBRv1 alone": "0.1,0.08,0.12", "BBRv2 alone": "0.1,0.09,0.11", "BBRv1 beside CUBIC": "0.11,0.1,0.12"}
    shares |= {"BBRv2 beside CUBIC": "0.004,0.003,0.005"}
    rows = [f"{line},{shares[line.split(',')[0]]}" for line in NEAR if "cubic" not in line]
    folder = write_figures(tmp_path, near=NEAR)
    (folder / "near/figure.csv").write_text("\n".join([header, *rows]), encoding="utf-8")
    with call_algorithms({"bbr": "BBRv1"}):
        (found,) = describe_versions(DECLARED, folder, ["bbr", "bbr2", "cubic"])
    short, told = found.split("\n\n")
    assert "**BBRv2:** retransmits less in 1 of 2 comparisons.\\\n" in short
    shares = "BBRv1 retransmits 11.0 &#37; of its segments beside CUBIC, BBRv2 0.400 &#37; (means of the runs’ ratios; "
    assert told.startswith(shares)
    assert found.endswith(". BBRv3 was not measured.")


@pytest.mark.parametrize("figures", [{}, {"near": NEAR[:4]}])
def test_without_two_versions_nothing_is_said(figures: dict[str, tuple[str, ...]], tmp_path: Path) -> None:
    assert describe_versions(DECLARED, write_figures(tmp_path, **figures)) == []
