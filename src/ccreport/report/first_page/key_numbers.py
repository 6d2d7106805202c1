"""Key numbers: the three of the first page that whoever builds a report sees at the end."""

import html
from pathlib import Path

import yaml


def list_key_numbers(fragments: Path) -> list[str]:
    """Return three lines: what was measured, what was rejected, and the verdicts on claims or else what is shown.

    `fragments` is the folder that `render_fragments` wrote.
    """
    facts = yaml.safe_load((fragments / "_variables.yml").read_text(encoding="utf-8"))
    judged = facts["claims"]["counts"] or facts["evaluation"]["exhibits"]
    rejected = f"{facts['ledger']['rejected']} of {facts['archive']['files']} rejected"
    lines = [
        f"{facts['archive']['most']} measured",
        ", ".join(filter(None, [rejected, facts["ledger"]["parts"]])),
        judged,
    ]
    return [html.unescape(line) for line in lines]
