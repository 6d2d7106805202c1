"""What could not be read of an ss file, as rejects that a user can act on."""

from dataclasses import dataclass, field
from typing import Final, NamedTuple

from ccreport.ingest import ss_layout as layout
from ccreport.raw import RawFile, RawFileError, display_name
from ccreport.rejects import Rejects

# Rejects of parts of one file; the last says how many more there are.
PARTS_LIMIT: Final = 20
KEPT_LIMIT: Final = 200
SNIPPET_BYTES: Final = 60
CUT_REASON: Final = "truncated_text"
KINDS: Final = {
    layout.BAD_VALUE: ("malformed_record", "`{}` has no value that ss prints; it is null"),
    layout.CROWDED: ("malformed_record", "too many unknown tokens in one record; those from `{}` on are left out"),
    layout.BAD_STAMP: (
        "malformed_record",
        "`{}` is no time stamp such as `# 1795211351.663251`; the samples below it have no time and are left out",
    ),
    layout.BAD_LINE: ("malformed_record", "`{}` is no line that ss prints; it is left out"),
    layout.NO_TIME: ("malformed_record", "`{}` has no readable time stamp above it; this sample is left out"),
    layout.DOUBLED: (
        "doubled",
        "`{}` is no later than the last sample of this connection (clock set back? file copied onto itself?); left out",
    ),
    layout.CUT: (
        CUT_REASON,
        "cut in mid-line: `{}` (ss was stopped while writing); what is whole of a sample is kept and marked partial",
    ),
}
BAD_FLOW: Final = (
    "malformed_record",
    "the samples of `{}` are left out: these are no addresses with numbers of ports; record with ss -n",
)


class Problem(NamedTuple):
    """Something at a place of a file that could not be used; `line` counts from 1."""

    offset: int | None
    line: int | None
    reason: str
    message: str


@dataclass
class Problems:
    """The problems of one file: the first of them, and how many there are."""

    count: int = 0
    first: list[Problem] = field(default_factory=list)

    def add(self, kind: tuple[str, str], text: bytes, offset: int | None = None, line: int | None = None) -> None:
        """Note a problem with this text of the file."""
        self.count += 1
        if len(self.first) < KEPT_LIMIT:
            snippet = text[:SNIPPET_BYTES].strip().decode("utf-8", "surrogateescape")
            self.first.append(Problem(offset, line, kind[0], kind[1].replace("{}", display_name(snippet))))

    def add_error(self, error: RawFileError) -> None:
        """Note where and why the file could be read no further."""
        self.first.append(Problem(error.offset, error.line, error.reason, error.message))
        self.count += 1

    def write(self, file: RawFile, rejected: Rejects) -> None:
        """Add the problems as rejects of parts of the file, the ends of what could be read before all others."""
        ranked = sorted(self.first, key=lambda problem: problem.reason in ("malformed_record", "doubled"))
        shown = ranked if self.count <= PARTS_LIMIT else ranked[: PARTS_LIMIT - 1]
        for problem in sorted(shown, key=lambda problem: (problem.offset is None, problem.offset)):
            place = {"line": problem.line, "offset": problem.offset}
            rejected.add(file, problem.reason, problem.message, is_whole_file=False, **place)
        if len(shown) < self.count:
            message = f"{self.count - len(shown)} more places of this file could not be read"
            rejected.add(file, "malformed_record", message, is_whole_file=False)
