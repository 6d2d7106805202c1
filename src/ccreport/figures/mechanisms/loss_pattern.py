"""Random loss against bursts of loss with the same mean: the rate of each algorithm under both."""

from typing import Final

import polars as pl

from ccreport.figures.kit.figure import Figure
from ccreport.figures.mechanisms.categories import describe_cells, draw_categories
from ccreport.figures.select.condition_cells import (
    list_varying_settings,
    read_matching,
    refuse_parts,
    summarise_cells,
)
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import count_runs, describe_value, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant
from ccreport.summarise.grids.settings import RATE_UNITS, choose_rate_unit

COLUMNS: Final = """
    run_id, condition_id, cc, sharing, beside, flows_count, rtt_ms, loss_pct, goodput_bps, loss_pattern,
    pacing_bps, coalesce(bottleneck_bps, nic_bps, pacing_bps) AS line_bps
"""
# What random and burst loss must share to be compared.
SETTINGS: Final = ("flows_count", "sharing", "rtt_ms", "loss_pct", "line_bps", "pacing_bps")
# Of these, columns whose values are as the database has them.
NARROWING: Final = ("flows_count", "sharing", "beside", "rtt_ms", "pacing_bps")
PLACES: Final = {"random": "random", "bursts": "in bursts"}
PANELS_AT_MOST: Final = 6


def build_rate_by_loss_pattern(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of conditions that match and have runs under both patterns; raise MissingFigure without one."""
    runs = read_matching(declaration, database, "algorithm_runs", COLUMNS, "run_id, cc").filter(
        pl.col("loss_pct") > 0, pl.col("goodput_bps").is_not_null(), pl.col("loss_pattern").is_in(list(PLACES))
    )
    # netem's four probabilities give the mean that was meant up to their own rounding.
    runs = runs.with_columns(pl.col("loss_pct").round_sig_figs(3))
    compared = runs.filter(pl.col("loss_pattern").n_unique().over("cc", "beside", *SETTINGS) == len(PLACES))
    if compared.is_empty():
        raise MissingFigure(
            "No condition of the runs that match has both random loss and bursts of the same mean loss."
        )
    panel_keys = list_varying_settings(compared, SETTINGS)
    cells = summarise_cells(database, compared, [*panel_keys, "cc", "loss_pattern"], "goodput_bps")
    cells = cells.rename({"loss_pattern": "place"})
    if (count := cells.select(panel_keys).n_unique()) > PANELS_AT_MOST:
        raise refuse_parts(f"{count} panels", compared, NARROWING)
    unit = choose_rate_unit(cells["mean"].sort()[-1])
    scaled = cells.with_columns(pl.col("mean", "low", "high") / RATE_UNITS[unit])
    same = [describe_value(key, compared[key][0]) for key in ("loss_pct", "rtt_ms") if key not in panel_keys]
    title = [" ".join(declaration.title.split()), f"Mean goodput ({unit}), {', '.join(same)}; bars: 95 % intervals"]
    chart = draw_categories(title, scaled, panel_keys, PLACES, ("Loss of the path", f"Mean goodput ({unit})"))
    sentences = [
        f"Mean goodput of an algorithm under random loss and under bursts of the same mean loss; {count_runs(cells)}",
        _compare(cells, panel_keys),
    ]
    alternative = ["Goodput under random and burst loss", *describe_cells(scaled, panel_keys, PLACES, f" {unit}")]
    data = cells.rename({"place": "loss_pattern"} | {name: f"goodput_{name}_bps" for name in ("mean", "low", "high")})
    return Figure(chart, data, fold_sentences(sentences), write_sentences(alternative))


def _compare(cells: pl.DataFrame, panel_keys: list[str]) -> str:
    """Return the sentence that says between which ratios bursts and random loss are."""
    means = cells.pivot("place", index=[*panel_keys, "cc"], values="mean")
    ratios = means.select(ratio=pl.col("bursts") / pl.col("random"))["ratio"].sort()
    ends = list(dict.fromkeys(format_significant(ratios[at], 2) for at in (0, -1)))
    return f"With bursts it is {' to '.join(ends)} times that with random loss"
