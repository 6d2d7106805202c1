"""The forms in which netperf prints results, each as texts by output selector."""

import csv
import re
from collections.abc import Callable, Iterator, Mapping
from operator import itemgetter
from typing import Any, Final

import polars as pl

from ccreport.ingest.json_values import quote
from ccreport.ingest.rpc.netperf_bulk import Interim, split_csv, split_interim
from ccreport.ingest.rpc.netperf_selectors import SELECTOR_OF_LABEL

# MIGRATED TCP STREAM TEST from 0.0.0.0 (0.0.0.0) port 0 AF_INET to 10.77.0.1 () port 0 AF_INET : demo
BANNER: Final = re.compile(
    r"^(?P<name>(?:MIGRATED )?[A-Za-z0-9]{2,12} [A-Za-z|/ ]{2,60}?) TEST(?: from (?P<client>\S{0,255}) .{0,200}?"
    r" to (?P<server>\S{0,255}) .*| to (?P<other>.*))?$",
    re.MULTILINE,
)
INTERIM_WORDS: Final = ("Interim result: ", "NETPERF_INTERIM_RESULT[", "/s,")
# Looking behind comes last: a search begins with what is fixed.
FIRST_INTERIM: Final = re.compile(r"NETPERF_INTERIM_RESULT\[0\]=(?<![^\n]NETPERF_INTERIM_RESULT\[0\]=)")
NUMBER: Final = r"(\d{1,18}\.\d{1,9})"
# Four lines for one interim result.
KEYVAL_INTERIM: Final = re.compile(
    rf"^NETPERF_INTERIM_RESULT\[\d+\]={NUMBER}\nNETPERF_UNITS\[\d+\]=(\S{{1,20}})\n"
    rf"NETPERF_INTERVAL\[\d+\]={NUMBER}\nNETPERF_ENDING\[\d+\]={NUMBER}\n",
    re.MULTILINE,
)
# Interim result: 29237.12 10^6bits/s over 0.369 seconds ending at 1795248506.850
HUMAN_INTERIM: Final = re.compile(
    rf"^Interim result: +{NUMBER} (\S{{1,20}}) over {NUMBER} seconds ending at {NUMBER}\n", re.MULTILINE
)
# 119149.60,Trans/s,0.300,1795248505.777
CSV_INTERIM: Final = re.compile(rf"^{NUMBER},(\S{{1,20}}),{NUMBER},{NUMBER}\n", re.MULTILINE)
CSV_ENDING: Final = re.compile(rf"/s,{NUMBER},{NUMBER}\n")
KEYVAL: Final = re.compile(r"^([A-Z][A-Z0-9_]{1,40})=(.*)$", re.MULTILINE)
# Nothing but selectors and values, each on a line.
ONLY_KEYVAL: Final = re.compile(r"\n*(?:[A-Z][A-Z0-9_]{1,40}+=.*(?:\n+|\Z))++")
CLASSIC: Final = re.compile(r"(?:Recv +Send +Send|Local */Remote|Socket +Message +Elapsed)\b")
CLASSIC_UNIT: Final = re.compile(r"(10\^[369]bits|[KMG]Bytes|Bytes|bits|per)[ /]sec\b")
MSS: Final = re.compile(r"^Maximum\nSegment\nSize \(bytes\)\n +(\d{1,9})$", re.MULTILINE)
NUMBERS: Final = re.compile(r"[ \d.-]+")
# The columns of the line of results, after as many of them as the line has.
BULK: Final = ("", "", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "THROUGHPUT", "LOCAL_CPU_UTIL", "REMOTE_CPU_UTIL", "", "")
TRANSACTIONS: Final = ("", "", "REQUEST_SIZE", "RESPONSE_SIZE", *BULK[3:])
DATAGRAMS: Final = ("", "LOCAL_SEND_SIZE", "ELAPSED_TIME", "", "", "", "LOCAL_CPU_UTIL", "")

HUMAN_LINES: Final = 5
BEGINNINGS: Final = {selector: f"\n{selector}=" for selector in SELECTOR_OF_LABEL.values()}

Test = tuple[str, dict[str, str]]
Note = Callable[[str, str], None]


def find_banners(text: str) -> Iterator[re.Match[str]]:
    """Yield the banners of a text in order, at most one of each line."""
    line = 0
    while (at := text.find(" TEST", line)) >= 0:
        banner = BANNER.match(text, text.rfind("\n", line, at) + 1 or line)
        if banner is not None:
            yield banner
        line = text.find("\n", at) + 1
        if not line:
            return


def find_interim(text: str) -> tuple[str, Interim]:
    """Return a test's output without its interim results, and these."""
    # A word that each form must have is found faster than the form.
    for word, pattern in zip(INTERIM_WORDS, (HUMAN_INTERIM, KEYVAL_INTERIM, CSV_INTERIM), strict=True):
        if word not in text or (pattern is CSV_INTERIM and CSV_ENDING.search(text) is None):
            continue
        if pattern is KEYVAL_INTERIM and (found := split_interim(text)) is not None:
            return found
        if pattern.search(text) is None:
            continue
        values, units, intervals, ends = zip(*pattern.findall(text), strict=True)
        interim = Interim([*map(float, values)], [*map(float, intervals)], [*map(float, ends)], units[0])
        return pattern.sub("", text), interim
    return text, Interim()


def read_forms(text: str, known: Mapping[str, Any], note: Note) -> list[Test] | pl.DataFrame:
    """Return form and selectors of each test that a text without banner and interim results holds.

    Of CSV with many lines it is a frame with a column of texts for each selector.
    """
    first = text.lstrip("\n").partition("\n")[0]
    if KEYVAL.match(first):
        return [("keyval", fields) for fields in _read_keyval(text, note)]
    if CLASSIC.match(first):
        return [("classic", fields) for fields in _read_classic(text, known, note)]
    labels = [label.strip() for label in first.split(",")]
    if not SELECTOR_OF_LABEL.keys().isdisjoint(labels):
        found = _read_csv(labels, text.strip("\n").partition("\n")[2], note)
        return found if isinstance(found, pl.DataFrame) else [("csv", fields) for fields in found]
    return [("human", fields) for fields in _read_human(text.strip("\n").split("\n"))]


def _read_keyval(text: str, note: Note) -> list[dict[str, str]]:
    first = text.lstrip("\n").partition("=")[0]
    if f"\n{first}=" not in text.lstrip("\n") and ONLY_KEYVAL.fullmatch(text):
        return [_pick_selectors(f"\n{text}\n")]
    pairs = KEYVAL.findall(text)
    others = text.count("\n") + (not text.endswith("\n")) - len(pairs)
    if others and (line := next((x for x in text.split("\n") if x.strip() and not KEYVAL.match(x)), None)) is not None:
        note("malformed_record", f"no selector and value: {quote(line)}; it is left out")
    fields = dict(pairs)
    if len(fields) == len(pairs):
        return [fields]
    # Without banners a new test begins where the first selector comes again.
    starts = [number for number, pair in enumerate(pairs) if pair[0] == pairs[0][0]]
    return [dict(pairs[start:end]) for start, end in zip(starts, [*starts[1:], len(pairs)], strict=True)]


def _pick_selectors(text: str) -> dict[str, str]:
    """Return the selectors that have a column; of 200 that netperf can print these are a few."""
    fields = {}
    end = 0
    for selector, begin in BEGINNINGS.items():
        # netperf prints all selectors in this order, and others as it was asked for them.
        start = text.find(begin, end)
        if start < 0:
            start = text.find(begin, 0, end + len(begin))
        if start >= 0:
            value = start + len(begin)
            end = text.index("\n", value)
            fields[selector] = text[value:end]
    return fields


def _read_csv(labels: list[str], text: str, note: Note) -> list[dict[str, str]] | pl.DataFrame:
    wanted = [(SELECTOR_OF_LABEL[label], number) for number, label in enumerate(labels) if label in SELECTOR_OF_LABEL]
    tests = []
    selectors = [selector for selector, _ in wanted]
    # Of one place it would give no tuple.
    take = itemgetter(*(number for _, number in wanted), -1)
    if (texts := split_csv(text, len(labels), dict(wanted))) is not None:
        return texts
    for line in text.split("\n"):
        if not line.strip():
            continue
        try:
            cells = next(csv.reader([line]))
        except csv.Error:
            cells = []
        if len(cells) == len(labels):
            tests.append(dict(zip(selectors, map(str.strip, take(cells)), strict=False)))
        else:
            note("malformed_record", f"{len(cells)} values under {len(labels)} labels: {quote(line)}")
    return tests


def _read_human(lines: list[str]) -> list[dict[str, str]]:
    """Read blocks of four lines of labels, of which the last may be blank, above one of values."""
    fields: dict[str, str] = {}
    number = 0
    while number < len(lines):
        if lines[number].strip():
            block = [line.rstrip() for line in lines[number : number + HUMAN_LINES]]
            fields |= _read_block(block) if len(block) == HUMAN_LINES else {}
            number += HUMAN_LINES
        else:
            number += 1
    return [fields] if fields else []


def _read_block(block: list[str]) -> dict[str, str]:
    width = max(map(len, block)) + 1
    padded = [f" {line}".ljust(width + 1) for line in block]
    starts = [
        place
        for place in range(1, width + 1)
        if padded[0][place] != " " and all(line[place - 1] == " " for line in padded)
    ]
    found = {}
    # Where no column begins there is an end too many.
    for start, end in zip(starts, [*starts[1:], width + 1], strict=False):
        *labels, value = (line[start:end].strip() for line in padded)
        selector = SELECTOR_OF_LABEL.get(" ".join(" ".join(labels).split()))
        if selector is not None:
            found[selector] = value
    return found


def _read_classic(text: str, known: Mapping[str, Any], note: Note) -> list[dict[str, str]]:
    unit = CLASSIC_UNIT.search(text)
    rows = [line.split() for line in text.split("\n") if line.strip() and NUMBERS.fullmatch(line)]
    is_datagrams = text.lstrip().startswith("Socket")
    if unit is None or not rows:
        return []
    columns = DATAGRAMS if is_datagrams else TRANSACTIONS if text.lstrip().startswith("Local") else BULK
    least = {BULK: 5, TRANSACTIONS: 6}.get(columns, 6)
    if not least <= len(rows[0]) <= len(columns):
        note("malformed_record", f"{len(rows[0])} values where {least} belong: {quote(' '.join(rows[0]))}")
        return []
    fields = {selector: value for selector, value in zip(columns, rows[0], strict=False) if selector}
    # Of datagrams only those that arrived count: the second line is the receiver's.
    if is_datagrams and len(rows) > 1 and len(rows[1]) >= 4:
        fields["THROUGHPUT"] = rows[1][3]
    if known.get("payload_direction") == "receive" and "LOCAL_SEND_SIZE" in fields:
        fields["REMOTE_SEND_SIZE"] = fields.pop("LOCAL_SEND_SIZE")
    fields["THROUGHPUT_UNITS"] = "Trans/s" if unit[1] == "per" else f"{unit[1]}/s"
    if (mss := MSS.search(text)) is not None:
        fields["TRANSPORT_MSS"] = mss[1]
    return [fields]
