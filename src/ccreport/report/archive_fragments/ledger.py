"""The ledger: what became of every file of the archive, and what could not be used."""

from typing import Final

import polars as pl

from ccreport.inventory.kinds import MEASUREMENT_RULE
from ccreport.report.archive_fragments.archive_facts import STATES, count_states, describe_overlooked, describe_parts
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    number,
    prose,
    render_callout,
    render_float,
    render_table,
    text,
    verbatim,
)
from ccreport.report.markup.escape import escape_text

# More than this nobody reads on a page; the table `rejects` has them all.
LISTED_REJECTS: Final = 500
# By the format of content that no step reads.
ADVICE: Final = {
    "iperf2": "iperf2: measure with `iperf3 -J`",
    "iperf3-text": "iperf3's text output: run it with `-J` and keep the JSON",
    "xfr": "xfr, whose results tell neither direction nor time: measure with `iperf3 -J`",
    "capture": "captures in another format than pcap and pcapng: convert them with `editcap -F pcap`",
}


def render_ledger(raw_files: pl.DataFrame, rejects: pl.DataFrame, files_count: int) -> str:
    """Return whether all files are accounted for, what was overlooked, and counts by kind and by rule of ignored files.

    `files_count` is the number of files that the archive has on disk, counted apart from `raw_files`.
    """
    parts = [_render_verdict(raw_files, rejects, files_count)]
    if overlooked := describe_overlooked(raw_files):
        parts.append(_render_overlooked(raw_files.filter(rule=MEASUREMENT_RULE), overlooked))
    parts.append(_render_kinds(raw_files))
    ignored = raw_files.filter(state="ignored")
    if ignored.height:
        parts.append(_render_ignored(ignored))
    return "\n".join(parts)


def render_impossible(flows: pl.DataFrame) -> str:
    """Return a note on flows without a retransmit ratio, as it would be above 1; nothing where there are none."""
    count = flows.filter(pl.col("retransmits_count") > pl.col("segments_count")).height
    if not count:
        return ""
    who = "1 flow counts" if count == 1 else f"{count:,} flows count"
    body = (
        f"{who} more segments as retransmitted than as sent: kernels count a retransmitted SYN, but not the SYN "
        "itself. Such flows have no retransmit ratio, and the retransmits of their runs are counted without them."
    )
    return render_callout("note", "Ratios above 1 are left out", body)


def _render_verdict(raw_files: pl.DataFrame, rejects: pl.DataFrame, files_count: int) -> str:
    counts = count_states(raw_files)
    whole = rejects.filter("is_whole_file")["raw_file_id"].n_unique()
    total = sum(counts.values())
    terms = " + ".join(f"{counts[state]:,} {state}" for state in STATES)
    if total != files_count:
        body = f"{terms} = {total:,}, but the archive has {files_count:,} files on disk. Do not use these results."
        return render_callout("important", "Not all files are accounted for", body)
    if whole != counts["rejected"]:
        body = (
            f"{counts['rejected']:,} files are rejected, but {whole:,} of them have a reason. Do not use these results."
        )
        return render_callout("important", "Not all files are accounted for", body)
    layouts_count = raw_files.filter(state="ignored", kind="layout").height
    who = "One of those ignored is the archive's layout"
    if layouts_count > 1:
        who = f"{layouts_count:,} of those ignored are the archive's layout and its table"
    layout = f" {who}, read before all others." if layouts_count else ""
    parts = describe_parts(rejects)
    rows = f" The table `rejects` has a row for each of the {whole:,} rejected and of the {parts}." if parts else ""
    body = f"{terms} = {total:,} files, which is every file of the archive on disk.{layout}{rows}"
    return render_callout("tip", "All files accounted for", body)


def _render_overlooked(overlooked: pl.DataFrame, title: str) -> str:
    """Return what is to be done about files of measurements that no step reads, by format."""
    counts = overlooked.group_by("format").agg(pl.len(), pl.col("path").min()).sort("format")
    rows = [
        f"- {count:,} of {ADVICE[form]}; the first is {escape_text(path)}" for form, count, path in counts.iter_rows()
    ]
    return render_callout("warning", f"{title[:1].upper()}{title[1:]}", "\n".join(rows))


def _render_kinds(raw_files: pl.DataFrame) -> str:
    counts = (
        raw_files.group_by("kind")
        .agg(*[(pl.col("state") == state).sum().alias(state) for state in STATES], pl.len().alias("files"))
        .sort("kind")
    )
    rows = [[verbatim(kind), *map(number, numbers)] for kind, *numbers in counts.iter_rows()]
    sums = [number(sum(counts[column].to_list())) for column in (*STATES, "files")]
    header = ("Kind", "Ingested", "Ignored", "Rejected", "Files")
    table = render_table(header, rows, title="Ledger", numbers=range(1, 5), total=[Html("All"), *sums])
    return render_float("tbl-ledger", table, "Every file of the archive, by kind and state.")


def _render_ignored(ignored: pl.DataFrame) -> str:
    counts = ignored.group_by("rule", "kind").len().sort("rule", "kind")
    rows = [[verbatim(rule), verbatim(kind), number(count)] for rule, kind, count in counts.iter_rows()]
    table = render_table(("Rule", "Kind", "Files"), rows, title="Ignored files", numbers=(2,))
    return render_float("tbl-ignored", table, "Files that no step reads, by the rule that says so.")


def render_rejects(rejects: pl.DataFrame) -> str:
    """Return the rejects counted by kind and reason, and each with its message and place."""
    if not rejects.height:
        return "Nothing was rejected: every file that a step reads could be used as a whole.\n"
    counts = (
        rejects.group_by("reason", "kind")
        .agg(whole=pl.col("is_whole_file").sum(), parts=(~pl.col("is_whole_file")).sum())
        .sort("reason", "kind")
    )
    rows = [[verbatim(reason), verbatim(kind), *map(number, sums)] for reason, kind, *sums in counts.iter_rows()]
    table = render_table(("Reason", "Kind", "Whole files", "Parts of files"), rows, title="Reasons", numbers=(2, 3))
    caption = "Rejects by reason: whole files, and parts of files whose rest is used."
    counted = render_float("tbl-reasons", table, caption)
    return f"{counted}\n{_render_list(rejects)}"


def _render_list(rejects: pl.DataFrame) -> str:
    columns = ("path", "kind", "reason", "is_whole_file", "message", "line_number", "byte_offset_bytes")
    listed = rejects.sort("path", "part_number", maintain_order=True).select(columns)
    rows = [
        [
            verbatim(path, is_long=True),
            verbatim(kind),
            verbatim(reason),
            Html("all" if whole else "part"),
            text(message),
            place,
        ]
        for path, kind, reason, whole, message, line, offset in listed.head(LISTED_REJECTS).iter_rows()
        for place in [_show_place(line, offset)]
    ]
    caption = "Rejects, each with what is wrong and what to do about it."
    if listed.height > LISTED_REJECTS:
        caption += f" The first {LISTED_REJECTS:,} of {listed.height:,}; the table `rejects` has all."
    table = render_table(("File", "Kind", "Reason", "Lost", "Message", "Where"), rows, title="Rejects")
    return render_float("tbl-rejects", table, caption)


def _show_place(line: int | None, offset: int | None) -> Html:
    if line is not None:
        return prose(f"line {line:,}")
    return NONE if offset is None else prose(f"byte {offset:,}")
