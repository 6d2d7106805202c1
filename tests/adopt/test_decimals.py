"""Decimal numbers in names come out whole, whatever word, sign and unit is beside them."""

import itertools
from pathlib import Path

import pytest
from archives import write_archive
from hypothesis import example, given
from hypothesis import strategies as st
from own_files import START_S, client_output
from test_adopt import propose

from ccreport.adopt.path_words import NAMED, ONE_WAY, RATIOS, RUNS, UNITS, split_path
from ccreport.adopt.patterns import DECIMAL, Column, ProposedPattern
from ccreport.adopt.proposal import Proposal
from ccreport.adopt.repairs import leave_out_cutting

WORDS = sorted({*NAMED, *RUNS, *RATIOS, *ONE_WAY, "rate", "bw", "x", "cubic", "buf", "v", "t"})
DECIMALS = ("0.01", "2.5", "20.5", "0.0015", "100.25")
SIGNS = ("", "_", "-", "=", " ", "/")


@pytest.mark.parametrize("unit", [*UNITS, "", "foo", "kB", "%x", "ms2"])
def test_a_decimal_number_is_never_cut(unit: str) -> None:
    for word, sign, number in itertools.product(WORDS, SIGNS, DECIMALS):
        for name in (word, word.capitalize(), word.upper()):
            path = f"lab/{name}{sign}{number}{unit}_r1.json"
            (own,) = [one for one in split_path(path) if number in one.text]
            # Behind an algorithm it may be anything: cubic2.5ms.
            if unit in UNITS and word != "cubic":
                assert (own.kind, own.value) == (UNITS[unit][0], number), path


@pytest.mark.parametrize("word", [word for word in NAMED if NAMED[word] in ("rtt_ms", "loss_pct")])
@pytest.mark.parametrize(
    ("unit", "group", "factor"), [(" us", "rtt_ms", 0.001), (" ms", "rtt_ms", 1), (" %", "loss_pct", 1)]
)
def test_a_unit_behind_a_blank_is_read_with_its_number(word: str, unit: str, group: str, factor: float) -> None:
    for sign, number in itertools.product(SIGNS, ("500", *DECIMALS)):
        (own,) = [one for one in split_path(f"{word}{sign}{number}{unit}_r1") if number in one.text]
        assert (own.kind, own.value) == (group, number)
        assert own.factor == factor * (2 if word in ONE_WAY and sign != "/" else 1)


PIECES = st.lists(
    st.sampled_from(
        [*WORDS, *UNITS, *DECIMALS, *SIGNS, "1", "20", ".5", ".", ",", "e-4", "3.1.7", "Loss", "none", "bbr v2"]
    ),
    max_size=12,
).map("".join)


@given(path=PIECES | st.text("0123456789.%_-=/ ,msxeL", max_size=16))
@example(path="rtt-2.5ms_loss-0.01%_r1")
@example(path="x.1.5")
@example(path="e-4,0.01")
def test_no_word_of_a_path_ends_within_a_decimal_number(path: str) -> None:
    words = split_path(path)
    assert "".join(word.text for word in words) == path
    edges = [*itertools.accumulate(len(word.text) for word in words)]
    for number in DECIMAL.finditer(path):
        inside = [edge for edge in edges if number.start() < edge < number.end()]
        # Without a digit before its point, a number begins at a sign only: x.5 is x and 5.
        assert not inside or (number[0].startswith(".") and inside == [number.start() + 1]), words


@pytest.mark.parametrize("point", [".", ","])
@pytest.mark.parametrize(
    ("names", "told"),
    [
        ("loss_{}%/cubic.json", {"loss_pct": 1}),
        ("loss-{}percent.json", {"loss_pct": 1}),
        ("plr_{}pct.json", {"loss_pct": 1}),
        ("rtt_{}ms.json", {"rtt_ms": 1}),
        ("delay_{}msec.json", {"rtt_ms": 1}),
        ("owd_{}ms.json", {"rtt_ms": 2}),
        ("rtt {} us.json", {"rtt_ms": 0.001}),
        ("rate-{}mbit.json", {"bottleneck_bps": 1e6}),
        ("rtt-{}ms_loss-{}%.json", {"rtt_ms": 1, "loss_pct": 1}),
    ],
)
def test_what_a_proposal_tells_of_decimals(names: str, told: dict[str, float], point: str, tmp_path: Path) -> None:
    texts = (".25", "0", "0.01", "20.5", "5e-1") if point == "." else ("0", "0.01", "20.5")
    values = {names.replace("{}", text.replace(".", point)): text for text in texts}
    files = {name: client_output(4000 + n, start_s=START_S + 60 * n) for n, name in enumerate(values)}
    read = [{group: one[group] for group in told} for one in propose(write_archive(tmp_path, files))]
    assert read == [
        {group: pytest.approx(float(values[name]) * factor) for group, factor in told.items()}
        for name in sorted(values)
    ]


def test_a_pattern_that_would_cut_a_number_is_not_proposed() -> None:
    names = ("loss_0.01%", "loss_1.01%")
    expressions = (
        r"loss_(?P<loss_pct>[0-9]+)\.01%",
        r"loss_[0-9]\.(?P<loss_pct>[0-9]+)%",
        r"loss_(?P<loss_pct>[0-9.]+)%",
    )
    patterns = [
        ProposedPattern("iperf3", [*names], [Column([split_path(names[0])[2]], "loss_pct", text)])
        for text in expressions
    ]
    proposal, said = leave_out_cutting(Proposal(patterns, [], []))
    assert proposal.patterns == patterns[2:]
    assert (proposal.unnamed, len(said)) == ([*names], 2)
    assert said[0].startswith(f"No pattern for 2 iperf3 files, such as loss_0.01%: {expressions[0]} would cut a number")
