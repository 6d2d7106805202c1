"""The kinds of raw files: how name and content decide them, and which reader reads or which rule ignores each."""

import re
from typing import Final

from ccreport.archive import DERIVED_ENDINGS, HOST_META_ENDING, UNFINISHED, Folder, ItemName

READERS: Final = {
    "src-cmd": "ingest_iperf3",
    "ss": "ingest_ss",
    "mpstat": "ingest_mpstat",
    "jobmeta": "ingest_metadata",
    "host-meta": "ingest_metadata",
    "pre-netem": "ingest_metadata",
    "results": "ingest_metadata",
    "tcpdump": "ingest_captures",
    "tcpdump-log": "ingest_captures",
    "netperf": "ingest_rpc",
    "flent": "ingest_rpc",
    "ss-neit": "ingest_edge",
    "access-log": "ingest_nginx",
    "nstat": "ingest_nstat",
    "session": "ingest_campaign",
    "calibration": "ingest_campaign",
    "attempts": "ingest_campaign",
}
IGNORE_RULES: Final = {
    "statexec": "statexec_not_read",
    "dst-cmd": "server_side_not_read",
    "xtraffic": "background_traffic_not_read",
    "side-file": "side_files_not_read",
    "derived": "derived_files_not_read",
    # Shown as it is, beside the session that was made of it.
    "campaign": "declarations_shown_only",
    "unfinished": "unfinished_not_read",
    "unknown": "unknown_files_not_read",
}
# A second copy of an item (`.json`, `.fixed.json`, compressed) beside the one that is read.
COPY_RULE: Final = "copies_not_read"
# The harness writes this file for every run; on a path without netem its commands print nothing.
EMPTY_NETEM_RULE: Final = "empty_netem_logs_not_read"

# What `collect` writes into a session's folder; elsewhere such names may be anything.
SESSION_FILES: Final = {
    "session.json": "session",
    "calibration.json": "calibration",
    "attempts.jsonl": "attempts",
    "campaign.yaml": "campaign",
}
ITEM_KINDS: Final = {
    "mpstat-sender": "mpstat",
    "mpstat-receiver": "mpstat",
    "pre-src-cmd": "side-file",
    "pre-dst-cmd": "side-file",
    "post-src-cmd": "side-file",
    "post-dst-cmd": "side-file",
    "post-netem": "side-file",
    "ping": "side-file",
    "tcptrace": "derived",
}
CONTENT_KINDS: Final = {
    "iperf3": "src-cmd",
    "iperf3-stream": "src-cmd",
    "pscheduler": "src-cmd",
    "ss": "ss",
    "mpstat": "mpstat",
    "pcap": "tcpdump",
    "pcapng": "tcpdump",
    "results": "results",
    "netperf": "netperf",
    "flent": "flent",
    "nstat": "nstat",
}
# What servers of an edge network print of themselves: ss-neit:1795211351 · access.log.1 · nstat:1795211351 · snmp
EDGE_NAMES: Final = {
    "ss-neit": re.compile(r"ss-neit\b.*", re.DOTALL),
    "access-log": re.compile(r"(?:.*[._-])?access[._]log\b.*", re.DOTALL),
    "nstat": re.compile(r"(?:nstat|snmp|netstat)(?:[:._-].*)?", re.DOTALL),
}
# Kinds that only a name can tell, whatever the content looks like.
NAMED_KINDS: Final = frozenset({"jobmeta", "host-meta", "unfinished", *SESSION_FILES.values()})
# Kinds whose content has the form of another kind's: there the name decides.
SAME_CONTENT: Final = {
    "dst-cmd": "src-cmd",
    "xtraffic": "src-cmd",
    "side-file": "src-cmd",
    "ss-neit": "ss",
    "nstat": "ss",
}
# A file that holds one run's data, so that two of them cannot claim one run.
RUN_KINDS: Final = frozenset({"src-cmd", "ss", "mpstat", "pre-netem", "tcpdump", "netperf", "flent"})


def kind_of_place(folder: Folder, name: str) -> str | None:
    """Return the kind of a file that its folder tells: unfinished, or one of `collect`'s about a session."""
    if folder.path.rpartition("/")[2] == UNFINISHED:
        return "unfinished"
    return SESSION_FILES.get(name) if folder.session is not None and folder.job is None else None


def kind_of_name(name: str, item: ItemName | None) -> str:
    """Return the kind that a file's name says, `unknown` where it says none."""
    if name == "jobmeta.json":
        return "jobmeta"
    if name.endswith(HOST_META_ENDING):
        return "host-meta"
    if name.endswith(".prom"):
        return "statexec"
    if kind := next((kind for kind, pattern in EDGE_NAMES.items() if pattern.fullmatch(name)), None):
        return kind
    if name == "pacing.out":
        return "side-file"
    if item is not None:
        # ss:SUFFIX.json is what the harness's own log parser made of ss:SUFFIX.
        if item.item == "ss" and ".json" in item.endings:
            return "derived"
        return ITEM_KINDS.get(item.item, item.item)
    return "derived" if name.endswith(DERIVED_ENDINGS) else "unknown"


def decide_kind(by_name: str, content: str) -> str:
    """Return what a file is: what its content shows beyond doubt, else what its name says."""
    by_content = CONTENT_KINDS.get(content)
    if by_content is None or by_name in NAMED_KINDS or SAME_CONTENT.get(by_name) == by_content:
        return by_name
    return by_content


def rule_of_kind(kind: str, content: str) -> tuple[str, str]:
    """Return what becomes of a file of this kind and content (`ingest` or `ignored`) and the rule that says so."""
    if kind == "pre-netem" and content == "empty":
        return "ignored", EMPTY_NETEM_RULE
    return ("ingest", READERS[kind]) if kind in READERS else ("ignored", IGNORE_RULES[kind])
