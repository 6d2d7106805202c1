"""Which runs a figure draws: its declaration in the evaluation file, and the choice among the runs that match it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from string import ascii_lowercase
from types import MappingProxyType
from typing import Any, Final, Literal

import duckdb
import polars as pl

from ccreport.core.declared_files import DeclarationError
from ccreport.core.evaluation import load_evaluation
from ccreport.core.schema_problems import Place, guess, guess_near
from ccreport.figures.select.series import UNKNOWN_CC, start_of_client
from ccreport.summarise.grids.label_names import Shown, read_shown_names
from ccreport.summarise.refused_sql import TABLE, describe_refusal, find_tokens

Rate = Literal["goodput", "throughput"]
# What runs have in common whose algorithms are compared: all that the table `means` tells apart, of its queue as one.
ALIKE: Final = (
    *("sender_host", "host", "path_rtt", "flows_count", "parameter_name", "parameter_value", "bottleneck_bps"),
    *("nic_bps", "buffer_bytes", "limit_packets_count", "queue", "loss_pct", "loss_pattern", "pacing_bps"),
    *("background_udp_bps", "mtu_bytes", "volume_bytes", "duration_s", "stages_json", "kernel"),
)
# Kinds that are drawn from packet captures; the report lists them on a page of their own.
CAPTURE_KINDS: Final = frozenset({"time_sequence", "loss_episodes", "rtt_in_flight", "rtt_distribution"})
# Kinds that can be declared with several panels.
PANEL_KINDS: Final = frozenset({"throughput_over_time"})
# Kinds of one condition's runs, which are drawn over time: a run each, the declared or the representative one.
RUN_KINDS: Final = PANEL_KINDS | {
    f"{drawn}_over_time"
    for drawn in ("flow_rates", "cwnd", "cpu", "limits", "share", "fairness", "flows", "joins", "stages")
}
OF_TABLE: Final = "table_dots"
# Kinds that draw all runs that match and count, or means of them, and do not say themselves which are left out.
POOLING_KINDS: Final = frozenset(
    {
        *("rate_by_rtt", "rate_by_loss", "rate_by_flows", "rate_by_buffer", "rate_by_parameter", "rate_by_version"),
        *("rate_by_loss_pattern", "response_to_loss", "share_by_rtt", "retransmit_causes"),
        *("fairness_by_buffer", "completion_by_buffer", "completion_cdf"),
    }
)
# What only some kinds take of a declaration, and which; all take the other keys.
KINDS_OF_KEY: Final[Mapping[str, frozenset[str]]] = {
    "overlapped": RUN_KINDS | {"flow_spread", "fairness_by_buffer"},
    "until_s": PANEL_KINDS,
    "panels": PANEL_KINDS,
    "panels_by": PANEL_KINDS,
    "table": frozenset({OF_TABLE}),
    "rate": RUN_KINDS
    | {"rate_by_rtt", "rate_by_loss", "rate_by_flows", "rate_by_buffer", "rate_by_parameter", "rate_by_version"}
    | {"flow_spread"},
    "run": RUN_KINDS | CAPTURE_KINDS - {"rtt_distribution"} | {"flow_spread"},
}
# More kinds than these are not listed.
TAKERS_AT_MOST: Final = 3
# How kinds that lack a key do the same.
INSTEAD: Final = {"overlapped": ", or select the runs in `where`: mode = 'both', or mode <> 'both'"}
# Kinds whose condition is over aggregates of an edge network.
EDGE_VIEWS: Final = {
    "distribution_pdf": "edge_histograms",
    "distribution_percentiles": "edge_distributions",
    "distribution_over_time": "edge_over_time",
    "heat_map": "edge_heat_maps",
    "machine_retransmits": "edge_machine_retransmits",
}
# Kinds that draw rows of one published table, which the evaluation has to declare.
TABLES_OF_KINDS: Final[Mapping[str, str]] = EDGE_VIEWS | {"modes_by_condition": "modes"}
OF_RPC: Final = "rpc_"
# Over which the condition of other kinds is.
RUNS: Final = "labelled_runs"
# What a panel's condition is over, and may ask: the figure's own runs.
FIGURE_RUNS: Final = "figure_runs"


class FigureError(DeclarationError):
    """A figure's declaration cannot be used: a fault of the evaluation file."""


def refuse_where(
    figure: str,
    error: duckdb.Error,
    condition: str,
    what: str = "`where`",
    place: Place = ("where",),
    view: str = RUNS,
) -> FigureError:
    """Return the error of a figure whose condition, over the columns of a view, the database refuses."""
    told = describe_refusal(error, condition=condition, view=view)
    if (table := TABLE.search(told)) and told.endswith(table[0]):
        told += guess_near(table[1], [FIGURE_RUNS])
    problem = f"figure {figure!r}: the database refuses its {what}: {told}"
    # A panel has its letter behind the name, as in `figure_2 (b)`.
    return FigureError(problem, ("figures", figure.partition(" (")[0], *place), find_tokens(error))


@dataclass(frozen=True)
class FigureDeclaration:
    """One figure as the evaluation file declares it.

    `where` is an SQL condition over `labelled_runs`, `needs` the same in words (may be empty), `run` the run to draw in
    place of the representative one, `rate` what the means of the legend are (null: goodput where all receivers
    reported). `panels` are declared with conditions of their own, over the runs that match that of the figure. In what
    `list_panels` returns it is `among`. `panels_by` are columns of which each combination is a panel instead. `table`
    is a published table whose cells are drawn, `until_s` the end of the time axis where it is not that of the test.
    `names` are the evaluation's own of algorithms of the kernel, `shown` of values of its labels, `question` is the
    first page's that it answers.
    """

    name: str
    kind: str
    title: str
    overlapped: bool
    where: str
    needs: str = ""
    run: str | None = None
    rate: Rate | None = None
    panels: Sequence[Mapping[str, Any]] = ()
    panels_by: Sequence[str] = ()
    table: str = ""
    until_s: float | None = None
    question: str = ""
    among: str = "TRUE"
    names: Mapping[str, str] = field(default_factory=dict)
    shown: Shown = field(default_factory=dict)


def choose_view(kind: str, table: str = "") -> str:
    """Return the view over whose columns the condition of a kind of figure is; `table` is the declared one."""
    return "labelled_rpc" if kind.startswith(OF_RPC) else table or EDGE_VIEWS.get(kind, RUNS)


def read_declaration(
    evaluation: Path, figure: str, changes: Mapping[str, Any] = MappingProxyType({})
) -> FigureDeclaration:
    """Return a figure's declaration, with these values of keys in place of the file's.

    Raise FigureError where it is absent, DeclarationError for a broken file.
    """
    return read_declarations(evaluation, [figure], changes)[0]


def read_declarations(
    evaluation: Path, figures: Sequence[str], changes: Mapping[str, Any] = MappingProxyType({})
) -> list[FigureDeclaration]:
    """Return declarations of several figures, from reading the file once; else as `read_declaration`."""
    whole = load_evaluation(evaluation)
    declared = whole["figures"]
    absent = next((figure for figure in figures if figure not in declared), None)
    if absent is not None:
        raise FigureError(f"no figure `{absent}`{guess(absent, declared)}")
    names = {"names": whole["algorithm_names"], "shown": read_shown_names(whole["labels"])}
    kind = changes.get("kind")
    given = {figure: _keep_taken(declared[figure], kind) if kind else declared[figure] for figure in figures}
    return [declare_figure(figure, facts | names | dict(changes)) for figure, facts in given.items()]


def list_untaken(declared: Mapping[str, Any], kind: str) -> list[str]:
    """Return the keys of a declared figure that another kind does not take."""
    return [key for key in declared if key in KINDS_OF_KEY and kind not in KINDS_OF_KEY[key]]


def _keep_taken(declared: Mapping[str, Any], kind: str) -> dict[str, Any]:
    """Return a declared figure without what another kind does not take."""
    untaken = list_untaken(declared, kind)
    kept = {key: value for key, value in declared.items() if key not in untaken}
    return kept | ({"overlapped": True} if "overlapped" in untaken else {})


def declare_figure(figure: str, declared: Mapping[str, Any]) -> FigureDeclaration:
    """Return a figure's declaration of what the file says of it; raise FigureError where its kind lacks a key."""
    declaration = FigureDeclaration(name=figure, **declared)
    defaults = {each.name: each.default for each in fields(declaration)} | {"overlapped": True}
    for key, kinds in KINDS_OF_KEY.items():
        if key in declared and declared[key] != defaults[key] and declaration.kind not in kinds:
            takers = sorted(kinds)
            only = f", only {', '.join(takers)}" if len(takers) <= TAKERS_AT_MOST else ""
            problem = f"the kind {declaration.kind!r} has no `{key}`{only}; delete it{INSTEAD.get(key, '')}"
            raise FigureError(f"figure {figure!r}: {problem}", ("figures", figure, key))
    if declaration.kind == OF_TABLE and not declaration.table:
        problem = f"figure {figure!r}: the kind {OF_TABLE!r} needs `table`, a table of the evaluation"
        raise FigureError(problem, ("figures", figure))
    if declaration.panels and declaration.run:
        raise FigureError(f"figure {figure!r}: `run` belongs to one of its panels")
    if len(declaration.panels) > len(ascii_lowercase):
        raise FigureError(f"figure {figure!r} has more panels than there are letters")
    return declaration


def list_panels(declaration: FigureDeclaration) -> dict[str, FigureDeclaration]:
    """Return what each panel declares by its letter, in order; a figure without panels is one without a letter."""
    if not declaration.panels:
        return {"": declaration}
    letters = ascii_lowercase[: len(declaration.panels)]
    return {
        letter: replace(
            declaration, name=f"{declaration.name} ({letter})", **{"panels": (), "among": declaration.where, **panel}
        )
        for letter, panel in zip(letters, declaration.panels, strict=True)
    }


def keep_fitting(matching: pl.DataFrame, declaration: FigureDeclaration) -> pl.DataFrame:
    """Return the runs of several algorithms at the same time, or those of one alone, as is declared."""
    return matching.filter((pl.col("mode") == "both") == pl.lit(declaration.overlapped))


def select_condition_runs(matching: pl.DataFrame, declaration: FigureDeclaration) -> pl.DataFrame:
    """Return the runs of the conditions that the figure draws, of those that match; none where none fits.

    `matching` has the columns of `labelled_runs`. Overlapped: the condition of mode `both` with the most runs, then
    the first by condition_id. Otherwise one condition for each algorithm that ran alone: that one first, then for the
    other algorithms the condition most like it (ALIKE, then the RTT), then with the most runs, then the first. A
    declared run's condition goes before all others.
    """
    fitting = keep_fitting(matching, declaration)
    conditions = (
        fitting.group_by("condition_id", "mode")
        .agg(
            *(pl.col(column).sort_by("run_id").first() for column in (*ALIKE, "rtt_ms")),
            (pl.col("run_id") == (declaration.run or "")).any().alias("has_run"),
            pl.len().alias("runs_count"),
        )
        .sort("has_run", "runs_count", "condition_id", "mode", descending=[True, True, False, False])
    )
    if conditions.is_empty():
        return fitting
    first = conditions.row(0, named=True)
    likeness = [pl.col(column).eq_missing(pl.lit(first[column], matching.schema[column])) for column in ALIKE]
    rtt_distance = (pl.col("rtt_ms") - (first["rtt_ms"] or 0.0)).abs()
    chosen = (
        conditions.with_columns(like_count=pl.sum_horizontal(likeness), rtt_distance_ms=rtt_distance)
        .sort(
            *("has_run", "like_count", "rtt_distance_ms", "runs_count", "condition_id"),
            descending=[True, True, False, True, False],
            nulls_last=True,
        )
        .unique("mode", keep="first", maintain_order=True)
    )
    return fitting.join(chosen.select("condition_id", "mode"), on=["condition_id", "mode"], how="semi")


def choose_rate(declaration: FigureDeclaration, flows: pl.DataFrame) -> Rate:
    """Return what the means are: as declared, but the sender's throughput where a receiver did not report."""
    if declaration.rate == "throughput" or flows["goodput_bps"].null_count():
        return "throughput"
    return "goodput"


def summarise_algorithms(flows: pl.DataFrame, rate: Rate) -> pl.DataFrame:
    """Return each algorithm's share of each run: run_id, cc, flows_count, rate_bps, retransmit_ratio.

    The rate is the sum of the flows' rates, each weighted with its part of the time in which the algorithm was active:
    flows that ran side by side add up, flows of clients that joined one after another do not exceed the path. The ratio
    is sum / sum. Either is null where nothing of it is known.
    """
    seconds = pl.col({"throughput": "sender_s", "goodput": "receiver_s"}[rate])
    rates = pl.col(f"{rate}_bps")
    known = pl.col("retransmits_count").is_not_null() & pl.col("segments_count").is_not_null()
    segments = pl.col("segments_count").filter(known).sum()
    active_s = (pl.col("offset_s") + seconds).max() - pl.col("offset_s").min()
    weights = pl.when(active_s > 0).then(seconds / active_s).fill_null(1.0)
    return (
        flows.sort("run_id", "flow_id")
        .with_columns(pl.col("cc").fill_null(UNKNOWN_CC), offset_s=start_of_client())
        .group_by("run_id", "cc", maintain_order=True)
        .agg(
            flows_count=pl.len(),
            rate_bps=pl.when(rates.is_not_null().any()).then((rates * weights).sum()),
            retransmit_ratio=pl.when(segments > 0).then(pl.col("retransmits_count").filter(known).sum() / segments),
        )
        .sort("run_id", "cc")
    )
