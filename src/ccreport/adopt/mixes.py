"""Words that name the algorithms of all flows of a run, as the folder of `bbr-vs-cubic/alpha_bbr.json` does.

Such words are one parameter. The algorithm of a file is where the words agree with what results know, wherever that is.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from ccreport.adopt.contents import Content
from ccreport.adopt.forms import Named, group_by_form
from ccreport.adopt.path_words import Word
from ccreport.adopt.patterns import ANY_WORD
from ccreport.core.algorithms import FIRST_BBR, name_algorithm

KIND: Final = "mix"
# Whether it is in the name of a folder, what is before it there, and its text.
Mix = tuple[bool, str, str]


def join_mixes(named: Sequence[Named], contents: Mapping[str, Content]) -> list[Named]:
    """Return paths with their words, in which each mix is one word: of results, and of files beside them."""
    forms = [members for kind, members in group_by_form(named) if kind == "iperf3"]
    mixes = {mix for members in forms for mix in _find_mixes(members, contents)}
    return [(path, kind, _join(words, mixes)) for path, kind, words in named]


def _find_mixes(members: Sequence[tuple[str, list[Word]]], contents: Mapping[str, Content]) -> Iterator[Mix]:
    """Yield the mixes in paths of one form: words of algorithms that contradict results, where others agree with them.

    Several words that all contradict some result are a mix where results of the same words have several algorithms.
    """
    known = [(words, contents[path].algorithms) for path, words in members if contents[path].algorithms]
    places = [n for n, word in enumerate(members[0][1]) if word.kind == "cc"]
    agreeing = [n for n in places if all(_is_of(words[n].text, algorithms) for words, algorithms in known)]
    if len(places) < 2 or not known or places[0] in agreeing:
        return
    meant: dict[object, set[str]] = defaultdict(set)
    for words, algorithms in known:
        meant[tuple(words[n].text for n in places)].update(algorithms)
    if agreeing or any(len(algorithms) > 1 for algorithms in meant.values()):
        for _, words in members:
            yield from _list_mixes(words, [n for n in places if n not in agreeing])


def _is_of(text: str, algorithms: Collection[str]) -> bool:
    """Tell whether a word names one of some algorithms."""
    named = name_algorithm(text)
    return named in algorithms or (named in FIRST_BBR and not FIRST_BBR.isdisjoint(algorithms))


def _list_mixes(words: Sequence[Word], places: Iterable[int]) -> Iterator[Mix]:
    """Yield the mixes of a path by the places of their algorithms; those without a word of a group between are one."""
    spans: list[tuple[int, int]] = []
    for place in places:
        between = words[spans[-1][1] : place] if spans else ()
        is_same = bool(spans) and all(one.kind in ("separator", "word") and one.text != "/" for one in between)
        spans = [*spans[:-1], (spans[-1][0], place + 1)] if is_same else [*spans, (place, place + 1)]
    for first, end in spans:
        folder = max((n + 1 for n in range(first) if words[n].text == "/"), default=0)
        yield any(word.text == "/" for word in words[end:]), _write(words[folder:first]), _write(words[first:end])


def _write(words: Iterable[Word]) -> str:
    return "".join(word.text for word in words)


def _join(words: Sequence[Word], mixes: Collection[Mix]) -> list[Word]:
    """Return the words of a path with those of each mix in one."""
    slashes = [number for number, word in enumerate(words) if word.text == "/"]
    joined: list[Word] = []
    folder = place = 0
    while place < len(words):
        until = next((slash for slash in slashes if slash > place), len(words))
        before = _write(words[folder:place])
        ends = range(until, place, -1) if words[place].kind == "cc" else ()
        end = next((end for end in ends if (until < len(words), before, _write(words[place:end])) in mixes), place)
        mix = _write(words[place:end])
        joined.append(Word(mix, KIND, f"(?P<{KIND}>{ANY_WORD})", mix) if mix else words[place])
        place = max(end, place + 1)
        folder = place if words[place - 1].text == "/" else folder
    return joined
