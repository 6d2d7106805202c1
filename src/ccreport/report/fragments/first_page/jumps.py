"""Below the title of the first page: what was measured in one sentence, and links to the parts of the page."""

from collections.abc import Mapping
from typing import Final

from ccreport.core.text import count_things
from ccreport.report.archive_fragments.archive_facts import UNKNOWN

CLAIMS: Final = "verdicts"
# The labels of the page's parts by their names, in their order.
PARTS: Final = {
    "Results": "results",
    "Claims": CLAIMS,
    "Measured": "measured",
    "Left out": "rejected",
    "Cite": "cite",
    "Verify": "check",
}


def render_jumps(facts: Mapping[str, str], rejected_count: int, absent_count: int, *, has_claims: bool) -> str:
    """Return the sentence and the links; `facts` are those of `describe_archive`, escaped.

    `absent_count` is that of runs that no mean has, whatever the evaluation.
    """
    known = {
        "bottlenecks of": facts["bottlenecks"],
        "RTT": facts["rtt"],
        "random loss": facts["losses"],
        "Linux": facts["kernels"],
    }
    said = [f"{words} {fact}" for words, fact in known.items() if fact != UNKNOWN]
    rejected = f"{rejected_count or 'no'} {'file' if rejected_count == 1 else 'files'} rejected"
    links = [f"[{name}](#{label})" for name, label in PARTS.items() if has_claims or label != CLAIMS]
    absent = [f"{count_things(absent_count, 'run')} left out of all means"] if absent_count else []
    sentence = f"The archive: {'; '.join([facts['most'], *said, rejected, *absent])}."
    return f"::: {{.jumps}}\n\n{sentence} On this page: {' · '.join(links)}\n\n:::\n"
