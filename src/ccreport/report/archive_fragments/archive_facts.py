"""Archive facts: what was measured, as variables (`{{< var archive.runs >}}`) and as a table of sessions."""

from collections.abc import Iterable, Mapping
from typing import Final

import polars as pl

from ccreport.archive.doubtful_rtts import describe_doubtful
from ccreport.figures.wording.runs import join_names
from ccreport.inventory.kinds import MEASUREMENT_RULE
from ccreport.report.markup.blocks import (
    Html,
    close_fold,
    leave_out_empty,
    number,
    open_phone_fold,
    render_table,
    text,
    verbatim,
)
from ccreport.report.markup.escape import escape_text
from ccreport.summarise.grids.settings import name_rate
from ccreport.trace.uses import name_uses

UNKNOWN: Final = "unknown"
STATES: Final = ("ingested", "ignored", "rejected")
# How `runs.rtt_source` says that somebody set it.
IS_DECLARED: Final = (pl.col("rtt_source") == "nominal").fill_null(value=False)
# As tables and figures have it (`ccreport.summarise.path_settings`): to two digits where the test itself measured it.
SHOWN_RTT: Final = (
    pl.when(pl.col("rtt_source").is_in(["ss", "iperf3"])).then(pl.col("rtt_ms").round_sig_figs(2)).otherwise("rtt_ms")
)
# Kinds of files that say more of a run than its result, as `adopt` asks for them.
RECORDED: Final = {"ss": "ss", "mpstat": "mpstat", "tcpdump": "tcpdump"}
# More rates of pacing than these are a range.
PACINGS_AT_MOST: Final = 6
SESSION_HEADER: Final = ("Session", "Jobs", "Runs", "Flows", "Hosts", "RTT, ms", "Algorithms", "First test, UTC", "For")


def describe_archive(
    raw_files: pl.DataFrame, runs: pl.DataFrame, flows: pl.DataFrame, results: pl.DataFrame, others: pl.DataFrame
) -> dict[str, str]:
    """Return counts (with their nouns) and ranges of the archive by name, as escaped text.

    `others` is what `count_others` found. `measured` lists what there is, the first of it alone is `most`.
    """
    counted = [_count(things, noun) for things, noun in others.select("things", "noun").iter_rows()]
    measured = [_count(runs.height, "run"), *counted] if runs.height or not counted else counted
    facts = {
        "most": measured[0],
        "measured": ", ".join(measured),
        "sessions": _count(raw_files["session"].drop_nulls().n_unique(), "session"),
        "jobs": _count(raw_files.select("session", "job").drop_nulls().n_unique(), "job"),
        "files": _count(raw_files.height, "file"),
        "size": _show_size(sum(raw_files["size_bytes"].to_list())),
        "runs": _count(runs.height, "run"),
        "interrupted": _count(runs.filter("is_interrupted").height, "interrupted run"),
        "flows": _count(flows.height, "flow"),
        "results": _count(results.height, "result row"),
        "algorithms": show_names(pl.concat([flows["cc"], others["algorithms"].explode()])),
        "hosts": _count(runs["host"].drop_nulls().n_unique(), "destination"),
        "interfaces": _show_rates(runs["nic_bps"]),
        "bottlenecks": _show_rates(runs["bottleneck_bps"]),
        "losses": _show_range(runs["loss_pct"], "%"),
        "rtt": _show_range(runs.select(SHOWN_RTT).to_series(), "ms"),
        "pacing": describe_pacing(runs),
        "durations": _show_range(runs["duration_s"].round(1), "s"),
        "kernels": show_names(runs["kernel"]),
        "rtts": describe_rtts(runs),
        "doubtful": doubt_rtts(runs),
        "undeclared": describe_undeclared(runs, raw_files),
        "dates": name_days(runs, others),
    }
    return {name: escape_text(fact) for name, fact in facts.items()}


def render_measured(facts: Mapping[str, str], repetitions: str = "", *, has_runs: bool) -> str:
    """Return the paragraph on what was measured; `facts` are those of `describe_archive`.

    `repetitions` is what `describe_repetitions` returns.
    """
    held = f"The archive holds {facts['files']} ({facts['size']})"
    algorithms = f"Congestion control algorithms: {facts['algorithms']}."
    if not has_runs:
        return f"{held}: {facts['measured']}. {algorithms}\n"
    interrupted = "" if facts["interrupted"].startswith("no ") else f", {facts['interrupted']} among them,"
    recorded = "It records" if facts["files"].startswith("1 ") else "They record"
    runs = f"{recorded} {facts['runs']}{interrupted} with {facts['flows']}."
    subject = "It was" if facts["runs"] == "1 run" else "These were"
    where = f"{subject} measured {facts['dates']} (UTC), to {facts['hosts']}, at {facts['rtts']}."
    known = {
        "Sender interfaces:": facts["interfaces"],
        "Bottlenecks:": facts["bottlenecks"],
        "Random loss:": facts["losses"],
        "Flows were paced to": facts["pacing"],
        "Tests take": facts["durations"],
        "Kernel of the sender:": facts["kernels"],
    }
    more = [f"{said} {fact}." for said, fact in known.items() if fact != UNKNOWN]
    named = "" if facts["sessions"].startswith("no ") else f" of {facts['sessions']} with {facts['jobs']}"
    told = [f"{held}{named}.", runs, where, facts["doubtful"], repetitions, *more, algorithms, facts["undeclared"]]
    sentences = list(filter(None, told))
    if not facts["results"].startswith("no "):
        sentences.append(f"Result files of the test harness add {facts['results']}, each of which sums up a run.")
    return " ".join(sentences) + "\n"


def describe_pacing(runs: pl.DataFrame) -> str:
    """Return the rates that single flows were held to, the most frequent first, each with its number of runs."""
    known = runs["pacing_bps"].drop_nulls()
    counts = known.value_counts().sort("count", "pacing_bps", descending=True).rows()
    if len(counts) > PACINGS_AT_MOST:
        return f"{_show_rates(known)} each"
    paced = [f"{name_rate(rate)} ({_count(count, 'run')})" for rate, count in counts]
    return join_names(paced) if paced else UNKNOWN


def describe_rtts(runs: pl.DataFrame) -> str:
    """Return the round-trip times of runs in words, those that were declared apart from those that were measured."""
    parts: list[str] = []
    for how, own in (("declared", runs.filter(IS_DECLARED)), ("measured", runs.filter(~IS_DECLARED))):
        if own["rtt_ms"].count():
            noun = "a round-trip time" if own.select(SHOWN_RTT).n_unique() == 1 else "round-trip times"
            have = f"{_count(own.height, 'run')} {'has' if own.height == 1 else 'have'} no declared RTT"
            said = f"{have}; {'its' if own.height == 1 else 'theirs'} was {how}" if parts else how
            shown = _show_range(own.select(SHOWN_RTT).to_series(), "ms")
            range_ms = f"{'' if parts else f'{noun} of '}{shown}"
            parts.append(f"{range_ms} ({said})")
    return " or ".join(parts) or "round-trip times that nothing tells"


def doubt_rtts(runs: pl.DataFrame) -> str:
    """Return sentences on declared RTTs that measured ones contradict; stages of a run may change its path."""
    declared = runs.filter(IS_DECLARED & pl.col("stages_json").is_null())
    return describe_doubtful(declared.select("rtt_nominal_ms", "rtt_min_ms").iter_rows())


def describe_undeclared(runs: pl.DataFrame, raw_files: pl.DataFrame) -> str:
    """Return sentences on what nothing says of any run: what was set on the path, and what was recorded beside it."""
    if runs.is_empty():
        return ""
    declared = {"RTT": "rtt_nominal_ms", "loss": "loss_pct"}
    undeclared = [f"which {name}" for name, column in declared.items() if not runs[column].count()]
    kinds = set(raw_files.filter(state="ingested")["kind"])
    absent = [name for kind, name in RECORDED.items() if kind not in kinds]
    said = [f"Nothing says {' or '.join(undeclared)} the path was set to."] if undeclared else []
    said += [f"Beside the results nothing was recorded by {', '.join(absent)}."] if absent else []
    return " ".join(said)


def count_states(raw_files: pl.DataFrame) -> dict[str, int]:
    """Return the number of files in each state of the ledger."""
    counted = dict(raw_files["state"].value_counts().iter_rows())
    return {state: counted.get(state, 0) for state in STATES}


def describe_parts(rejects: pl.DataFrame) -> str:
    """Return how many parts of files could not be used, which no file's state tells; nothing where there are none."""
    # Of metadata that a job has not, nothing is left out.
    count = rejects.filter(~pl.col("is_whole_file") & (pl.col("reason") != "no_metadata")).height
    return f"{_count(count, 'part')} of files left out" if count else ""


def summarise_ledger(raw_files: pl.DataFrame, rejects: pl.DataFrame) -> str:
    """Return sentences on what became of the files, without the states that no file has but for rejected ones."""
    counts = count_states(raw_files)
    parts = (
        [f"{counts['ingested']:,} {'is' if counts['ingested'] == 1 else 'are'} ingested"] if counts["ingested"] else []
    )
    # A layout, and its table, say what the other files are.
    layouts_count = raw_files.filter(state="ignored", kind="layout").height
    ignored = counts["ignored"] - layouts_count
    parts += [f"{layouts_count:,} read as the layout"] if layouts_count else []
    parts += [f"{ignored:,} ignored by a named rule"] if ignored else []
    parts.append(f"{counts['rejected'] or 'none'} rejected")
    said = f"Of {_count(raw_files.height, 'file')}, {', '.join(parts)} ([ledger](ledger.qmd))."
    more = [f"{fact}." for fact in (describe_parts(rejects), describe_overlooked(raw_files)) if fact]
    return " ".join([said, *more]) + "\n"


def describe_overlooked(raw_files: pl.DataFrame) -> str:
    """Return how many files look like measurements and were not read, nothing where there are none."""
    count = raw_files.filter(pl.col("rule") == MEASUREMENT_RULE).height
    if not count:
        return ""
    look = "file looks like a measurement and was" if count == 1 else "files look like measurements and were"
    return f"{count:,} {look} not read"


def render_sessions(runs: pl.DataFrame, flows: pl.DataFrame, uses: pl.DataFrame, sessions: pl.DataFrame) -> str:
    """Return one row for each session: jobs, runs, flows, hosts, RTTs, algorithms, first test and what it is for.

    `uses` are as `list_uses` gives them, `sessions` as the table is. Nothing without any session.
    """
    if not runs["session"].count():
        return ""
    keys = pl.col("session").fill_null("no session")
    joined = flows.join(runs.select("run_id", session=keys), on="run_id")
    flows_of = dict(joined["session"].value_counts().iter_rows())
    rows = []
    for (session,), own in runs.with_columns(session=keys).sort("session").group_by("session", maintain_order=True):
        algorithms = joined.filter(pl.col("session") == session)["cc"]
        counts = (
            own["job"].drop_nulls().n_unique(),
            own.height,
            flows_of.get(session, 0),
            own["host"].drop_nulls().n_unique(),
        )
        rtts, names = _show_range(own.select(SHOWN_RTT).to_series()), show_names(algorithms)
        used = uses.join(own.select("run_id"), on="run_id", how="semi")
        row = [verbatim(str(session)), *map(number, counts), text(rtts), text(names), show_start(own["start_utc"])]
        rows.append([*row, text(name_uses(used) or None)])
    header, rows = leave_out_empty(SESSION_HEADER, rows, SESSION_HEADER[-1])
    table = render_table(header, rows, title="Sessions", numbers=range(1, 5))
    told = "One row for each start of the test harness"
    if SESSION_HEADER[-1] in header:
        told += ", with what its runs are for. –: not used in a numbered table or figure"
    told += "."
    if not runs.join(sessions.filter(clock="virtual"), on="session", how="semi").is_empty():
        told += " Dates of tests in virtual time are those of the virtual clock."
    opened = open_phone_fold(_count(len(rows), "session"))
    return f"## Sessions {{#sessions}}\n\n{told}\n\n{opened}\n{table}\n{close_fold()}"


def _count(things: int, noun: str) -> str:
    return f"{f'{things:,}' if things else 'no'} {noun}{'' if things == 1 else 's'}"


def show_start(times: pl.Series) -> Html:
    """Return the first of times to the minute, a dash where none is known."""
    known = times.drop_nulls().sort().to_list()
    return text(f"{known[0]:%Y-%m-%d %H:%M}" if known else None)


def name_days(runs: pl.DataFrame, others: pl.DataFrame) -> str:
    """Return the first and the last day on which anything was measured; `others` as `count_others` gives them."""
    return show_dates(pl.concat([runs["start_utc"], others["times"].explode().cast(runs["start_utc"].dtype)]))


def show_dates(times: pl.Series) -> str:
    """Return the first and the last day of times, `unknown` where there is none."""
    days = [f"{time:%Y-%m-%d}" for time in times.drop_nulls().sort().to_list()]
    if not days:
        return UNKNOWN
    return days[0] if days[0] == days[-1] else f"{days[0]} to {days[-1]}"


def _show_range(values: pl.Series, unit: str = "") -> str:
    known = values.drop_nulls().sort().to_list()
    if not known:
        return UNKNOWN
    span = f"{known[0]:g}" if known[0] == known[-1] else f"{known[0]:g} to {known[-1]:g}"
    return f"{span} {unit}".strip()


def _show_rates(rates_bps: pl.Series) -> str:
    """Return "20 Mbit/s to 10 Gbit/s", each end in its unit; a unit of both stands once."""
    known = rates_bps.drop_nulls()
    if known.is_empty():
        return UNKNOWN
    low, high = (name_rate(end) for end in (known.min(), known.max()))  # type: ignore[arg-type]
    return high if low == high else f"{low.removesuffix(high[high.index(' ') :])} to {high}"


def show_names(names: pl.Series) -> str:
    """Return the distinct names in order, `unknown` where there is none."""
    return ", ".join(_shorten(names.drop_nulls().unique().sort())) or UNKNOWN


def _shorten(names: Iterable[str], most: int = 12) -> list[str]:
    listed = list(names)
    return listed if len(listed) <= most else [*listed[:most], f"{len(listed) - most} more"]


def _show_size(size_bytes: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if size_bytes < 1000:
            return f"{size_bytes:.3g} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.3g} TB"
