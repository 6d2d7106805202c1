"""Whose samples of sockets are, where the file's name does not say it: those of the test with the same connection.

A file such as `ss.log` beside the results of some tests may hold samples of several of them. A connection is of a test
that names its 4-tuple and was running then; where two could be meant, or another file samples the test, of none.
"""

from collections import defaultdict
from collections.abc import Collection
from typing import Final, NamedTuple

import polars as pl

from ccreport.core.identifiers import normalise_address

# ASSUME: tools and ss tell the time by clocks that agree to a minute; a socket is seen for as long after its test.
SLACK_S: Final = 60
ALWAYS: Final = (-(2**62), 2**62)
Ends = tuple[str, int, str, int]


class Owner(NamedTuple):
    """The run that a connection is of, and from when to when (µs since 1970) that can be."""

    run_id: str
    first_us: int
    last_us: int


class Owners:
    """The tests of an experiment by the connections that they name."""

    def __init__(self, tests: pl.DataFrame, streams: pl.DataFrame, sampled: Collection[str]) -> None:
        """Take the tables of client outputs, and the runs that have a file of samples by its name."""
        self._owners: dict[Ends, set[Owner]] = defaultdict(set)
        self._servers: set[tuple[str, str, int]] = set()
        self._claimed: dict[tuple[str, Ends], str] = {}
        # By file, the connections that it shows and that are of no test.
        self.strangers: dict[str, set[Ends]] = defaultdict(set)
        known = streams.filter(pl.col("local_port").is_not_null(), ~pl.col("run_id").is_in(list(sampled)))
        for run_id, start, span_s, local, local_port, remote, remote_port in _list_spans(tests, known).iter_rows():
            owner = Owner(run_id, *(_widen(start, span_s) if start is not None and span_s is not None else ALWAYS))
            ends = (normalise_address(local), local_port, normalise_address(remote), remote_port)
            self._owners[ends].add(owner)
            self._servers.add((ends[0], *ends[2:]))

    def find(self, ends: Ends, span_us: tuple[int, int] | None, raw_file_id: str) -> Owner | None:
        """Return whose a connection is that a file shows in this time (None where it tells none), if that is clear."""
        first, last = span_us or ALWAYS
        found = [owner for owner in self._owners.get(ends, ()) if owner.first_us <= last and first <= owner.last_us]
        is_clear = len(found) == 1
        if is_clear and self._claimed.setdefault((found[0].run_id, ends), raw_file_id) == raw_file_id:
            return found[0]
        self.strangers[raw_file_id].add(ends)
        return None

    def count_notable(self, raw_file_id: str) -> int:
        """Return how many connections of a file are of no test, control connections not among them."""
        strangers = self.strangers[raw_file_id]
        # A tool's control connection goes where its data go, from another port.
        return sum(ends in self._owners or (ends[0], *ends[2:]) not in self._servers for ends in strangers)


def _list_spans(tests: pl.DataFrame, streams: pl.DataFrame) -> pl.DataFrame:
    """Return of each stream its run, when its test began (µs), for how long (s) it ran at most, and its ends."""
    key = ["run_id", "client_number"]
    facts = tests.select(*key, "start_utc", "duration_s", pl.col("omit_s").fill_null(0))
    lasted = pl.max_horizontal("duration_s", "sender_s", "receiver_s") + pl.col("omit_s")
    return streams.join(facts, on=key).select(
        "run_id",
        pl.col("start_utc").dt.epoch("us"),
        lasted.alias("span_s"),
        *("local_address", "local_port", "remote_address", "remote_port"),
    )


def _widen(start_us: int, span_s: float) -> tuple[int, int]:
    return start_us - SLACK_S * 10**6, start_us + round((span_s + SLACK_S) * 1e6)
