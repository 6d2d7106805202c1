"""What could not be read of an ss file, as rejects that a user can act on."""

from typing import Final

from ccreport.ingest.ss import layout

CUT_REASON: Final = "truncated_text"
KINDS: Final = {
    layout.BAD_VALUE: ("malformed_record", "`{}` has no value that ss prints; it is null"),
    layout.CROWDED: ("malformed_record", "too many unknown tokens in one record; those from `{}` on are left out"),
    layout.BAD_STAMP: (
        "malformed_record",
        "`{}` is not a time stamp such as `# 1795211351.663251`; the samples below it have no time and are left out",
    ),
    layout.BAD_LINE: ("malformed_record", "`{}` is not a line that ss prints; it is left out"),
    layout.NO_TIME: ("malformed_record", "`{}` has no readable time stamp above it; this sample is left out"),
    layout.DOUBLED: (
        "doubled",
        "`{}` is not after the last sample of this connection (clock set back? file copied onto itself?); left out",
    ),
    layout.CUT: (
        CUT_REASON,
        "cut in mid-line: `{}` (ss was stopped while writing); what is whole of a sample is kept and marked partial",
    ),
}
BAD_FLOW: Final = (
    "malformed_record",
    "the samples of `{}` are left out: these are not addresses with port numbers; record with ss -n",
)
