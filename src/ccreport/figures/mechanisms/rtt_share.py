"""RTT unfairness: how the rate of a flow depends on its RTT beside flows of other RTTs in the same run."""

from typing import Final

import polars as pl

from ccreport.figures.kit.figure import Figure
from ccreport.figures.mechanisms.categories import describe_cells, draw_categories
from ccreport.figures.select.condition_cells import read_matching, summarise_cells
from ccreport.figures.select.declaration import FigureDeclaration
from ccreport.figures.select.queries import MissingFigure
from ccreport.figures.select.recording_database import Database
from ccreport.figures.wording.conditions import count_runs, fold_sentences, write_sentences
from ccreport.figures.wording.runs import format_significant

COLUMNS: Final = "run_id, condition_id, sharing, cc_list"
# A run has several RTTs where one is so much longer than another.
UNLIKE: Final = 1.5


def build_share_by_rtt(declaration: FigureDeclaration, database: Database) -> Figure:
    """Return the figure of the runs that match and have flows of several nominal RTTs; raise MissingFigure without."""
    runs = read_matching(declaration, database, "labelled_runs", COLUMNS, "run_id")
    query = """
        SELECT run_id, cc, rtt_nominal_ms, goodput_bps FROM flows
        WHERE rtt_nominal_ms > 0 AND goodput_bps IS NOT NULL AND run_id IN (SELECT unnest(?))
        ORDER BY run_id, flow_id
    """
    flows = runs.join(database.ask(query, [runs["run_id"].to_list()]), on="run_id")
    rtt = pl.col("rtt_nominal_ms")
    flows = flows.filter(rtt.max().over("run_id") > UNLIKE * rtt.min().over("run_id"))
    if flows.is_empty():
        raise MissingFigure("None of the runs that match has flows of several known RTTs.")
    shares = measure_shares(flows)
    panel_keys = ["cc_list"] if shares["cc_list"].n_unique() > 1 else []
    cells = summarise_cells(database, shares, [*panel_keys, "cc", "rtt_nominal_ms"], "fair_share_ratio")
    cells = cells.rename({"rtt_nominal_ms": "place"})
    places = {rtt_ms: f"{rtt_ms:g}" for rtt_ms in cells["place"].unique().sort()}
    title = [" ".join(declaration.title.split()), "Goodput of a flow over the mean of all flows of its run; 1 is fair"]
    chart = draw_categories(title, cells, panel_keys, places, ("RTT of the flow (ms)", "Times the fair share"))
    shown = "Goodput of flows by their RTT, over the mean of all flows of the same run, which share a bottleneck"
    sentences = [f"{shown}; {count_runs(cells)}", _find_widest(cells, panel_keys)]
    alternative = ["Rate over the fair share by RTT", *describe_cells(cells, panel_keys, places, "")]
    names = {"place": "rtt_nominal_ms"} | {name: f"fair_share_{name}_ratio" for name in ("mean", "low", "high")}
    return Figure(chart, cells.rename(names), fold_sentences(sentences), write_sentences(alternative))


def measure_shares(flows: pl.DataFrame) -> pl.DataFrame:
    """Return for each run, algorithm and RTT the mean goodput over that of all flows of the run: fair_share_ratio."""
    over_all = pl.col("goodput_bps") / pl.col("goodput_bps").mean().over("run_id")
    keys = ["run_id", "condition_id", "cc_list", "cc", "rtt_nominal_ms"]
    return (
        flows.with_columns(over_all=over_all).group_by(keys).agg(fair_share_ratio=pl.col("over_all").mean()).sort(keys)
    )


def _find_widest(cells: pl.DataFrame, panel_keys: list[str]) -> str:
    """Return the sentence that says where RTT matters most: the RTTs with the largest and the smallest share."""
    spread = cells.group_by(*panel_keys, "cc").agg(
        best=pl.col("mean").max(),
        worst=pl.col("mean").min(),
        best_ms=pl.col("place").sort_by("mean").last(),
        worst_ms=pl.col("place").sort_by("mean").first(),
    )
    widest = spread.sort(pl.col("best") / pl.col("worst"), *panel_keys, "cc").row(-1, named=True)
    ratio = format_significant(widest["best"] / widest["worst"], 2)
    rtts = f"{widest['best_ms']:g} and {widest['worst_ms']:g} ms"
    return f"The largest gap is a factor of {ratio}, between flows of {rtts} of the same algorithm"
