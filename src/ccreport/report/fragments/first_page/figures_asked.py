"""Questions of the first page that single figures answer."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ccreport.core.text import make_label
from ccreport.figures.exhibits import list_exhibits
from ccreport.figures.topics import TOPICS, name_topic
from ccreport.figures.wording.captions import CUT
from ccreport.report.fragments.absent_exhibits import find_missing
from ccreport.report.markup.escape import escape_text

THROUGHPUT: Final = "throughput"
BY_FLOWS: Final = "rate_by_flows"
VERSIONS: Final = "rate_by_version"


def ask_figures(declared: Mapping[str, Any], figures: Path) -> str:
    """Return the first page's items on what figures show.

    These are every second, the questions that figures declare, the first seconds, numbers of flows and versions.
    """
    drawn = [figure.name for figure in list_exhibits(declared["figures"], figures) if not find_missing(figure, figures)]
    facts = {name: declared["figures"][name] for name in drawn}
    asked = {facts[name]["question"].rstrip().rstrip("?"): [name] for name in drawn if facts[name].get("question")}
    asked |= {
        "How does a test start": [name for name in drawn if facts[name].get("until_s") and _is_cut(figures / name)],
        "What changes with the number of flows": [name for name in drawn if facts[name]["kind"] == BY_FLOWS],
        "How do versions of an algorithm differ": [name for name in drawn if facts[name]["kind"] == VERSIONS],
    }
    (topic,) = (title for name, title, _ in TOPICS if name == THROUGHPUT)
    has_topic = any(name_topic(facts[name]["kind"]) == THROUGHPUT for name in drawn)
    label = f"#{make_label('topic', topic)}" if has_topic else ""
    runs = "[The explorer](explorer.qmd) has every run."
    every_second = f"- [What happens second by second](figures.qmd{label})? {runs}\n"
    single = [
        f"- [{escape_text(words)}](figures.qmd#{make_label('figure', own[0])})?\n"
        for words, own in asked.items()
        if own
    ]
    return "".join([every_second, *single])


def _is_cut(figure: Path) -> bool:
    """Tell whether a figure shows less than its tests, as its caption then says."""
    return CUT in (figure / "caption.txt").read_text(encoding="utf-8")
