"""The group `run` of proposed patterns, where a table has a row for each run, or tells the conditions of files."""

import itertools
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Final

from ccreport.adopt.path_words import Word, escape
from ccreport.adopt.patterns import Column, ProposedPattern
from ccreport.adopt.proposal import Proposal
from ccreport.archive.layout_groups import KNOWN
from ccreport.archive.layout_table import RUN_COLUMN

ITERATION: Final = "iteration"
# r1
REPEATED: Final = re.compile(r"([A-Za-z]*)[0-9]+")
# Where others of the same kind have digits: dead
HEX: Final = re.compile("[0-9a-fA-F]{4,}")


@dataclass(frozen=True)
class Table:
    """A CSV that a layout can name as its `table`; `files` or `runs` are what its rows are about, `notes` columns."""

    name: str
    files: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    notes: tuple[str, ...] = ()


def name_runs(proposal: Proposal, table: Table) -> Proposal | None:
    """Return a proposal with the group `run` where its patterns hold runs of a table; None where none does.

    Rows may be about some of the runs only, where these have names of their own. Where rows are about files, whose
    conditions they tell, a word without a meaning names the run.
    """
    if not table.runs:
        return _name_opaque(proposal, table)
    # Of words that together are a run, the groups are the same in all of its files.
    for name, runs_by in ((_name_run, []), (_name_words, [RUN_COLUMN])):
        named = [name(pattern, table.runs) for pattern in proposal.patterns]
        if any(named):
            return replace(proposal, runs_by=runs_by)
    return None


def _name_opaque(proposal: Proposal, table: Table) -> Proposal:
    """Return a proposal in which the only word of tests in a table is `run`, where each has its own: 1eef, b99a."""
    for own in [own for own in proposal.patterns if own.kind == "iperf3" and table.files.issuperset(own.paths)]:
        columns = [column for column in own.columns if column.group is not None and column.group not in KNOWN]
        if len(columns) == 1 and len(columns[0].texts) == len(own.paths) and _are_opaque(columns[0].texts):
            former = str(columns[0].group)
            for pattern in proposal.patterns:
                pattern.rename(former, RUN_COLUMN, columns[0].texts)
            proposal = replace(proposal, runs_by=[])
    return proposal


def _are_opaque(texts: Collection[str]) -> bool:
    """Tell whether texts are identifiers, in all of which are digits but for those of a hash."""
    have_digits = [re.search("[0-9]", text) is not None for text in texts]
    return any(have_digits) and all(
        has_digit or HEX.fullmatch(text) for text, has_digit in zip(texts, have_digits, strict=True)
    )


def _name_run(pattern: ProposedPattern, runs: frozenset[str]) -> bool:
    """Call the group of a pattern that holds runs of a table `run`, and tell whether there is one."""
    for column in pattern.columns:
        is_own = column.group is not None and (column.group == RUN_COLUMN or column.group not in KNOWN)
        word = _find_word(column.texts, runs, takes_some=is_own) if column.group is not None else None
        if column.group is not None and word is not None:
            _forget_runs(other for other in pattern.columns if other is not column)
            column.expression = f"{escape(word)}(?P<{RUN_COLUMN}>[^/]+?)"
            pattern.factors.pop(column.group, None)
            column.group = RUN_COLUMN
            _name_repetition(pattern)
            return True
    return False


def _name_words(pattern: ProposedPattern, runs: frozenset[str]) -> bool:
    """Call words of a pattern that together are runs of a table `run`, around their groups, and tell whether they are.

    In t-cubic-1 are an algorithm and a repetition.
    """
    for first, last in itertools.combinations(range(len(pattern.columns)), 2):
        columns = pattern.columns[first : last + 1]
        words = zip(*(column.words for column in columns), strict=True)
        names = ["".join(word.text for word in own) for own in words]
        if _find_word({*names}, runs, takes_some=True) == "":
            _forget_runs(pattern.columns)
            expression = "".join(column.expression for column in columns)
            named = [Word(name, RUN_COLUMN, value=name) for name in names]
            pattern.columns[first : last + 1] = [Column(named, RUN_COLUMN, f"(?P<{RUN_COLUMN}>{expression})")]
            return True
    return False


def _forget_runs(columns: Iterable[Column]) -> None:
    """Have columns no longer be the group `run`, as another is."""
    for column in columns:
        if column.group == RUN_COLUMN:
            column.expression = column.expression.replace(f"(?P<{RUN_COLUMN}>", "(?:")
            column.group = None


def _find_word(texts: set[str], runs: frozenset[str], *, takes_some: bool) -> str | None:
    """Return the letters before each of these texts without which they are runs, none where they are; else None.

    With `takes_some` it is enough that each run is one of the texts.
    """
    words = {text.rstrip("0123456789.") for text in texts}
    alike = [*words] if len(words) == 1 else []
    for word in ("", *alike):
        own = {text.removeprefix(word) for text in texts}
        if own <= runs or (takes_some and runs <= own):
            return word
    return None


def _name_repetition(pattern: ProposedPattern) -> None:
    """Call the one parameter of a pattern that counts `iteration`: the table has the conditions of each run."""
    columns = [column for column in pattern.columns if column.group is not None and column.group not in KNOWN]
    if len(columns) != 1 or ITERATION in pattern.groups:
        return
    found = [REPEATED.fullmatch(text) for text in columns[0].texts]
    words = {match[1] if match else None for match in found}
    if len(words) == 1 and (word := words.pop()) is not None:
        columns[0].group = ITERATION
        columns[0].expression = f"{escape(word)}(?P<{ITERATION}>[0-9]+)"
