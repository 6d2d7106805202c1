"""One kind of path: files whose paths differ in single words only, with a group for each word that tells."""

import contextlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from ccreport.adopt.path_words import CC, DAY, LOSS, NUMBER, RUNS, Word, escape, list_delays
from ccreport.archive.layout_groups import (
    NO_LOSS,
    Value,
    check_group,
    find_group,
    point_decimals,
    read_value,
    sort_naturally,
)

# Words that say what a file is, and not of what.
KIND_WORDS: Final = frozenset(
    {
        *("ss", "mpstat", "iperf", "iperf3", "tcpdump", "pcap", "cap", "cpu", "sockets", "netem", "tc", "qdisc"),
        *("out", "output", "log", "server", "client", "receiver", "sender", "src", "dst"),
    }
)
ANY_WORD: Final = "[^/]+?"
GROUP: Final = re.compile(r"\(\?P<(\w+)>")
# Behind the second group of a name, as variant_2.
COUNT: Final = re.compile(r"_[0-9]+$")
# 0.01, but neither a part of 3.1.7 nor a day with a time behind it
DECIMAL: Final = re.compile(rf"(?<![0-9.])(?!{DAY}\.)[0-9]*\.[0-9]+(?!\.?[0-9])")
# What expressions are where some texts have a decimal comma, or an algorithm of two words.
WITH_COMMA: Final = {"[0-9.]+": "[0-9.,]+", r"(?:\.[0-9]+)?": "(?:[.,][0-9]+)?"}
# .5 for 0.5
WITHOUT_ZERO: Final = re.compile(r"(?<![0-9])\.[0-9]")
OF_TWO_WORDS: Final = {CC: "(?P<cc>[A-Za-z0-9]+(?:[ ._-](?:[Vv][0-9]|(?i:reno|tcp)))?)"}
# For each known algorithm so many words may be algorithms; of more, one may be called so by chance.
WORDS_A_NAME: Final = 4


@dataclass
class Column:
    """One position in the paths of a pattern: the word there in each path, and the expression that matches them."""

    words: list[Word]
    group: str | None = None
    expression: str = ""
    # In each path it says what another column does: bbr/bbr_run1.
    is_repeating: bool = False

    @property
    def kind(self) -> str:
        """Return what kind of piece is here; where they differ, an algorithm, as some of them are, or any word."""
        kinds = [*{word.text: word.kind for word in self.words}.values()]
        return kinds[0] if len({*kinds}) == 1 else "cc" if len(kinds) <= WORDS_A_NAME * kinds.count("cc") else "word"

    @property
    def texts(self) -> set[str]:
        """Return the texts that are here."""
        return {word.text for word in self.words}

    def repeats(self, other: "Column") -> bool:
        """Tell whether the two say the same in each path, be it in other units: 0.5gbit and 500mbit, 20 and rtt20."""
        pairs = zip(self.words, other.words, strict=True)
        return all(_read(word) == _read(same) or word.text == same.value for word, same in pairs)


@dataclass
class ProposedPattern:
    """Files of one kind whose paths have the same form."""

    kind: str
    paths: list[str]
    columns: list[Column]
    factors: dict[str, float] = field(default_factory=dict)
    constants: dict[str, str] = field(default_factory=dict)
    # Files that it fits as well: of its kind under a name of another form, or empty or broken.
    others: list[str] = field(default_factory=list)
    # It fits files that are something else, so that it does not say what a file is.
    is_loose: bool = False
    # Its leading folders tell it from other patterns.
    is_whole: bool = False

    @property
    def count(self) -> int:
        """Return how many files it fits."""
        return len(self.paths) + len(self.others)

    @property
    def groups(self) -> list[str]:
        """Return the names of the pattern's groups, in order, also of those within another."""
        return [name for column in self.columns for name in GROUP.findall(column.expression)]

    def write_pattern(self) -> str:
        """Return the pattern, without leading folders that say nothing."""
        if self.is_whole:
            return "".join(column.expression for column in self.columns)
        first = next((number for number, column in enumerate(self.columns) if column.group), 0)
        slashes = [n for n, column in enumerate(self.columns[:first]) if column.texts == {"/"}]
        shown = self.columns[slashes[-1] + 1 if slashes else 0 :]
        return "".join(column.expression for column in shown)

    def fits(self, path: str) -> bool:
        """Tell whether a path would be of this pattern."""
        return self._match(path) is not None

    def cuts_number(self) -> bool:
        """Tell whether a group begins or ends within a decimal number of some path: at the point of loss_0.01%."""
        for path in (*self.paths, *self.others):
            match = self._match(path)
            edges = [edge for span in match.regs[1:] for edge in span] if match is not None else []
            for number in DECIMAL.finditer(point_decimals(path)):
                if any(number.start() < edge < number.end() for edge in edges):
                    return True
        return False

    def _match(self, path: str) -> re.Match[str] | None:
        return re.fullmatch(f"(?:.*/)?(?:{self.write_pattern()})", path, re.DOTALL)

    def list_texts(self) -> None:
        """Have groups of any word match only what they hold here."""
        for column in self.columns:
            texts = "|".join(map(escape, sort_naturally(column.texts)))
            column.expression = column.expression.replace(ANY_WORD, texts)

    def rename(self, former: str, group: str | None, texts: set[str], expression: str | None = None) -> None:
        """Call a group by another name, if the pattern has none of that name and the group holds some of these texts.

        `variant_2` may be here what is `variant` elsewhere. Without `expression`, the group matches what it did.
        """
        start = COUNT.sub("", former)
        for column in sorted(self.columns, key=lambda column: column.group != former):
            is_meant = column.group is not None and COUNT.sub("", column.group) == start and column.texts & texts
            if is_meant and group not in self.groups:
                renamed = column.expression.replace(f"<{column.group}>", f"<{group}>")
                column.expression = expression if expression is not None else renamed
                column.group = group

    def says_delay(self) -> bool:
        """Tell whether the names say a delay, which may be that of one direction, and not an RTT."""
        return any(list_delays([column.words[0] for column in self.columns]))

    def list_words(self) -> dict[str, Column]:
        """Return the words that all paths have, and that say neither a group nor a kind of file."""
        return {
            column.words[0].text: column
            for column in self.columns
            if column.group is None
            and len(column.texts) == 1
            and column.kind in ("word", "counted", "number")
            and column.words[0].text.lower() not in KIND_WORDS
        }

    def list_counted(self) -> Iterator[tuple[Column, str]]:
        """Yield the numbers behind a word, in one piece with it or apart, with the word: of `lab1` and `lab 1`."""
        former = ""
        for column in (column for column in self.columns if not column.is_repeating):
            if column.kind == "counted":
                yield column, find_start(column.words[0])
            elif column.kind == "number" and former:
                yield column, f"{former} "
            if column.kind != "separator":
                former = column.words[0].text if column.kind == "word" and len(column.texts) == 1 else ""

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


def make_pattern(kind: str, members: Sequence[tuple[str, list[Word]]]) -> ProposedPattern:
    """Return the pattern of some paths of one form; `members` are the paths with their words."""
    columns = [Column([words[number] for _, words in members]) for number in range(len(members[0][1]))]
    own = ProposedPattern(kind, [path for path, _ in members], columns)
    taken: Counter[str] = Counter()
    former = ""
    _mark_repeating(columns)
    counting = _find_counting(columns)
    for column in columns:
        if column.is_repeating:
            column.expression = f"(?:{ANY_WORD})"
        else:
            _name_column(column, former, taken, is_counting=column is counting)
        _widen(column)
        if column.group and column.words[0].factor != 1:
            own.factors[column.group] = column.words[0].factor
        former = _find_former(column, former)
    return own


def _mark_repeating(columns: Iterable[Column]) -> None:
    """Mark the columns that repeat another: one of words with a meaning, wherever that is, else an earlier one."""
    telling: list[Column] = []
    for column in sorted(columns, key=lambda column: not any(word.expression for word in column.words)):
        if len(column.texts) > 1:
            column.is_repeating = any(map(column.repeats, telling))
            telling += [] if column.is_repeating else [column]


def _read(word: Word) -> tuple[str, Value]:
    """Return what a word says: its group and the value, in the group's unit, else its text in small letters."""
    with contextlib.suppress(ValueError):
        if word.expression:
            return find_group(word.kind)[0], read_value(word.kind, word.value, word.factor)
    return "", word.text.lower()


def _find_counting(columns: Sequence[Column]) -> Column | None:
    """Return the column of bare numbers that count repetitions: the last that are all from 0 or 1 on, else the first.

    Numbers with wide gaps, such as 10 and 40, count nothing.
    """
    former, dense, from_start = "", [], []
    for column in columns:
        is_bare = column.kind == "number" and len(column.texts) > 1 and (not former or former.lower() in KIND_WORDS)
        if is_bare and not column.is_repeating and all(map(str.isdigit, column.texts)):
            numbers = sorted({*map(int, column.texts)})
            dense += [column] if numbers[-1] - numbers[0] < 2 * len(numbers) else []
            from_start += [column] if numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)]) else []
        former = _find_former(column, former)
    return from_start[-1] if from_start else dense[0] if dense else None


def _find_former(column: Column, former: str) -> str:
    """Return the word before what follows a column: that of the column, if it never changes."""
    if column.kind == "separator":
        return former
    return column.words[0].text if len(column.texts) == 1 and column.kind == "word" else ""


def _name_column(column: Column, former: str, taken: Counter[str], *, is_counting: bool) -> None:
    """Give a column its group: known words have one, others where they differ from path to path."""
    word = next((word for word in column.words if word.kind == column.kind), column.words[0]._replace(expression=""))
    is_varied = len(column.texts) > 1
    column.expression = escape(word.text)
    usual = find_group(word.kind)[0]
    if word.expression and not taken[usual]:
        is_always_lossy = all(NO_LOSS not in text.lower() for text in column.texts)
        column.expression = word.expression.replace(f"{NO_LOSS}|", "") if is_always_lossy else word.expression
        _take(column, word.kind, taken, usual)
        return
    if not is_varied:
        return
    before = ""
    if word.expression:
        # A second one of a kind is a parameter; of two paths in series, say.
        name, expression = f"second_{word.kind.split('_')[0]}", ANY_WORD
    elif word.kind == "number":
        name, expression = _name_numbers(column, former, taken, is_counting=is_counting)
    elif word.kind == "counted":
        starts = {find_start(word) for word in column.words}
        name, expression = (starts.pop(), r"[A-Za-z]+[0-9.]+") if len(starts) == 1 else ("variant", ANY_WORD)
        expression = expression if name.isascii() else rf"{escape(name)}[0-9.]+"
        if name.endswith("="):
            before, expression = escape(name), NUMBER
        name = name.rstrip("=_-").lower()
    else:
        name, expression = "variant", ANY_WORD
    if check_group(name) is not None or not name.isidentifier():
        name = "variant"
    unique = f"{name}_{taken[name] + 1}" if taken[name] else name
    column.expression = f"{before}(?P<{unique}>{expression})"
    _take(column, unique, taken, name)


def _widen(column: Column) -> None:
    """Have the expression of a group match what some text has: decimal commas, no 0 before a point, two words."""
    wider = WITH_COMMA if any("," in text for text in column.texts) else {}
    wider |= {NUMBER: "[0-9.]+"} if any(map(WITHOUT_ZERO.search, column.texts)) else {}
    wider |= OF_TWO_WORDS if not all(map(str.isalnum, column.texts)) else {}
    for narrow, wide in wider.items() if column.group else ():
        column.expression = column.expression.replace(narrow, wide)


def _name_numbers(column: Column, former: str, taken: Counter[str], *, is_counting: bool) -> tuple[str, str]:
    """Return the group of numbers without a unit and their expression; `former` is the word before them."""
    has_none = NO_LOSS in {text.lower() for text in column.texts}
    usual = "loss_pct" if has_none else "iteration" if is_counting else "number"
    name = former.lower() if former and former.lower() not in KIND_WORDS else "number" if taken[usual] else usual
    return "run" if name in RUNS else name, LOSS if has_none else NUMBER


def _take(column: Column, group: str | None, taken: Counter[str], name: str) -> None:
    column.group = group
    taken[name] += 1


def find_start(word: Word) -> str:
    """Return what is before the number of a counted word: `lab` of `lab1`."""
    return re.sub(r"[0-9.,]+$", "", word.text)
