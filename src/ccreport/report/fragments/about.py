"""What a report is about: its publication, the archive, and what its groups of algorithms are called."""

import re
from collections.abc import Collection, Mapping
from typing import Any, Final

import polars as pl

from ccreport.compare.claim_verdicts import tell_outcome
from ccreport.figures.kit.theme import style_of
from ccreport.report.markup.blocks import close_fold, open_fold, render_callout
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.algorithm_names import name_algorithms

SENTENCE_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
SENTENCES_SHOWN: Final = 3
# What names of cells, titles and captions call a run of several algorithms.
BOTH: Final = (
    "*Both* means that flows of both algorithms share the path at the same time, *alone* that the flows of a run are "
    "all of one algorithm.\n"
)


def render_about(declared: Mapping[str, Any], judged: pl.DataFrame, *, is_emulated: bool = False) -> str:
    """Return the subtitle of an evaluation, and after it the outcome: how many claims have each verdict.

    Without a subtitle there is only the outcome, and without claims nothing. `judged` is the table `claims`. With
    `is_emulated` it is said that the paths of all runs were.
    """
    subtitle, outcome = declared["subtitle"], tell_outcome(judged, declared["claims"])
    if not outcome:
        return escape_text(_end_sentence(subtitle)) if subtitle else ""
    # A question is answered by a sentence of its own.
    is_open = subtitle and _end_sentence(subtitle) != subtitle
    emulated = " All paths are emulated." if is_emulated else ""
    return escape_text(f"{subtitle}{': of ' if is_open else ' Of '}{outcome}.{emulated}".lstrip())


def name_publication(declared: Mapping[str, Any]) -> str:
    """Return which publication an evaluation is of, as a paragraph; nothing where it is of none."""
    return escape_text(_end_sentence(f"The publication: {declared['source']}")) if declared["source"] else ""


def _end_sentence(text: str) -> str:
    """Return a text with a full stop, unless it ends as a sentence does: Does it help?"""
    return text if text.endswith((".", "?", "!")) else f"{text}."


def render_groups(held: pl.Series, groups: Mapping[str, Mapping[str, Any]]) -> str:
    """Return which version goes by the name of a group of several, where figures have another name for it."""
    first_of = {group: cc for cc, group, _ in name_algorithms(sorted(held.unique()), groups)}
    sentences = []
    for group, facts in groups.items():
        first = first_of.get(group)
        if first is not None and len(facts["members"]) > 1 and style_of(first).name != group:
            others = [cc for cc in facts["members"] if cc != first and cc in first_of]
            kept = "".join(f"; {_tell_name(cc, groups)}" for cc in others)
            told = f"In tables and comparisons {escape_text(group)} means {escape_text(style_of(first).name)}"
            sentences.append(f"{told} (the kernel’s `{first}`){kept}. Figures call each version by its own name.")
    return "\n".join(f"{sentence}\n" for sentence in sentences)


def _tell_name(cc: str, groups: Collection[str]) -> str:
    """Return by which name an algorithm of no group goes in tables, as `show_algorithms` has it."""
    name = style_of(cc).name
    where = (
        "has the kernel’s name there," if name in groups else "has its own name there, and in CSV files the kernel’s,"
    )
    return f"{escape_text(name)} {where} `{cc}`"


def render_note(note: str) -> str:
    """Return what is known about the archive beside its data, nothing where there is nothing.

    The first sentences are shown, the others folded up: the conclusion, below, is what most readers come for.
    """
    if not note:
        return ""
    sentences = [escape_text(sentence) for sentence in SENTENCE_END.split(note.strip())]
    shown, folded = (" ".join(part) for part in (sentences[:SENTENCES_SHOWN], sentences[SENTENCES_SHOWN:]))
    fold = f"\n\n{open_fold('More about this archive')}\n{folded}\n\n{close_fold()}" if folded else ""
    return render_callout("note", "About this archive", f"{shown}{fold}")
