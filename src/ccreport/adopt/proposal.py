"""A layout for a folder of files, proposed from what their names have in common and from what they hold.

Files of one kind whose paths differ in single words only are one pattern, with a group for each word that tells.
Which of the groups tells flows of one run apart, and which repetitions, the times of the tests show.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.path_words import LOSS, NUMBER, RUNS, Word, split_path
from ccreport.archive.layout_groups import KNOWN, NO_LOSS, OF_FILES, check_group

# Words that say what a file is, and not of what.
KIND_WORDS: Final = frozenset(
    {
        *("ss", "mpstat", "iperf", "iperf3", "tcpdump", "pcap", "cap", "cpu", "sockets", "netem", "tc", "qdisc"),
        *("out", "output", "log", "server", "client", "receiver", "sender", "src", "dst"),
    }
)
# Kinds that content does not show, so that the pattern has to say them.
DECLARED: Final = frozenset({"iperf3-server", "netem"})
JOB: Final = "all"
ANY_WORD: Final = "[^/]+?"
# (?P<run>run_[0-9.]+) · (?P<run>[0-9]+(?:\\.[0-9]+)?)
COUNTED: Final = re.compile(rf"\(\?P<run>(?P<word>[^\[\]()]*)(?:{re.escape('[0-9.]+')}|{re.escape(NUMBER)})\)")


@dataclass
class Column:
    """One position in the paths of a pattern: the word there in each path, and the expression that matches them."""

    words: list[Word]
    group: str | None = None
    expression: str = ""

    @property
    def kind(self) -> str:
        """Return what kind of piece is here."""
        return self.words[0].kind

    @property
    def texts(self) -> set[str]:
        """Return the texts that are here."""
        return {word.text for word in self.words}


@dataclass
class ProposedPattern:
    """Files of one kind whose paths have the same form."""

    kind: str
    paths: list[str]
    columns: list[Column]
    factors: dict[str, float] = field(default_factory=dict)

    @property
    def groups(self) -> list[str]:
        """Return the names of the pattern's groups, in order."""
        return [column.group for column in self.columns if column.group]

    def write_pattern(self) -> str:
        """Return the pattern, without leading folders that say nothing."""
        first = next((number for number, column in enumerate(self.columns) if column.group), 0)
        slashes = [n for n, column in enumerate(self.columns[:first]) if column.texts == {"/"}]
        shown = self.columns[slashes[-1] + 1 if slashes else 0 :]
        return "".join(column.expression for column in shown)

    def read_values(self, without: Iterable[str] = ()) -> dict[str, tuple[tuple[str, str], ...]]:
        """Return of each path what its groups hold, but for some."""
        left_out = set(without)
        return {
            path: tuple(
                (column.group, column.words[number].value)
                for column in self.columns
                if column.group and column.group not in left_out
            )
            for number, path in enumerate(self.paths)
        }


@dataclass(frozen=True)
class Proposal:
    """Patterns for a folder's files, groups that tell runs apart (none: the usual ones), and files of no pattern."""

    patterns: list[ProposedPattern]
    runs_by: list[str]
    unnamed: list[str]
    # One job for all files, where each kind has folders of its own.
    job: str | None = None
    # A CSV with a row for each file, or for each run.
    table: str | None = None
    # Columns of it that are notes.
    ignored_columns: tuple[str, ...] = ()


def propose_layout(contents: Mapping[str, Content]) -> Proposal:
    """Return patterns for the names of files; `contents` are by path."""
    by_form: dict[tuple[str, object], list[tuple[str, list[Word]]]] = defaultdict(list)
    named = [(path, content.kind, split_path(path)) for path, content in sorted(contents.items()) if content.kind]
    unnamed = [path for path in sorted(contents) if not contents[path].kind]
    forms = {(kind, tuple(_form(words))) for _, kind, words in named}
    for path, kind, words in named:
        # `none` where other paths have a number is one, too.
        as_numbers = [word._replace(kind="number") if word.text.lower() == NO_LOSS else word for word in words]
        form = (kind, tuple(_form(as_numbers)))
        if form in forms:
            by_form[form].append((path, as_numbers))
        else:
            by_form[kind, tuple(_form(words))].append((path, words))
    made = [_make_pattern(kind, members) for (kind, _), members in by_form.items()]
    _share_groups(made)
    for former in [_find_flows(own, contents) for own in made]:
        for other in made:
            if former is not None and "flow" not in other.groups:
                _rename(other, former)
    if any(_repeats_runs(own, contents) for own in made):
        for own in made:
            _count_runs(own)
    # A group of a shorter form takes what a longer one takes apart, as `direct_1`: the longer one goes first.
    patterns = sorted((own for own in made if own.groups), key=lambda own: -len(own.columns))
    unnamed += [path for own in made if not own.groups for path in own.paths]
    if _is_by_kind(patterns):
        common = set.intersection(*(set(pattern.groups) for pattern in patterns)) - OF_FILES
        if common and not any("job" in pattern.groups for pattern in patterns):
            return Proposal(patterns, sorted(common), sorted(unnamed), JOB)
    return Proposal(patterns, _choose_runs_by(patterns), sorted(unnamed))


def _share_groups(made: Sequence[ProposedPattern]) -> None:
    """Give a counted word that never changes in the files of one kind the group that it is in those of another.

    A single log beside tests `lab1` to `lab3` is of one of them.
    """
    counted = [(own, column) for own in made for column in own.columns if column.kind == "counted"]
    varied = {_start(column.words[0]): column for _, column in counted if column.group and len(column.texts) > 1}
    for own, column in counted:
        other = varied.get(_start(column.words[0]))
        if column.group is None and other is not None and other.group not in own.groups:
            column.group, column.expression = other.group, other.expression


def _start(word: Word) -> str:
    """Return what is before the number of a counted word: `lab` of `lab1`."""
    return re.sub(r"[0-9.]+$", "", word.text)


def _is_by_kind(patterns: Sequence[ProposedPattern]) -> bool:
    """Tell whether the tests have folders in which no other kind of file is, and the others the same."""
    folders: dict[str, set[str]] = defaultdict(set)
    for one in patterns:
        folders[one.kind] |= {path.rpartition("/")[0] for path in one.paths}
    tests = folders.pop("iperf3", set())
    others = {folder for own in folders.values() for folder in own}
    return bool(tests and others) and not tests & others


def _form(words: Sequence[Word]) -> Iterable[object]:
    """Return what the paths of a pattern share: separators, kinds of words, the ending, and words that name a kind."""
    last = len(words) - 1
    for number, word in enumerate(words):
        is_fixed = (
            word.kind == "separator" or word.text.lower() in KIND_WORDS or (number == last and word.kind == "word")
        )
        yield (word.kind, word.text if is_fixed else "", word.expression)


def _make_pattern(kind: str, members: Sequence[tuple[str, list[Word]]]) -> ProposedPattern:
    columns = [Column([words[number] for _, words in members]) for number in range(len(members[0][1]))]
    own = ProposedPattern(kind, [path for path, _ in members], columns)
    taken: Counter[str] = Counter()
    former = ""
    for column in columns:
        _name_column(column, former, taken)
        if column.group and column.words[0].factor != 1:
            own.factors[column.group] = column.words[0].factor
        if column.kind != "separator":
            former = column.words[0].text if len(column.texts) == 1 and column.kind == "word" else ""
    return own


def _name_column(column: Column, former: str, taken: Counter[str]) -> None:
    """Give a column its group: known words have one, others where they differ from path to path."""
    word, is_varied = column.words[0], len(column.texts) > 1
    column.expression = re.escape(word.text)
    if word.expression and not taken[word.kind]:
        is_always_lossy = all(NO_LOSS not in text.lower() for text in column.texts)
        column.expression = word.expression.replace(f"{NO_LOSS}|", "") if is_always_lossy else word.expression
        _take(column, word.kind, taken, word.kind)
        return
    if not is_varied:
        return
    if word.expression:
        # A second one of a kind is a parameter; of two paths in series, say.
        name, expression = f"second_{word.kind.split('_')[0]}", ANY_WORD
    elif word.kind == "number":
        name, expression = _name_numbers(column, former, taken)
    elif word.kind == "counted":
        starts = {_start(word) for word in column.words}
        name, expression = (starts.pop(), r"[A-Za-z]+=?[0-9.]+") if len(starts) == 1 else ("variant", ANY_WORD)
        name = name.rstrip("=_-").lower()
    else:
        name, expression = "variant", ANY_WORD
    if check_group(name) is not None or not name.isidentifier():
        name = "variant"
    unique = f"{name}_{taken[name] + 1}" if taken[name] else name
    column.expression = f"(?P<{unique}>{expression})"
    _take(column, unique, taken, name)


def _name_numbers(column: Column, former: str, taken: Counter[str]) -> tuple[str, str]:
    """Return the group of numbers without a unit and their expression; `former` is the word before them."""
    has_none = NO_LOSS in {text.lower() for text in column.texts}
    is_whole = all(text.isdigit() for text in column.texts)
    usual = "loss_pct" if has_none else "iteration" if is_whole else "number"
    name = former.lower() if former and former.lower() not in KIND_WORDS else "number" if taken[usual] else usual
    return "run" if name in RUNS else name, LOSS if has_none else NUMBER


def _take(column: Column, group: str | None, taken: Counter[str], name: str) -> None:
    column.group = group
    taken[name] += 1


def _find_flows(own: ProposedPattern, contents: Mapping[str, Content]) -> str | None:
    """Call a group `flow` where tests that differ in it only, and in their algorithm, ran at one time.

    Return what the group was called before, None where there is no such.
    """
    if own.kind != "iperf3":
        return None
    for column in own.columns:
        if column.group is None or (column.group in KNOWN - {"iteration", "run"}):
            continue
        by_others: dict[object, list[Content]] = defaultdict(list)
        for path, values in own.read_values((column.group, "cc")).items():
            by_others[values].append(contents[path])
        several = [group for group in by_others.values() if len(group) > 1]
        if several and all(_ran_together(group) for group in several):
            column.expression = column.expression.replace(f"<{column.group}>", "<flow>")
            if column.kind == "counted":
                column.expression = "(?P<flow>[A-Za-z]+[0-9]+)"
            former, column.group = column.group, "flow"
            return former
    return None


def _rename(own: ProposedPattern, former: str) -> None:
    """Call a group of another kind of files `flow`, which is that of the tests beside them."""
    for column in own.columns:
        if column.group == former:
            column.expression = column.expression.replace(f"<{former}>", "<flow>")
            column.group = "flow"


def _repeats_runs(own: ProposedPattern, contents: Mapping[str, Content]) -> bool:
    """Tell whether tests of one `run1` ran one after the other: the number counts repetitions of each condition."""
    by_run: dict[object, list[Content]] = defaultdict(list)
    if own.kind == "iperf3":
        for path, values in own.read_values(set(own.groups) - {"run"}).items():
            by_run[values].append(contents[path])
    by_run.pop((), None)
    several = [tests for tests in by_run.values() if len(tests) > 1]
    are_known = all(test.start_s is not None and test.end_s is not None for tests in several for test in tests)
    return bool(several) and are_known and not any(map(_ran_together, several))


def _count_runs(own: ProposedPattern) -> None:
    """Call the group `run` of a pattern `iteration`, if it is a number behind a word or by itself, else `session`."""
    for column in own.columns:
        if column.group != "run":
            continue
        if "iteration" not in own.groups and (counted := COUNTED.fullmatch(column.expression)):
            column.expression, column.group = f"{counted['word']}(?P<iteration>[0-9]+)", "iteration"
        elif "session" not in own.groups:
            # A day on which several tests were made.
            column.expression, column.group = column.expression.replace("<run>", "<session>"), "session"


def _ran_together(tests: Sequence[Content]) -> bool:
    """Tell whether all of some tests say their times, and ran at one time, so that they are not repetitions."""
    if any(test.start_s is None or test.end_s is None for test in tests):
        return False
    first = max(test.start_s or 0 for test in tests)
    return first < min(test.end_s or 0 for test in tests)


def _choose_runs_by(patterns: Sequence[ProposedPattern]) -> list[str]:
    """Return the groups that all kinds of files of a run have, where the usual ones would keep them apart."""
    of_tests = [set(one.groups) for one in patterns if one.kind == "iperf3"]
    of_others = [set(one.groups) for one in patterns if one.kind not in ("iperf3", "jobmeta")]
    if not of_tests or not of_others or all("run" in groups for groups in (*of_tests, *of_others)):
        return []
    common = set.intersection(*of_tests, *of_others) - {"flow", "side"}
    usual = set.union(*of_tests, *of_others) - {"flow", "side"}
    return sorted(common) if common and common != usual else []
