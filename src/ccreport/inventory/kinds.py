"""The kinds of raw files: how name and content decide them, and which reader reads or which rule ignores each."""

from typing import Final

from ccreport.archive.harness_layout import DERIVED_ENDINGS, UNFINISHED, Folder, ItemName
from ccreport.archive.layout import NAME as LAYOUT_NAME
from ccreport.archive.layout_groups import KINDS as LAYOUT_KINDS
from ccreport.ingest.readers import READERS

KINDS: Final = {kind.name: kind for reader in READERS for kind in reader.kinds}
RULES: Final = {kind.name: reader.rule for reader in READERS for kind in reader.kinds}
IGNORE_RULES: Final = {
    "statexec": "statexec_not_read",
    "dst-cmd": "server_side_not_read",
    "xtraffic": "background_traffic_not_read",
    "side-file": "side_files_not_read",
    "derived": "derived_files_not_read",
    # Shown as it is, beside the session that was made of it.
    "campaign": "declarations_shown_only",
    "unfinished": "unfinished_not_read",
    # Read before any other file, by the inventory itself.
    "layout": "layouts_read_first",
    "unknown": "unknown_files_not_read",
}
# A file whose content looks like a measurement, in a form or under a name that no step reads.
MEASUREMENT_RULE: Final = "measurements_not_read"
MEASUREMENT_FORMATS: Final = frozenset({"iperf2", "iperf3-text", "xfr", "capture"})
# A second copy of an item (`.json`, `.fixed.json`, compressed) beside the one that is read.
COPY_RULE: Final = "copies_not_read"
# What an archive's layout ignores, before the pattern that does.
LAYOUT_RULE: Final = "ignore: "
# The harness writes this file for every run; on a path without netem its commands print nothing.
EMPTY_NETEM_RULE: Final = "empty_netem_logs_not_read"

# Words before the first colon of the harness's names, of files that no reader takes and of those that one does.
UNREAD_ITEMS: Final = {
    "dst-cmd": "dst-cmd",
    "xtraffic": "xtraffic",
    "pre-src-cmd": "side-file",
    "pre-dst-cmd": "side-file",
    "post-src-cmd": "side-file",
    "post-dst-cmd": "side-file",
    "post-netem": "side-file",
    "ping": "side-file",
    "tcptrace": "derived",
}
ITEMS: Final = UNREAD_ITEMS | {item: kind.name for kind in KINDS.values() for item in kind.items}
# What `collect` writes into a session's folder; elsewhere such names may be anything.
SESSION_FILES: Final = {kind.session_file: kind.name for kind in KINDS.values() if kind.session_file is not None} | {
    "campaign.yaml": "campaign"
}
CONTENT_KINDS: Final = {content.format: kind.name for kind in KINDS.values() for content in kind.contents}
# Kinds that only a name can tell, whatever the content looks like.
NAMED_KINDS: Final = {name for name, kind in KINDS.items() if kind.is_told_by_name_only} | {
    *("campaign", "unfinished", "layout")
}
# Kinds whose content has the form of other kinds': there the name decides.
SAME_CONTENT: Final[dict[str, frozenset[str]]] = {
    "dst-cmd": frozenset({"src-cmd"}),
    "xtraffic": frozenset({"src-cmd"}),
    "side-file": frozenset({"src-cmd", "ss", "mpstat"}),
    **{name: kind.alike for name, kind in KINDS.items()},
}
# A tool's result, or a capture, which is a run by itself, whatever the file is called.
TEST_KINDS: Final = {name for name, kind in KINDS.items() if kind.run == "result"}
# Samples of sockets are a run only if the file's name says so; without a test, it is one of flows alone.
CLAIMING_KINDS: Final = {name for name, kind in KINDS.items() if kind.run in ("result", "samples")}
# A file that holds one run's data, so that two of them cannot claim one run; that of parts is of all of its flows.
PART_KINDS: Final = {name for name, kind in KINDS.items() if kind.run == "part"}
RUN_KINDS: Final = CLAIMING_KINDS | PART_KINDS
JOB_KINDS: Final = {name for name, kind in KINDS.items() if kind.run == "job"}
# Why a file about a run is of none, by its kind.
NO_RUN: Final = {name: kind.without_run for name, kind in KINDS.items() if kind.without_run is not None}
# The same where a layout of the user's names files.
NO_RUN_DECLARED: Final = {
    "ss": "ss samples of no run: no pattern takes this file, and the layout puts the tests of its folder into several "
    "sessions or jobs; give it a pattern with the groups that theirs has (`session`, `job` and those of a run), or "
    "write (?:…) in place of (?P<session>…) and (?P<job>…), so that samples are joined to tests by their connections",
    "mpstat": "loads of processors of no run: by the layout, no test is of this file's run; correct the groups of its "
    "pattern, or add the test's file",
    "pre-netem": "qdiscs of no run: by the layout, no test is of this file's run; correct the groups of its "
    "pattern, or add the test's file",
}
# The same where the archive has a layout that says nothing of the file, nor does its name.
NO_PATTERN: Final = (
    "no pattern of the layout takes this {kind} file; add one with `kind: {kind}` and the groups that the pattern of "
    "its test has"
)


def explain_no_run(kind: str, *, is_declared: bool, is_untaken: bool) -> str:
    """Return why a file of a kind is of no run, and what to do: one that a layout names, or should have named."""
    if is_untaken:
        return NO_PATTERN.format(kind=next((name for name, meant in LAYOUT_KINDS.items() if meant == kind), kind))
    return (NO_RUN_DECLARED if is_declared else NO_RUN)[kind]


def kind_of_place(folder: Folder, name: str) -> str | None:
    """Return the kind of a file that its folder tells: unfinished, or one of `collect`'s about a session."""
    if folder.path.rpartition("/")[2] == UNFINISHED:
        return "unfinished"
    if name == LAYOUT_NAME and not folder.path:
        return "layout"
    return SESSION_FILES.get(name) if folder.session is not None and folder.job is None else None


def kind_of_name(name: str, item: ItemName | None) -> str:
    """Return the kind that a file's name says, `unknown` where it says none."""
    for kind in KINDS.values():
        if kind.file_name is not None and kind.file_name.fullmatch(name):
            return kind.name
    if name.endswith(".prom"):
        return "statexec"
    if name == "pacing.out":
        return "side-file"
    if item is not None:
        # ss:SUFFIX.json is what the harness's own log parser made of ss:SUFFIX.
        return "derived" if item.item == "ss" and ".json" in item.endings else ITEMS[item.item]
    return "derived" if name.endswith(DERIVED_ENDINGS) else "unknown"


def decide_kind(by_name: str, content: str) -> str:
    """Return what a file is: what its content shows beyond doubt, else what its name says."""
    by_content = CONTENT_KINDS.get(content)
    if by_content is None or by_name in NAMED_KINDS or by_content in SAME_CONTENT.get(by_name, ()):
        return by_name
    return by_content


def rule_of_kind(kind: str, content: str) -> tuple[str, str]:
    """Return what becomes of a file of this kind and content (`ingest` or `ignored`) and the rule that says so."""
    if kind == "pre-netem" and content == "empty":
        return "ignored", EMPTY_NETEM_RULE
    if kind in ("unknown", "derived") and content in MEASUREMENT_FORMATS:
        return "ignored", MEASUREMENT_RULE
    return ("ingest", RULES[kind]) if kind in RULES else ("ignored", IGNORE_RULES[kind])
