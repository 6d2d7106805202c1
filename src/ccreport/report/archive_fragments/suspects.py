"""Suspect runs: how many each rule finds, which they are, and what the rules say."""

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

import polars as pl

from ccreport.core.text import count_things
from ccreport.figures.wording.runs import join_names
from ccreport.measure.suspects.measure import RULES
from ccreport.measure.suspects.transfers import REPEATED
from ccreport.report.archive_fragments.absence import sum_up
from ccreport.report.archive_fragments.calibration import LISTED_AT_MOST, describe_cut
from ccreport.report.archive_fragments.failed_attempts import FAILED, describe_bias
from ccreport.report.markup.blocks import (
    Html,
    leave_out_empty,
    link_run,
    number,
    prose,
    render_float,
    render_table,
    render_varying,
    text,
    verbatim,
)
from ccreport.trace.uses import name_uses

# What tells a run from others, in few words.
NAMED_BY: Final = ("session", "job", "rtt_nominal_ms", "iteration")
# The column with what a run would be in.
USED: Final = "For"


def render_suspects(suspects: pl.DataFrame, runs: pl.DataFrame, attempts: pl.DataFrame, uses: pl.DataFrame) -> str:
    """Return how many runs break each rule, and each such run with what it has, what is allowed and what it is for.

    `suspects`, `runs` and `attempts` as the tables are, `uses` as `list_uses` gives them.
    """
    if suspects.is_empty():
        return "No run is suspect.\n"
    counts = dict(suspects.group_by("suspect_rule").len().iter_rows())
    body = f"{_count_suspects(suspects, runs)}.\n"
    rows = [[verbatim(rule.name), prose(rule.definition), number(counts.get(rule.name, 0))] for rule in RULES]
    header = ("Rule", "A run is suspect if", "Runs")
    counted = render_table(header, rows, title="Rules for suspect runs", numbers=(2,), is_text=True)
    caption = "Rules and the runs that break them. A run may break several."
    return "\n".join(
        [body, render_float("tbl-suspect-rules", counted, caption), _render_list(suspects, runs, attempts, uses)]
    )


def summarise_left_out(suspects: pl.DataFrame, runs: pl.DataFrame, attempts: pl.DataFrame, uses: pl.DataFrame) -> str:
    """Return a list for the first page: runs that do not count, with why, and failed attempts, with what they may bias.

    `suspects` and `attempts` as the tables are, `runs` as `mark_absence` and `uses` as `list_uses` give them. Nothing
    without any.
    """
    said = [*sum_up(runs, suspects)]
    if not suspects.is_empty():
        where = "[Why runs are suspect](ledger.qmd#suspects)"
        said.append(f"{where}: {_name_suspects(suspects)}.{_place_suspects(suspects, uses)}")
    tried = attempts.filter(pl.col("attempt_outcome").is_in(FAILED))
    if tried.height:
        outcomes = dict(tried.group_by("attempt_outcome").len().iter_rows())
        counted = join_names([f"{outcomes[outcome]:,} {outcome}" for outcome in FAILED if outcome in outcomes])
        said.append(
            f"{tried.height:,} of {count_things(attempts.height, 'attempt')} ({counted}) gave no "
            f"run ([which](collection.qmd#tries)). {describe_bias(attempts, runs, suspects)}"
        )
    return "".join(f"- {sentence}\n" for sentence in said)


def _name_suspects(suspects: pl.DataFrame) -> str:
    """Return the rules that runs break, each with how many do, as Markdown."""
    counts = dict(suspects.group_by("suspect_rule").len().iter_rows())
    broken = [rule for rule in RULES if rule.name in counts]
    return "; ".join(f"{rule.definition.removesuffix('.')} ({counts[rule.name]:,})" for rule in broken)


def _place_suspects(suspects: pl.DataFrame, uses: pl.DataFrame) -> str:
    """Return how many suspect runs are for numbered exhibits, and for which; nothing where nothing has a number."""
    own = uses.join(suspects.select("run_id"), on="run_id", how="semi")
    if uses.is_empty():
        return ""
    if own.is_empty():
        return " No numbered table or figure lacks them."
    count = own["run_id"].n_unique()
    return f" {count:,} of them {'was' if count == 1 else 'were'} measured for {name_uses(own)}."


def _count_suspects(suspects: pl.DataFrame, runs: pl.DataFrame) -> str:
    count = suspects["run_id"].n_unique()
    return f"{count:,} of the {runs.height:,} runs {'is' if count == 1 else 'are'} suspect"


def _render_list(suspects: pl.DataFrame, runs: pl.DataFrame, attempts: pl.DataFrame, uses: pl.DataFrame) -> str:
    failed = attempts.filter(attempt_outcome="failed").drop_nulls("attempt_message").sort("session", "line_number")
    told = failed.group_by("run_id").agg(pl.col("attempt_message").unique(maintain_order=True).str.join("; "))
    named = suspects.join(runs.select("run_id", *NAMED_BY), on="run_id", how="left")
    named = named.join(told, on="run_id", how="left")
    ordered = named.sort("session", "job", "run_id", "suspect_rule", nulls_last=True)
    names = _name_runs(ordered)
    rows = [
        [
            link_run(row["run_id"], names[row["run_id"]]),
            verbatim(row["suspect_rule"]),
            _show_quantity(row["observed"], row["bound_unit"]),
            _show_quantity(row["bound"], row["bound_unit"]),
            text(row["attempt_message"]),
            text(name_uses(uses.filter(run_id=row["run_id"])) or None),
        ]
        for row in ordered.head(LISTED_AT_MOST).iter_rows(named=True)
    ]
    header, rows = leave_out_empty(("Run", "Rule", "Observed", "Bound", "Failed attempts before it", USED), rows, USED)
    table = render_varying(header, rows, title="Suspect runs", numbers=(2, 3), is_cut=ordered.height > LISTED_AT_MOST)
    used = f" *{USED}*: the tables and figures that it would be in; a dash means none with a number."
    caption = (
        f"Suspect runs; each leads to the explorer.{used if USED in header else ''}{_explain_attempts(suspects)}"
        f"{describe_cut(ordered, 'suspects')}"
    )
    return render_float("tbl-suspects", table, caption)


def _explain_attempts(suspects: pl.DataFrame) -> str:
    """Return which attempts are observed, where a rule counts them: the list of all attempts has more."""
    if REPEATED.name not in suspects["suspect_rule"]:
        return ""
    listed = "[all attempts](collection.qmd#tries)"
    return f" Attempts: those that failed or completed; interrupted ones, which {listed} have too, do not count."


def _name_runs(suspects: pl.DataFrame) -> dict[str, Html]:
    """Return by run its job, RTT and iteration, with the session before those that two runs would share."""
    rows = suspects.unique("run_id").select("run_id", *NAMED_BY).rows_by_key("run_id", named=True, unique=True)
    names = {run: _name_run(row) for run, row in rows.items()}
    counts = Counter(names.values())
    return {run: name if counts[name] == 1 else _name_run(rows[run], with_session=True) for run, name in names.items()}


def _name_run(row: Mapping[str, Any], *, with_session: bool = False) -> Html:
    parts = [verbatim(row[name]) for name in ("session", "job") if name == "job" or with_session]
    if row["rtt_nominal_ms"] is not None:
        parts.append(text(f"{row['rtt_nominal_ms']:g} ms"))
    if row["iteration"] is not None:
        parts.append(text(f"it. {row['iteration']}"))
    return Html(", ".join(parts))


def _show_quantity(value: float, unit: str) -> Html:
    if unit == "bit/s":
        return text(f"{value / 1e6:.4g} Mbit/s")
    return text(f"{value:.4g} {unit.removesuffix('s') if value == 1 and len(unit) > 1 else unit}")


def render_suspect_rules() -> str:
    """Return the rules with the reason of each bound, for the methods page."""
    rows = [[verbatim(rule.name), prose(rule.definition), prose(rule.reason)] for rule in RULES]
    return render_table(("Rule", "A run is suspect if", "Why"), rows, title="Reasons of the rules", is_text=True)
