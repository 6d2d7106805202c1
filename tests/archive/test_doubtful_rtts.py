"""Declared RTTs that measured ones contradict."""

import pytest

from ccreport.archive.doubtful_rtts import describe_doubtful


@pytest.mark.parametrize(
    ("declared_ms", "measured_ms", "is_doubtful"),
    [
        (20.0, 17.9, True),
        (20.0, 18.1, False),
        # Rounded to whole ms: 0.6 is 1, and 0.4 is 0.
        (1.0, 0.6, False),
        (1.0, 0.4, True),
        (0.5, 0.44, True),
        # 10 µs for 10 ms, and a queue that is full from the first packet on.
        (0.01, 10.0, True),
        (1.0, 99.0, False),
        # Of loopback, of a run that measured none, and of one that declares none.
        (10.0, 0.03, True),
        (10.0, None, False),
        (10.0, 0.0, False),
        (None, 10.0, False),
    ],
)
def test_no_path_is_faster_than_declared_nor_much_slower(
    declared_ms: float | None, measured_ms: float | None, is_doubtful: bool
) -> None:
    assert bool(describe_doubtful([(declared_ms, measured_ms)])) is is_doubtful


def test_only_runs_that_contradict_are_counted_and_a_few_rtts_named() -> None:
    pairs = [(rtt_ms, part * rtt_ms) for rtt_ms in (10.0, 20.0, 40.0, 80.0) for part in (0.5, 0.6, 1.0)]
    assert describe_doubtful(pairs).startswith(
        "RTTs contradict each other: declared 10 ms, smallest measured 5 ms (2 of 3 runs); declared 20 ms, smallest "
        "measured 10 ms (2 of 3 runs); declared 40 ms, smallest measured 20 ms (2 of 3 runs); and 1 more. Is the "
    )
