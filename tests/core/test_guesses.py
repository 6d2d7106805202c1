"""The word that is meant by a misspelt one."""

import pytest

from ccreport.core.schema_problems import find_near


@pytest.mark.parametrize(
    ("word", "known", "near"),
    [
        ("codle", ["cake", "fq_codel", "red"], "fq_codel"),
        ("cubic", ["BBR", "CUBIC"], "CUBIC"),
        ("CUBIK", ["CUBIC", "cubic"], "CUBIC"),
        ("cubik", ["CUBIC", "cubic"], "cubic"),
        ("rat", ["share", "rate_by_rtt"], "rate_by_rtt"),
        ("rate_by_rt", ["rate_by_buffer", "rate_by_rtt_1_flow"], "rate_by_rtt_1_flow"),
        ("run", ["run_completions", "runs"], "runs"),
        ("rtt", ["path_rtt", "sharing"], "path_rtt"),
        ("nothing", ["path_rtt"], None),
    ],
)
def test_a_guess_is_the_nearest_in_whichever_case(word: str, known: list[str], near: str | None) -> None:
    assert find_near(word, known) == near
