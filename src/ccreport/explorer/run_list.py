"""The list of all runs, by columns: what the explorer's table shows, filters and sorts.

10,000 runs have to fit into a first view of 1.5 MB, so a text is written once and named by its number, a run's id is
put together from parts that runs share, and numbers are rounded to what the table shows.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import duckdb
import polars as pl

from ccreport.core.tables import load_schema
from ccreport.explorer.palette import describe_algorithms, describe_paper
from ccreport.explorer.script import name_script, round_number
from ccreport.measure.suspects.measure import RULES
from ccreport.summarise.grids.grid import rate_unit
from ccreport.trace.raw_files import ReadFiles
from ccreport.trace.rows.candidates import NO_RATES, explain_uncounted


@dataclass(frozen=True)
class ListColumn:
    """A column of the list: key, label and unit on the page, what the table's unit is divided by, decimals shown.

    Text has no decimals; None of a number means 4 significant digits. A rate has the unit that fits the archive. The
    schema describes what is a column of `runs`.
    """

    key: str
    label: str
    unit: str = ""
    divisor: float = 1.0
    is_text: bool = False
    is_rate: bool = False
    decimals: int | None = None
    description: str = ""


# Of three runs one is the median and another the deviation: each would judge itself.
RUNS_AT_LEAST: Final = 4
COLUMNS: Final = (
    ListColumn("cc_list", "Algorithms", is_text=True),
    ListColumn("mode", "Mode", is_text=True),
    ListColumn("flows_count", "Flows", decimals=0),
    ListColumn("rtt_ms", "RTT", "ms"),
    ListColumn("loss_pct", "Loss", "%"),
    ListColumn("bottleneck_bps", "Bottleneck", is_rate=True),
    ListColumn("buffer_bytes", "Buffer", "MB", 1e6),
    ListColumn("iteration", "Iteration", decimals=0),
    ListColumn("session", "Session", is_text=True),
    ListColumn(
        "rate_bps",
        "Rate",
        is_rate=True,
        description="Goodput, what the receiver got; throughput, what the sender's sockets took, where the receiver's "
        "side is not known.",
    ),
    ListColumn(
        "deviation_z",
        "Deviation",
        "of condition",
        decimals=1,
        description="Robust z: rate less the median of its condition, over 1.4826 times the median absolute deviation "
        "there or 1 % of the median, whichever is more; a run beyond ±3.5 is an outlier. A condition with fewer than "
        f"{RUNS_AT_LEAST} runs has none.",
    ),
    ListColumn("job", "Job", is_text=True),
    ListColumn("retransmits_count", "Retransmits", "segments", decimals=0),
    ListColumn("retransmit_ratio", "Retransmit ratio", "%", 0.01),
    ListColumn("jain_ratio", "Jain", "index", decimals=3),
    ListColumn("throughput_bps", "Throughput", is_rate=True),
    ListColumn(
        "line_rate_bps",
        "Line rate",
        is_rate=True,
        description="Of the bottleneck; of the sender's network card where the bottleneck is not known.",
    ),
    ListColumn("rtt_min_ms", "Min RTT", "ms"),
    ListColumn("cpu_sender_mean_pct", "CPU", "sender, %"),
    ListColumn("cpu_receiver_mean_pct", "CPU", "receiver, %"),
    ListColumn("host", "Host", is_text=True),
    ListColumn("sender_host", "Sender", is_text=True),
    ListColumn(
        "loss_pattern", "Loss pattern", is_text=True, description="Whether packets are lost at random or in bursts."
    ),
    ListColumn("uncounted_reason", "Not counted", is_text=True, description="Why published tables do not count a run."),
    ListColumn("suspect_rules", "Suspect by", is_text=True, description="Rules by which a run is suspect."),
    ListColumn("exhibits", "Used in", is_text=True, description="Tables and figures of the paper that a run is for."),
)
# Of the runs of RPC tests.
RPC_TOOLS: Final = (
    "SELECT run_id, string_agg(DISTINCT rpc_tool, ', ' ORDER BY rpc_tool) AS rpc_tools FROM rpc_tests GROUP BY run_id"
)
# Not columns of the view of runs.
DERIVED: Final = ("rate_bps", "line_rate_bps", "deviation_z", "uncounted_reason", "exhibits")
# What runs are, the usual first: whether published tables count them, and why not. Suspect runs may count all the same.
STATES: Final = ("counted", "not counted", "interrupted", "suspect")
FLAGS: Final = ("is_interrupted", "is_suspect", "is_counted")
# Of the rates of series over time, as `run_series.py` writes them.
SERIES_BPS: Final = 1e6
# Of whole numbers (counts) all digits are shown: a count is what it is.
COUNT_DIGITS: Final = 15
NORMAL_MAD: Final = 1.4826
# Of the median.
LEAST_SPREAD: Final = 0.01


def read_runs(
    connection: duckdb.DuckDBPyConnection, published: pl.DataFrame, rateless: Collection[str] = ()
) -> pl.DataFrame:
    """Return all runs, also those that do not count, in the order of experiments and then runs.

    `published` has the exhibits that runs are for, as `list_published` gives them; `rateless` are the runs that no
    table has for want of a rate, as `find_rateless` does.
    """
    of_table = [column.key for column in COLUMNS if column.key not in DERIVED]
    rates, lines, limits = (
        ("goodput_bps", "throughput_bps"),
        ("bottleneck_bps", "nic_bps"),
        ("is_host_limited", "is_cpu_bound"),
    )
    known = ("run_id", "experiment_id", "condition_id", *FLAGS, *rates, *lines, *limits, *of_table)
    columns = ", ".join(dict.fromkeys(known))
    runs: pl.DataFrame = connection.sql(
        f"SELECT {columns} FROM labelled_runs ORDER BY experiment_id, run_id"  # noqa: S608 (names of this module)
    ).pl()
    tools = connection.sql(RPC_TOOLS).pl()
    is_rateless = pl.col("run_id").is_in([*rateless])
    reason = pl.when(is_rateless).then(pl.lit(NO_RATES["goodput"])).otherwise(explain_state())
    exhibits = published.group_by("run_id").agg(exhibits=pl.col("exhibit").str.join(", "))
    return (
        runs.join(tools, on="run_id", how="left", maintain_order="left")
        .with_columns(rate_bps=pl.coalesce(rates), line_rate_bps=pl.coalesce(lines), uncounted_reason=reason)
        .with_columns(is_counted=pl.col("is_counted") & ~is_rateless)
        .with_columns(deviation_z=measure_deviation())
        .join(exhibits, on="run_id", how="left", maintain_order="left")
    )


def explain_state() -> pl.Expr:
    """Return why a run does not count: of an RPC test (rpc_tools) that it is one, as it has no bulk rate at all."""
    reason = explain_uncounted()
    of_rpc = pl.format("RPC test ({}): no bulk rate", "rpc_tools")
    return pl.when((reason == "no rate") & pl.col("rpc_tools").is_not_null()).then(of_rpc).otherwise(reason)


def measure_deviation() -> pl.Expr:
    """Return by how many robust standard deviations a run's rate is off the median of its condition.

    1.4826 times the median absolute deviation is the standard deviation of normal values (Iglewicz and Hoaglin 1993).
    It is taken as 1 % of the median at least, as runs in virtual time may be all but equal. Null with fewer than
    RUNS_AT_LEAST runs of the condition.
    """
    rate = pl.col("rate_bps")
    off = rate - rate.median().over("condition_id")
    spread = NORMAL_MAD * off.abs().median().over("condition_id")
    scale = pl.max_horizontal(spread, LEAST_SPREAD * rate.median().over("condition_id"))
    is_known = pl.col("condition_id").is_not_null() & (rate.count().over("condition_id") >= RUNS_AT_LEAST) & (scale > 0)
    return pl.when(is_known).then(off / scale)


def describe_list(runs: pl.DataFrame, files: ReadFiles, published: pl.DataFrame) -> dict[str, Any]:
    """Return what `explorer/runs.js` holds: the columns with their values, algorithms, and how runs are named.

    A text column is `{texts, index}`, the state and the parts of the ids too. `scripts` has the name of a run's file
    where that is not its id, `files` where the report lists its raw files, `exhibits` those of `published`, in the
    order of the pages, `rules` those for suspect runs in words, `rate` the unit of rates and what those of series are
    divided by. A run's id is head + middle + tail.
    """
    ids = runs["run_id"].to_list()
    heads, middles, tails = zip(*map(_split_id, ids, runs["experiment_id"]), strict=True) if ids else ((), (), ())
    divisor, unit = rate_unit(runs["rate_bps"])
    names = {number: name_script(run_id) for number, run_id in enumerate(ids)}
    algorithms = {cc for listed in runs["cc_list"].drop_nulls() for cc in listed.split(",") if cc}
    return {
        "count": len(ids),
        "heads": _number_texts(heads),
        "middles": _number_texts(middles),
        "tails": list(tails),
        "scripts": {str(number): name for number, name in names.items() if name != ids[number]},
        "files": _number_texts([files.find_address(job) for job in runs["experiment_id"]]),
        "states": _number_texts([_state_of(*flags) for flags in runs.select(FLAGS).rows()]),
        "columns": [_describe_column(_scale_rate(column, divisor, unit), runs) for column in COLUMNS],
        "algorithms": describe_algorithms(algorithms),
        "exhibits": published["exhibit"].unique(maintain_order=True).to_list(),
        "paper": describe_paper(),
        "rules": {rule.name: rule.label for rule in RULES},
        "rate": {"unit": unit, "divisor": divisor / SERIES_BPS},
    }


def _split_id(run_id: str, experiment_id: str) -> tuple[str, str, str]:
    """Split an id into experiment, what repeats in others (host, iteration, RTT), and the digest that ends it."""
    head = experiment_id if run_id.startswith(experiment_id) else ""
    middle, dash, tail = run_id[len(head) :].rpartition("-")
    return head, middle + dash, tail


def _state_of(is_interrupted: bool, is_suspect: bool, is_counted: bool) -> str:
    return STATES[2] if is_interrupted else STATES[3] if is_suspect else STATES[0] if is_counted else STATES[1]


def _scale_rate(column: ListColumn, divisor: float, unit: str) -> ListColumn:
    return replace(column, divisor=divisor, unit=unit) if column.is_rate else column


def _describe_column(column: ListColumn, runs: pl.DataFrame) -> dict[str, Any]:
    known = {"key": column.key, "label": column.label, "unit": column.unit}
    described = {column.name: column.description for column in load_schema("runs").columns}
    known["description"] = column.description or described.get(column.key, "")
    values = runs[column.key].to_list()
    if column.is_text:
        return known | _number_texts(values)
    digits = COUNT_DIGITS if column.decimals == 0 else 4
    numbers = [None if value is None else round_number(value / column.divisor, digits) for value in values]
    return known | {"decimals": column.decimals, "values": numbers}


def _number_texts(texts: Sequence[str | None]) -> dict[str, Any]:
    """Return the distinct texts, sorted, and for each of the texts given its number among them, -1 for none."""
    distinct = sorted({text for text in texts if text is not None})
    numbers = {text: number for number, text in enumerate(distinct)}
    return {"texts": distinct, "index": [-1 if text is None else numbers[text] for text in texts]}
