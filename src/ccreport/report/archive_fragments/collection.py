"""How the archive was collected: sessions with their testbeds, how well these were calibrated, and tries of runs.

Only archives that ccreport collected hold files that say so; of others the page shows what the runs themselves tell.
"""

from collections.abc import Iterator
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.report.archive_fragments.archive_facts import show_names, show_start
from ccreport.report.archive_fragments.calibration import LISTED_AT_MOST, describe_cut, render_calibrations
from ccreport.report.markup.blocks import (
    NONE,
    Html,
    number,
    prose,
    render_callout,
    render_float,
    render_quotation,
    render_table,
    render_tabs,
    render_varying,
    text,
    verbatim,
)

ENGINES: Final = {"namespaces": "network namespaces", "user-mode-kernel": "a user-mode kernel"}
OUTCOMES: Final = ("completed", "cpu_bound", "host_limited", "failed", "interrupted")
CLOCKS: Final = {"virtual": "in virtual time", "real": "in real time"}
TOPOLOGY: Final = (
    "Each sender, the router and each receiver is a network namespace of its own; all share one kernel, its clock and "
    "its processors. The router's port towards the receivers is the bottleneck. Behind it netem delays packets, half "
    "of the round-trip time in each direction, and loses them, towards the receiver unless declared otherwise."
)
NOT_COLLECTED: Final = (
    "This archive was not collected by ccreport: it holds no `session.json`. How its testbed was made and calibrated, "
    "and which runs were tried again, is not recorded. The runs themselves tell what follows."
)
SESSION_HEADER: Final = ("Session", "Campaign", "Testbed", "Kernel", "Tools", "Planned runs")
EFFORT_HEADER: Final = (
    "Session",
    "Runs",
    "Attempts",
    "Completed",
    "CPU-bound",
    "Host-limited",
    "Failed",
    "Interrupted",
    "Total, h",
    "Elapsed, h",
)
KNOWN_HEADER: Final = ("Session", "First test, UTC", "Kernel", "Tool", "Jobs", "Runs")


def render_collection(
    sessions: pl.DataFrame, calibrations: pl.DataFrame, attempts: pl.DataFrame, runs: pl.DataFrame
) -> str:
    """Return the page's content, from the tables of these names."""
    is_collected = not (sessions.is_empty() and calibrations.is_empty() and attempts.is_empty())
    if not is_collected:
        parts = [render_callout("note", "Not collected by ccreport", NOT_COLLECTED), _render_known(runs)]
    else:
        parts = [f"{TOPOLOGY}\n", *_render_sessions(sessions), *_render_effort(attempts, runs)]
        strange = runs.filter(~pl.col("session").is_in(_list_sessions(sessions, calibrations, attempts)))
        parts += [_render_known(strange)] if strange.height else []
        parts += ["## Calibration {#calibration}\n", render_calibrations(calibrations)]
        parts += ["## Runs that took more than one attempt {#tries}\n", _render_tries(attempts, runs)]
    parts += ["## CPU-bound runs {#cpu-bound}\n", _render_cpu_bound(runs), *_render_declarations(sessions)]
    return "\n".join(parts)


def _list_sessions(*tables: pl.DataFrame) -> list[str]:
    return pl.concat([table["session"] for table in tables]).drop_nulls().unique().to_list()


def _render_sessions(sessions: pl.DataFrame) -> Iterator[str]:
    if sessions.is_empty():
        return
    alike: dict[tuple[Html, ...], list[dict[str, Any]]] = {}
    for row in sessions.sort("session").iter_rows(named=True):
        tools = ", ".join(f"{tool['key']} {tool['value']}" for tool in row["tools"])
        campaign, testbed = text(row["title"] or row["campaign"]), text(_describe_testbed(row))
        alike.setdefault((campaign, testbed, _describe_kernel(row), text(tools or None)), []).append(row)
    rows = [
        [
            Html("<br>".join(verbatim(row["session"]) for row in own)),
            *facts,
            Html("<br>".join(number(row["planned_runs_count"]) for row in own)),
        ]
        for facts, own in alike.items()
    ]
    table = render_varying(SESSION_HEADER, rows, title="Sessions", numbers=(5,))
    caption = (
        "Sessions that ccreport collected, and with what; those of the same campaign, testbed and tools share a row."
    )
    yield render_float("tbl-collected", table, caption)


def _describe_testbed(row: dict[str, Any]) -> str | None:
    engine = ENGINES.get(row["engine"], row["engine"])
    cores = f"{row['cores_count']} core{'' if row['cores_count'] == 1 else 's'}" if row["cores_count"] else None
    memory = f"{row['memory_bytes'] / 2**20:,.0f} MiB" if row["memory_bytes"] else None
    # Each run's own seed is this one with the run's name.
    seed = f"campaign seed {row['order_seed']}" if row["order_seed"] is not None else None
    return ", ".join(filter(None, (engine, CLOCKS.get(row["clock"]), cores, memory, seed))) or None


def _describe_kernel(row: dict[str, Any]) -> Html:
    """Return the kernel's release, and of a user-mode kernel what it was built from and what was changed in it."""
    told = filter(None, (row["kernel_source"], row["kernel_patches"] and f"patched: {row['kernel_patches']}"))
    return Html("<br>".join([verbatim(row["kernel"]), *map(text, told)]))


def _render_effort(attempts: pl.DataFrame, runs: pl.DataFrame) -> Iterator[str]:
    """Yield how many runs and tries each session has, and the hours they took."""
    if attempts.is_empty():
        yield "No attempts are recorded: the sessions have no `attempts.jsonl`.\n"
        return
    ends = pl.col("started_utc") + pl.duration(milliseconds=1000 * pl.col("attempt_elapsed_s"))
    has_mpstat = pl.col("is_cpu_bound").is_not_null().any().alias("has_mpstat")
    counted = (
        attempts.group_by("session")
        .agg(
            pl.len().alias("tries"),
            *[(pl.col("attempt_outcome") == outcome).sum().alias(outcome) for outcome in OUTCOMES],
            (pl.col("attempt_elapsed_s").sum() / 3600).alias("sum_h"),
            ((ends.max() - pl.col("started_utc").min()).dt.total_milliseconds() / 3.6e6).alias("span_h"),
        )
        .join(runs.group_by("session").agg(has_mpstat, runs=pl.len()), on="session", how="left")
        .with_columns(
            pl.col("runs").fill_null(0),
            # Without samples of mpstat nobody knows whether a run was CPU-bound.
            pl.when((pl.col("cpu_bound") > 0) | pl.col("has_mpstat")).then("cpu_bound").alias("cpu_bound"),
        )
        .sort("session")
    )
    columns = ("runs", "tries", *OUTCOMES)
    rows = [
        [
            verbatim(row["session"]),
            *(number(row[name]) for name in columns),
            _hours(row["sum_h"]),
            _hours(row["span_h"]),
        ]
        for row in counted.iter_rows(named=True)
    ]
    sums = [number(int(counted[name].sum()) if counted[name].count() else None) for name in columns]
    total = [Html("All"), *sums, *(_hours(sum(counted[name].drop_nulls().to_list())) for name in ("sum_h", "span_h"))]
    table = render_varying(EFFORT_HEADER, rows, title="Tries", numbers=range(1, 10), total=total)
    caption = (
        "Runs and attempts. Total hours are the sum over all attempts, with setting up and tidying up; elapsed hours "
        "are from the first attempt's start to the last one's end, pauses included."
    )
    yield render_float("tbl-effort", table, caption)


def _hours(value: float | None) -> Html:
    return NONE if value is None else text(f"{value:,.2f}")


def _render_tries(attempts: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Return each run that was tried more than once, or never completed, with what went wrong."""
    keys = ("session", "job", "suffix", "run_id")
    tried = (
        attempts.sort("session", "line_number")
        .group_by(*keys, maintain_order=True)
        .agg(
            tries=pl.len(),
            outcomes=pl.col("attempt_outcome"),
            messages=pl.col("attempt_message").drop_nulls().unique(maintain_order=True),
            ended=pl.col("attempt_outcome").last(),
        )
        .filter((pl.col("tries") > 1) | ~pl.col("ended").is_in(["completed", "cpu_bound", "host_limited"]))
    )
    if tried.is_empty():
        return "None: every run was complete at the first attempt.\n"
    held = set(runs["run_id"])
    rows = [
        [
            verbatim(row["session"]),
            verbatim(row["job"]),
            verbatim(row["suffix"]),
            text(", ".join(row["outcomes"]).replace("cpu_bound", "CPU-bound").replace("host_limited", "host-limited")),
            Html(_tell_fate(row["outcomes"], is_held=row["run_id"] in held)),
            text("; ".join(row["messages"]) or None),
        ]
        for row in tried.head(LISTED_AT_MOST).iter_rows(named=True)
    ]
    header = ("Session", "Job", "Run", "Attempts ended", "In the archive", "What went wrong")
    caption = (
        f"Runs with several attempts, or whose last attempt did not complete.{describe_cut(tried, 'attempts')} A run "
        "after a failed or disturbed attempt is suspect; an interrupted attempt does not affect the next, and the "
        "[list of suspect runs](ledger.qmd#suspects) does not count it."
    )
    table = render_varying(header, rows, title="Tries of runs", is_cut=tried.height > LISTED_AT_MOST)
    return render_float("tbl-tries", table, caption)


def _tell_fate(outcomes: list[str], *, is_held: bool) -> str:
    """Return whether a run is in the archive, and whether it is suspect, as the rule `attempt_repeated` has it."""
    if not is_held:
        return "<strong>no</strong>"
    return "yes, suspect" if sum(outcome != "interrupted" for outcome in outcomes) > 1 else "yes"


def _render_cpu_bound(runs: pl.DataFrame) -> str:
    """Return the runs in which a processor was the limit, and of how many runs that is known."""
    known = runs["is_cpu_bound"].count()
    bound = runs.filter("is_cpu_bound").sort("cpu_bound_ratio", "run_id", descending=[True, False])
    if known == 0:
        return "Not known: no run has samples of mpstat.\n"
    if bound.is_empty():
        return f"None, of {count_things(known, 'run')} with samples of mpstat.\n"
    counted = bound["is_counted"].sum()
    body = (
        f"{bound.height:,} of the {known:,} runs with samples of mpstat; {counted:,} of them count in means, as the "
        "configuration says (`include_cpu_bound`).\n"
    )
    rows = [
        [
            verbatim(row["session"]),
            verbatim(row["job"]),
            verbatim(row["host"]),
            text(None if row["rtt_ms"] is None else f"{row['rtt_ms']:g}"),
            number(row["iteration"]),
            text(f"{100 * row['cpu_bound_ratio']:.0f} %"),
        ]
        for row in bound.head(LISTED_AT_MOST).iter_rows(named=True)
    ]
    header = ("Session", "Job", "Host", "RTT, ms", "Run", "Busy samples")
    caption = (
        "CPU-bound runs. Busy samples: share of the samples within the run in which the busiest core was above 95 %; a "
        f"run is CPU-bound above 10 %.{describe_cut(bound, 'runs')}"
    )
    table = render_table(header, rows, title="CPU-bound runs", numbers=(3, 4, 5))
    return f"{body}\n{render_float('tbl-cpu-bound', table, caption)}"


def _render_known(runs: pl.DataFrame) -> str:
    """Return what the runs themselves tell of how they were measured, a row for each session."""
    if runs.is_empty():
        return ""
    rows = []
    for (session,), own in runs.sort("session", "run_id").group_by("session", maintain_order=True):
        tools = own.select(pl.concat_str("tool", "tool_version", separator=" ", ignore_nulls=True)).to_series()
        rows.append(
            [
                verbatim(str(session) if session is not None else None),
                show_start(own["start_utc"]),
                text(show_names(own["kernel"])),
                text(show_names(tools.replace("", None))),
                number(own["job"].drop_nulls().n_unique()),
                number(own.height),
            ]
        )
    table = render_table(KNOWN_HEADER, rows, title="Sessions of others", numbers=(4, 5))
    return render_float("tbl-known", table, prose("Sessions without `session.json`, by what their runs tell."))


def _render_declarations(sessions: pl.DataFrame) -> Iterator[str]:
    """Yield the declarations of the campaigns, each once, as they were."""
    declared = (
        sessions.drop_nulls("declaration").sort("session").unique("declaration", keep="first", maintain_order=True)
    )
    if declared.is_empty():
        return
    yield "## What was declared {#declarations}\n"
    yield "The campaign of each session as it was declared: testbed and kernel, paths, algorithms and tests.\n"
    yield render_tabs(
        (f"Session {number}", render_quotation(row["declaration"], f"Declaration of session {number}"))
        for number, row in enumerate(declared.iter_rows(named=True), start=1)
    )
