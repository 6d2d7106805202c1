"""Suspect runs: how many each rule finds, which they are, and what the rules say."""

import polars as pl

from ccreport.measure.suspects.measure import RULES
from ccreport.report.archive_fragments.calibration import LISTED_AT_MOST, describe_cut
from ccreport.report.markup.blocks import Html, link_run, number, prose, render_float, render_table, text, verbatim


def render_suspects(suspects: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Return how many runs break each rule, and each such run with what it has and what is allowed.

    `suspects` and `runs` as the tables are.
    """
    if suspects.is_empty():
        return "No run is suspect.\n"
    counts = dict(suspects.group_by("suspect_rule").len().iter_rows())
    body = f"{_count_suspects(suspects, runs)}.\n"
    rows = [[verbatim(rule.name), prose(rule.definition), number(counts.get(rule.name, 0))] for rule in RULES]
    header = ("Rule", "A run is suspect if", "Runs")
    counted = render_table(header, rows, title="Rules for suspect runs", numbers=(2,), is_text=True)
    caption = "Rules and the runs that break them. A run may break several."
    return "\n".join([body, render_float("tbl-suspect-rules", counted, caption), _render_list(suspects, runs)])


def summarise_suspects(suspects: pl.DataFrame, runs: pl.DataFrame) -> str:
    """Return one sentence for the first page, nothing where no run is suspect."""
    return "" if suspects.is_empty() else f"{_count_suspects(suspects, runs)} ([why](ledger.qmd#suspects)).\n"


def _count_suspects(suspects: pl.DataFrame, runs: pl.DataFrame) -> str:
    count = suspects["run_id"].n_unique()
    return f"{count:,} of the {runs.height:,} runs {'is' if count == 1 else 'are'} suspect"


def _render_list(suspects: pl.DataFrame, runs: pl.DataFrame) -> str:
    named = suspects.join(runs.select("run_id", "session", "job"), on="run_id", how="left")
    ordered = named.sort("session", "job", "run_id", "suspect_rule", nulls_last=True)
    rows = [
        [
            link_run(row["run_id"]),
            verbatim(row["job"]),
            verbatim(row["suspect_rule"]),
            _show_quantity(row["observed"], row["bound_unit"]),
            _show_quantity(row["bound"], row["bound_unit"]),
        ]
        for row in ordered.head(LISTED_AT_MOST).iter_rows(named=True)
    ]
    table = render_table(("Run", "Job", "Rule", "Observed", "Bound"), rows, title="Suspect runs", numbers=(3, 4))
    caption = f"Suspect runs; each leads to the explorer.{describe_cut(ordered, 'suspects')}"
    return render_float("tbl-suspects", table, caption)


def _show_quantity(value: float, unit: str) -> Html:
    return text(f"{value / 1e6:.4g} Mbit/s" if unit == "bit/s" else f"{value:.4g} {unit}")


def render_suspect_rules() -> str:
    """Return the rules with the reason of each bound, for the methods page."""
    rows = [[verbatim(rule.name), prose(rule.definition), prose(rule.reason)] for rule in RULES]
    return render_table(("Rule", "A run is suspect if", "Why"), rows, title="Reasons of the rules", is_text=True)
